#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin report, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Make a run's report again, or one report of several runs
description:
  - Writes C(results.json), C(index.html) and C(junit.xml) from the records that the nodes of a run left in its folder.
  - It is how a run that was cut gets its report. C(complete) is then true only if every node has a verdict.
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
    support: partial
    details: The report says when it was made, so it is written at every call.
options:
  run_dirs:
    description:
      - Folders of runs on the controller. The link C(latest) is followed.
      - Of several, a new folder beside the first gets the newest record of every node and the report.
    type: list
    elements: path
    required: true
seealso:
  - module: instinct.bringup.run
"""

EXAMPLES = r"""
- name: Make the report of the last run again
  instinct.bringup.report:
    run_dirs: [reports/latest]

- name: Make one report of two controllers' runs
  instinct.bringup.report:
    run_dirs:
      - reports/20261201T080000Z-3f2a
      - reports/20261201T080112Z-90be
"""

RETURN = r"""
run_dir:
  description: The folder that holds the report.
  returned: success
  type: str
files:
  description: The files that were written.
  returned: success
  type: list
  elements: str
complete:
  description: Whether the run came to its end, or every node has a verdict.
  returned: success
  type: bool
summary:
  description: How many nodes there are, and how many of each verdict.
  returned: success
  type: dict
  sample: {nodes: 2, pass: 2}
"""
