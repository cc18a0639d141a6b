# SPDX-License-Identifier: Apache-2.0
"""Read the output of the vendor's tools, whatever release wrote it, and compare it with the kernel's own."""
