#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin plan, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Make a node's plan from its snapshot and its profile
description:
  - Compares the snapshot in the run's folder with the profile, which is the host's variables and the defaults.
  - Returns ordered steps, one role each, with the reason of every change, or refusals with what to do.
  - An action plugin. It runs on the controller and makes no connection.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
attributes:
  check_mode:
    support: full
    details: In check mode the plan is the prediction, and is reported as changed where it has steps.
  diff_mode:
    support: full
    details: Shows every file that the plan would write.
  idempotent:
    support: full
options:
  run_dir:
    description: The run's folder, as RV(instinct.bringup.run#module:run.dir) returns it.
    type: path
    required: true
  again:
    description:
      - A second plan within a run, for what only the first one's steps have brought to light.
      - The report keeps the first plan.
    type: bool
    default: false
seealso:
  - module: instinct.bringup.node_facts
  - module: instinct.bringup.verify
"""

EXAMPLES = r"""
- name: Plan
  instinct.bringup.plan:
    run_dir: "{{ bringup_run.run.dir }}"
  register: bringup_planned
"""

RETURN = r"""
plan:
  description: The steps to apply, in order, and whether a reboot is needed.
  returned: success
  type: dict
  contains:
    apply:
      description: The steps by role, in order; each with its reasons, its changes and the inputs of the role's tasks.
      type: dict
    reboot:
      description: Whether a reboot is needed and allowed, and why.
      type: dict
    gpus_seen:
      description: Whether the kernel's driver showed the GPUs and their links when the snapshot was taken.
      type: bool
plan_text:
  description: The plan in words.
  returned: success
  type: str
"""
