# SPDX-License-Identifier: Apache-2.0
"""Filter: say what follows from a topology file for RCCL's planning."""

from __future__ import annotations

DOCUMENTATION = r"""
name: rccl_explain
short_description: Say what RCCL plans on a topology file
description:
  - Follows RCCL's rules for a text that NCCL_TOPO_FILE could name. Speeds are what RCCL plans with, in GB/s and one
    direction; they are no measurement.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
positional: _input, rccl_version
options:
  _input:
    description: The file's text.
    type: str
    required: true
  rccl_version:
    description: Version of the RCCL that plans.
    type: str
    required: true
  buffsize:
    description: NCCL_BUFFSIZE in bytes.
    type: int
  min_nchannels:
    description: NCCL_MIN_NCHANNELS.
    type: int
  max_nchannels:
    description: NCCL_MAX_NCHANNELS.
    type: int
  max_p2p_nchannels:
    description: NCCL_MAX_P2P_NCHANNELS.
    type: int
"""

EXAMPLES = r"""
- name: Show how far apart the first GPU and the others are
  ansible.builtin.debug:
    msg: "{{ (xml | instinct.bringup.rccl_explain('2.13.4')).paths }}"

- name: Show the memory on each rank with small buffers
  ansible.builtin.debug:
    msg: "{{ (xml | instinct.bringup.rccl_explain('2.13.4', buffsize=1048576)).memory_mib.rings_and_trees }}"
"""

RETURN = r"""
_value:
  description:
    - C(gpus), C(nets) and C(xgmi), each direction with its C(count) and C(gbs).
    - "C(paths): from each GPU to each GPU and network device, C(type) (XGMI, PIX, PXB, PHB, SYS), C(gbs), C(hops)."
    - "C(channels): C(fewest) and C(most); the same where RCCL itself was run on this wiring, named in C(shape)."
    - "C(memory_mib): device memory of one communicator on each rank, C(rings_and_trees) as least and most."
  type: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import Rejected
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.channels import Limits
from ansible_collections.instinct.bringup.plugins.plugin_utils.topology.explain import explain_topology


def rccl_explain(
    text: str,
    rccl_version: str,
    buffsize: int | None = None,
    min_nchannels: int | None = None,
    max_nchannels: int | None = None,
    max_p2p_nchannels: int | None = None,
) -> dict[str, t.Any]:
    """Return what RCCL plans.

    :raises AnsibleFilterError: RCCL's parser would not take the text, or the version is none.
    """
    limits = Limits(buffsize, min_nchannels, max_nchannels, max_p2p_nchannels)
    try:
        return explain_topology(text, rccl_version, limits)
    except (Rejected, ValueError) as error:
        raise AnsibleFilterError(f"rccl_explain: {error}") from error


class FilterModule:
    """Name the filter."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters of this file."""
        return {"rccl_explain": rccl_explain}
