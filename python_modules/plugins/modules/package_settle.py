#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: let dpkg and apt finish what an interrupted run left."""

from __future__ import annotations

DOCUMENTATION = r"""
module: package_settle
short_description: Let dpkg and apt finish what an interrupted run left
description:
  - Configures what is unpacked, fetches what lacks, and installs again what dpkg was killed in. Nothing is removed.
  - When another process holds dpkg's lock it waits up to 600 seconds, and then names that process. No lock file is removed.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
options:
  going:
    description: Names of packages that are purged next. They may stay half-done.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Finish what an interrupted run left
  instinct.bringup.package_settle:
    going:
      - amdgpu-dkms
"""

RETURN = r"""
found:
  description: The packages that were half-done, with dpkg's state.
  returned: success
  type: list
  elements: str
  sample:
    - openmpi-bin (iU)
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import run_command
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import PackageError
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node
from ansible_collections.instinct.bringup.plugins.module_utils.settle import settle


def main() -> None:
    """Read the options, settle, report."""
    module = AnsibleModule(
        argument_spec={"going": {"type": "list", "elements": "str", "default": []}}, supports_check_mode=True
    )
    try:
        module.exit_json(**settle(Node(run_command), module.params["going"], module.check_mode))
    except PackageError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
