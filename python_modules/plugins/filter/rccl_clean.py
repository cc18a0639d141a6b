# SPDX-License-Identifier: Apache-2.0
"""Filter: clean a topology that RCCL has dumped."""

from __future__ import annotations

DOCUMENTATION = r"""
name: rccl_clean
short_description: Take the ranks out of a topology that RCCL has dumped
description:
  - A file that NCCL_TOPO_DUMP_FILE wrote names the ranks of the job that dumped it. RCCL of ROCm 5.4 to 5.7 appends
    its own rank to one that it finds, so that such a file makes two ranks of each GPU. Without C(rank) it can be
    given back as NCCL_TOPO_FILE. Everything else stays as it is.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
options:
  _input:
    description: The file's text.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Keep a dump for later
  ansible.builtin.copy:
    content: "{{ lookup('ansible.builtin.file', 'dump.xml') | instinct.bringup.rccl_clean }}"
    dest: /etc/rccl/topology.xml
    mode: "0644"
"""

RETURN = r"""
_value:
  description: The text without ranks.
  type: str
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_clean import clean_topology
from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import Rejected


def rccl_clean(text: str) -> str:
    """Return the text without ranks.

    :raises AnsibleFilterError: RCCL's parser would not take the text.
    """
    try:
        return clean_topology(text)
    except Rejected as error:
        raise AnsibleFilterError(f"rccl_clean: {error}") from error


class FilterModule:
    """Name the filter."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters of this file."""
        return {"rccl_clean": rccl_clean}
