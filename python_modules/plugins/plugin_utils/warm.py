# SPDX-License-Identifier: Apache-2.0
"""Load once, before Ansible forks a process for each host and task, what each of them needs.

Importing the plan and the checks and reading the catalog takes longer than planning and judging a node:
in every process anew it was most of the time of a run (benchmarks/verify_ping.py).
"""

from __future__ import annotations

import gc
import importlib

from ansible_collections.instinct.bringup.plugins.plugin_utils.catalog import default_catalog
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.registry import default_registry
from ansible_collections.instinct.bringup.plugins.plugin_utils.packages import families_of
from ansible_collections.instinct.bringup.plugins.plugin_utils.profile import all_options

_ACTIONS = ("node_facts", "plan", "verify")


def warm() -> None:
    """Import the actions of a run with all that they use, and read what of the catalog every host asks for."""
    for name in _ACTIONS:
        importlib.import_module(f"ansible_collections.instinct.bringup.plugins.action.{name}")
    catalog = default_catalog()
    all_options(catalog)
    # It reads every release, to know old drivers by their branch.
    families_of(catalog)
    default_registry()
    # What is there by now stays: no process has to look through it for garbage, and to copy it by that.
    gc.freeze()
