#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: baseline
short_description: Write the baseline of a run's nodes
description:
  - Takes what most nodes of a run have as what every node of the fleet must have, and writes it as a file.
  - A value without a majority is left out.
version_added: 0.1.0
author: The instinct-bringup authors
extends_documentation_fragment:
  - instinct.bringup.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
options:
  run_dir:
    description: Folder of the run.
    type: path
    required: true
  dest:
    description: The file to write, on the controller.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Pin what the fleet is like
  instinct.bringup.baseline:
    run_dir: reports/latest
    dest: baseline.yml
  delegate_to: localhost
"""

RETURN = r"""
path:
  description: The file.
  returned: success
  type: str
nodes:
  description: How many nodes it was made of.
  returned: success
  type: int
odd:
  description: The nodes that are not like it, each in a sentence.
  returned: success
  type: list
  elements: str
"""
