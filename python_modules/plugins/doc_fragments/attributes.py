# SPDX-License-Identifier: Apache-2.0
"""Documentation fragments that the modules of this collection share."""

from __future__ import annotations


class ModuleDocFragment:
    """The attributes that every module states, described once."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and say what it would change, without changing it.
  diff_mode:
    description: Returns what it changes, or would change, as a diff when in diff mode.
  idempotent:
    description: A second run with the same options, on a node that nobody touched between, reports no change.
"""

    # A module that reads only: check mode is no different, and there is nothing to show a diff of.
    READ_ONLY = r"""
options: {}
attributes:
  check_mode:
    support: full
    details: It changes nothing, so it does the same in check mode.
  diff_mode:
    support: N/A
    details: It changes nothing.
  idempotent:
    support: full
    details: It changes nothing.
"""
