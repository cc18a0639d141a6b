#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: keep a machine's files as one text."""

from __future__ import annotations

DOCUMENTATION = r"""
module: capture
short_description: Keep a machine's files as one text
description:
  - Reads what M(instinct.bringup.node_facts) reads and returns the files, links and lists themselves as a manifest.
  - Serial numbers, unique ids, hardware and network addresses, host names and people's names are replaced.
  - The manifest may be given to M(instinct.bringup.node_facts) as its O(instinct.bringup.node_facts#module:root).
  - In a playbook, the action plugin of the same name runs this module and writes the manifest on the controller.
version_added: 0.1.0
author: The instinct-bringup authors
extends_documentation_fragment:
  - instinct.bringup.attributes
  - instinct.bringup.attributes.read_only
options:
  root:
    description: Folder that holds the files to read, as a machine has them from C(/) on.
    type: path
    default: /
  watch:
    description: Absolute paths whose content is wanted too.
    type: list
    elements: str
    default: []
  users:
    description: Names of users who stay in the manifest; other people are left out.
    type: list
    elements: str
    default: []
  venvs:
    description: Absolute paths of Python environments whose distributions are wanted.
    type: list
    elements: str
    default: []
  bundle:
    description: Also return the scrubbed kernel log and the list of packages.
    type: bool
    default: false
  dest:
    description: Folder on the controller for the manifest. Only the action plugin takes it.
    type: path
  run_dir:
    description: Folder of a run whose plan and results go into the bundle. Only the action plugin takes it.
    type: path
"""

EXAMPLES = r"""
- name: Capture this node
  instinct.bringup.capture:
    users:
      - deploy
  become: true
"""

RETURN = r"""
manifest:
  description: The machine as one text.
  returned: by the module
  type: str
problems:
  description: What could not be read, and why.
  returned: by the module
  type: list
  elements: dict
packages:
  description: The installed packages, one a line.
  returned: with O(bundle)
  type: str
kernel_log:
  description: The scrubbed kernel log, null where it could not be read.
  returned: with O(bundle)
  type: str
paths:
  description: The files that were written on the controller.
  returned: by the action plugin
  type: list
  elements: str
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.capturing import capture
from ansible_collections.instinct.bringup.plugins.module_utils.snapshot import Request


def main() -> None:
    """Read the options, capture, hand it back."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/"},
            "watch": {"type": "list", "elements": "str", "default": []},
            "users": {"type": "list", "elements": "str", "default": []},
            "venvs": {"type": "list", "elements": "str", "default": []},
            "bundle": {"type": "bool", "default": False},
            "dest": {"type": "path"},
            "run_dir": {"type": "path"},
        },
        supports_check_mode=True,
    )
    root = module.params["root"]
    if not os.path.isdir(root):
        module.fail_json(msg="root %s is not a folder on this machine" % root)
    request = Request(watch=module.params["watch"], users=module.params["users"], venvs=module.params["venvs"])
    module.exit_json(changed=False, **capture(root, request, module.params["bundle"]))


if __name__ == "__main__":
    main()
