# SPDX-License-Identifier: Apache-2.0
"""What the renderers of DeepSpeed's files raise."""

from __future__ import annotations


class ConfigError(ValueError):
    """Say which option or host cannot be used, and what it should be."""
