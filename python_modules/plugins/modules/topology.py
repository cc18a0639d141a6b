#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: read what a node's topology is made from. The action of the same name does the rest."""

from __future__ import annotations

DOCUMENTATION = r"""
module: topology
short_description: Show a node's topology, explained and drawn
description:
  - Reads processors, PCI, KFD and network devices below a root in one round trip. On the controller it tells how
    RCCL sees the node, and shows the node as a tree, with what is narrow or missing in colour on a terminal.
  - Nothing is changed. The text is printed by the action itself, and returned as well.
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
  root:
    description: Tree that is read as the node, for a captured or made machine. The default is the profile's bringup_root.
    type: path
  rccl_version:
    description: Version of the RCCL that plans. The default is that of the profile's release.
    type: str
  file:
    description: A topology file on the node, whose text is returned as RV(file_text).
    type: path
  show:
    description: Whether to print the tree and the explanation.
    type: bool
    default: true
seealso:
  - module: instinct.bringup.rccl_topology
  - module: instinct.bringup.rccl_topology_lint
"""

EXAMPLES = r"""
- name: Show the topology
  instinct.bringup.topology:

- name: Look at a captured machine
  instinct.bringup.topology:
    root: /srv/captures/gpu01
    rccl_version: 2.13.4
  register: gpu01
"""

RETURN = r"""
tree:
  description: The node as a tree of text.
  returned: success
  type: str
  sample: "gpu01: 4 GPUs, 12 directed XGMI links, 1 NUMA node"
svg:
  description: The node as an SVG element.
  returned: success
  type: str
  sample: <svg/>
explained:
  description: What RCCL plans, as the filter P(instinct.bringup.rccl_explain#filter) returns it.
  returned: success
  type: dict
  sample: {}
file_text:
  description: The text of O(file).
  returned: when O(file) is given
  type: str
  sample: <system version="2"/>
binding:
  description: For each rank, which counts the GPUs as HIP does, the processors, the memory's node and the adapters.
  returned: success
  type: list
  elements: dict
  sample:
    - hip: 0
      busid: "0000:63:00.0"
      numa_node: 0
      cpus: 0-15
      hcas: [mlx5_0]
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.rccl_machine import read_machine


def main() -> None:
    """Read the node, and a file of it where one is named; only the file where no root is named with it."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path"},
            "rccl_version": {"type": "str"},
            "file": {"type": "path"},
            "show": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    root, path = module.params["root"], module.params["file"]
    result = {}
    if root or not path:
        result["machine"] = read_machine(root or "/")
    if path:
        try:
            # As RCCL reads it: line ends stay as they are, and a byte is a character.
            with open(path, encoding="latin-1", newline="") as stream:
                result["file_text"] = stream.read()
        except OSError as error:
            module.fail_json(msg="{}: {}".format(path, error.strerror))
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
