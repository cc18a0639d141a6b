#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: make RCCL's topology file from the node itself."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rccl_topology
short_description: Make RCCL's topology file from the node itself
description:
  - Reads processors, PCI, KFD and network devices below a root and renders the file that NCCL_TOPO_FILE names,
    in RCCL's own dialect, which is not XML.
  - Links stand in it as they are now, unless O(link_values) says otherwise. What is odd about the node is in
    RV(warnings), what the file says other than RCCL would find in RV(differences).
  - Refuses what no right file can be made of, with the path that shows it.
  - Without O(dest) nothing is written.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  root:
    description: Tree that is read as the node, for a captured or made machine.
    type: path
    default: /
  dest:
    description: File to write, an absolute path on the node itself, whatever O(root) is. It is replaced in one step.
    type: path
  rccl_version:
    description: Version of the RCCL that will read the file. Before 2.18 the GPU's architecture is a number in it.
    type: str
    required: true
  link_values:
    description:
      - Whether the file says of each PCI link what it gives V(now), or its V(capability), which RCCL would read by
        itself. What differs is said in RV(warnings) and in a comment of the file.
      - A link at 2.5 GT/s that could do more may be asleep, so its capability is written then too, and only
        RV(warnings) says so. The file stays the same whether or not somebody uses the card.
    type: str
    choices: [now, capability]
    default: now
seealso:
  - module: instinct.bringup.rccl_topology_lint
  - module: instinct.bringup.topology
  - module: instinct.bringup.node_facts
"""

EXAMPLES = r"""
- name: Write the topology of this node for RCCL of ROCm 5.4.2
  instinct.bringup.rccl_topology:
    rccl_version: 2.13.4
    dest: /etc/rccl/topology.xml

- name: Look at the topology of a captured machine
  instinct.bringup.rccl_topology:
    rccl_version: 2.13.4
    root: /srv/captures/gpu01
  register: gpu01_topology
"""

RETURN = r"""
xml:
  description: The file's text.
  returned: success
  type: str
  sample: |
    <system version="2">
    </system>
gpus:
  description:
    - The GPUs in the order of RV(gpus[].dev), which RCCL takes for ROCm SMI's number of the card, by bus id.
    - RV(gpus[].hip) is HIP's number, in the order of KFD's nodes, which a job's local rank counts.
  returned: success
  type: list
  elements: dict
  sample:
    - busid: "0000:23:00.0"
      dev: 0
      hip: 0
      numa_node: 0
links:
  description: One direction of the XGMI links between two GPUs each, and how many links they are.
  returned: success
  type: list
  elements: dict
  sample:
    - source: "0000:23:00.0"
      target: "0000:43:00.0"
      count: 1
differences:
  description: What the file says other than RCCL would detect. Where it is empty, no file is needed.
  returned: success
  type: list
  elements: str
  sample: []
warnings:
  description: What is odd about the node, or could not be read.
  returned: success
  type: list
  elements: str
  sample:
    - "0000:43:00.0: PCI names no NUMA node; KFD's link to a CPU gives node 1"
"""

from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.file_writer import Wanted, WriteError, apply_files
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_machine import read_machine
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_model import TopologyError
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_pci import LINK_VALUES
from ansible_collections.instinct.bringup.plugins.module_utils.rccl_topology import (
    build_topology,
    differs_from_detection,
    render_xml,
)


def main() -> None:
    """Read the node, render, write where a destination is given."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/"},
            "dest": {"type": "path"},
            "rccl_version": {"type": "str", "required": True},
            "link_values": {"type": "str", "choices": list(LINK_VALUES), "default": "now"},
        },
        supports_check_mode=True,
    )
    try:
        machine = read_machine(module.params["root"])
        topology = build_topology(machine, module.params["rccl_version"], module.params["link_values"])
    except TopologyError as error:
        module.fail_json(msg="no topology file for this node: {}".format(error))
    numa = {placement.busid: placement.numa_node for placement in topology.placements}
    text = render_xml(topology)
    result: Dict[str, Any] = {
        "xml": text,
        "gpus": [
            {"busid": gpu.busid, "dev": gpu.dev, "hip": gpu.hip, "numa_node": numa[gpu.busid]} for gpu in topology.gpus
        ],
        "links": [{"source": link.source, "target": link.target, "count": link.count} for link in topology.links],
        "differences": differs_from_detection(topology),
        "changed": False,
    }
    if module.params["dest"]:
        try:
            written = apply_files([Wanted(module.params["dest"], text.encode("ascii"))], module.check_mode)
        except WriteError as error:
            module.fail_json(msg=str(error))
        result.update(changed=written["changed"], diff=written["diff"])
    # Ansible shows these to the person and returns them as "warnings".
    for warning in (*topology.warnings, *topology.passing):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
