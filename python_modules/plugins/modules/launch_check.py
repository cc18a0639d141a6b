#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin launch_check, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: launch_check
short_description: Compare a started job with what the plan expects of it
description:
  - Reads what the ranks printed that the launchers have started with C(report_rank.py), and compares number, place,
    environment and libraries of each with the plan. The results are kept in the run's folder.
  - A job that ran on one node in silence, or that lost a rank, does not pass.
  - Without O(output) it only says what a job must be.
  - An action plugin. It runs on the controller and makes no connection.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: N/A
    details: Nothing on a node is changed.
  idempotent:
    support: full
options:
  run_dir:
    description: The run's folder, as RV(instinct.bringup.run#module:run.dir) returns it, with the host's snapshot.
    type: path
    required: true
  launcher:
    description: Which launcher has started the job.
    type: str
    choices: [deepspeed, torchrun, openmpi, slurm]
    default: deepspeed
  output:
    description: What the launcher printed, with the lines of all ranks.
    type: str
  code:
    description: How the launcher ended.
    type: int
    default: 0
  called:
    description: What C(ssh) said when the first node called this one, as C(command) returns it.
    type: dict
seealso:
  - module: instinct.bringup.verify
"""

EXAMPLES = r"""
- name: Compare the ranks with what was expected
  instinct.bringup.launch_check:
    run_dir: "{{ bringup_run.run.dir }}"
    launcher: torchrun
    output: "{{ bringup_started.stdout }}"
    code: "{{ bringup_started.rc }}"
"""

RETURN = r"""
expected:
  description: What the plan expects of a job; null on a host that no job runs on.
  returned: success
  type: dict
  sample: {hosts: [[gpu01, 8], [gpu02, 8]], master: gpu01, port: 29500, world_size: 16, user: deploy}
verdict:
  description: V(fail) if anything differs, else V(pass).
  returned: with O(output)
  type: str
  sample: pass
problems:
  description: The results that decided, as results.json holds them.
  returned: with O(output)
  type: list
  elements: dict
"""
