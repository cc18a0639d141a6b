#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin run, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run
short_description: Open the folder that one run's report goes to
description:
  - Makes a folder such as C(20261201T080000Z-3f2a) below O(report_dir) and lets the link C(latest) lead to it.
  - The callback P(instinct.bringup.bringup#callback) follows the run from then on, and writes the report there.
  - An action plugin. It runs on the controller and makes no connection. Call it with C(run_once).
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
attributes:
  check_mode:
    support: full
    details: The folder is made in check mode too, on the controller. It holds the plans, and no verdict.
  diff_mode:
    support: N/A
    details: Nothing on a node is changed.
  idempotent:
    support: none
    details: Every call makes a new folder.
options:
  report_dir:
    description: Folder of all runs, relative to where C(ansible-playbook) was started.
    type: path
    default: reports
  hosts:
    description: The hosts that the run is for. One that it never reaches is named in the report.
    type: list
    elements: str
    required: true
  verb:
    description: What the run does, as the report names it.
    type: str
    default: site
  rocm_release:
    description: The release that the report names. Without it, that of the profile of the first host.
    type: str
seealso:
  - module: instinct.bringup.verify
  - module: instinct.bringup.report
"""

EXAMPLES = r"""
- name: Open the run's folder
  instinct.bringup.run:
    report_dir: reports
    verb: verify
    hosts: "{{ ansible_play_hosts_all }}"
  run_once: true
  register: bringup_run
"""

RETURN = r"""
run:
  description: The run's folder.
  returned: success
  type: dict
  contains:
    id:
      description: The folder's name.
      type: str
      sample: 20261201T080000Z-3f2a
    dir:
      description: The folder's path on the controller.
      type: str
    started:
      description: When it was made.
      type: str
      sample: "2026-12-01T08:00:00Z"
"""
