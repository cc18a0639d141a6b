#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin rccl_topology_lint, which judges on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rccl_topology_lint
short_description: Say what RCCL makes of a topology file
description:
  - Reads a file for NCCL_TOPO_FILE as RCCL's own parser does, which is no XML parser, and says what RCCL would
    refuse, misread, fill in or leave out, with the line.
  - With O(root) it also says whether the file is of that machine.
  - An action plugin. O(path) costs one round trip, O(text) alone makes no connection.
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
  path:
    description: File on the node. One of O(path) and O(text) is required.
    type: path
  text:
    description: The file's text.
    type: str
  rccl_version:
    description:
      - Version of the RCCL that reads the file. The rules are those of 2.13 (ROCm 5.4) to 2.21; a newer one is
        judged by the newest rules, and a note says so.
      - The default is that of the profile's release.
    type: str
  root:
    description: Tree on the node with the machine that the file must be of; V(/) is the node itself.
    type: path
  fail_above:
    description:
      - Fail when there is a finding worse than this. V(rejected) never fails.
    type: str
    choices: [note, ignored, incomplete, silently_wrong, rejected]
    default: rejected
seealso:
  - module: instinct.bringup.rccl_topology
  - plugin: instinct.bringup.rccl_clean
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Judge the topology file of this node, and whether it is of this node
  instinct.bringup.rccl_topology_lint:
    path: /etc/rccl/topology.xml
    rccl_version: 2.13.4
    root: /

- name: Judge a text
  instinct.bringup.rccl_topology_lint:
    text: "{{ lookup('ansible.builtin.file', 'topology.xml') }}"
    rccl_version: 2.13.4
    fail_above: note
"""

RETURN = r"""
findings:
  description:
    - What was found, by line. A right file has none above V(note).
    - V(rejected) makes a communicator fail. With V(silently_wrong) RCCL plans for another machine without a word.
      V(incomplete) is filled in by RCCL on the machine itself and nowhere else. V(ignored) has no effect.
  returned: success
  type: list
  elements: dict
  sample:
    - severity: rejected
      line: 1
      message: "'?' where only < may stand"
verdict:
  description: The worst severity, V(ok) where there is none above V(note).
  returned: success
  type: str
  sample: rejected
"""
