#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin verify, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: verify
short_description: Judge a node by its snapshot and its profile
description:
  - Makes a fresh plan of the node's snapshot, runs every check over both, and keeps the results in the run's folder.
  - Fails the host unless its verdict is V(pass). docs/checks.md lists the checks.
  - An action plugin. It runs on the controller and makes no connection.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
attributes:
  check_mode:
    support: none
    details: In check mode nothing is judged, and the task is skipped.
  diff_mode:
    support: N/A
    details: Nothing on a node is changed.
  idempotent:
    support: full
options:
  run_dir:
    description: The run's folder, as RV(instinct.bringup.run#module:run.dir) returns it.
    type: path
    required: true
  snapshot:
    description: File of another snapshot on the controller, in place of the one in the run's folder.
    type: path
seealso:
  - module: instinct.bringup.node_facts
  - module: instinct.bringup.plan
"""

EXAMPLES = r"""
- name: Verify
  instinct.bringup.verify:
    run_dir: "{{ bringup_run.run.dir }}"
"""

RETURN = r"""
verdict:
  description: >-
    V(fail) if any check fails, else V(unknown) if a required one could not be judged, else V(pass).
    V(refused) when the profile itself cannot be used.
  returned: always, except in check mode
  type: str
  sample: pass
counts:
  description: How many checks had which outcome.
  returned: always, except in check mode
  type: dict
  sample: {ok: 52, skipped: 3}
problems:
  description: The first ten checks that kept the node from V(pass). C(results.json) has all.
  returned: always, except in check mode
  type: list
  elements: dict
  sample:
    - id: pcie.link_width
      outcome: fail
      required: true
      subject: "0000:63:00.0"
      expected: x16
      observed: x8
      reason: 0000:63:00.0 has x8 where x16 is expected
      remedy: Reseat the card and its riser.
      evidence: /sys/bus/pci/devices/0000:61:00.0/current_link_width
"""
