# SPDX-License-Identifier: Apache-2.0
"""Know which environment variables a ROCm release reads, and judge files and environments by it."""
