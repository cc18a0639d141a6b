# SPDX-License-Identifier: Apache-2.0
"""Simulated hardware: a machine described in YAML becomes a /sys and /proc tree.

`machine` reads the description, `overrides` changes it (a fault is an edit),
`build` makes the tree, `tree` writes it or brings an existing one up to date.
"""
