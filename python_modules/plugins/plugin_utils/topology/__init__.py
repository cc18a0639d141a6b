# SPDX-License-Identifier: Apache-2.0
"""Explain, draw and bind a node's topology: pure functions, which read nothing."""
