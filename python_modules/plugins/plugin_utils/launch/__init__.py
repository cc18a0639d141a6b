# SPDX-License-Identifier: Apache-2.0
"""How a job is started on all nodes: one model, and a script for each launcher made of it."""
