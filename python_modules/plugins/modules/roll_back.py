#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: bring a node back to the state that a manifest holds."""

from __future__ import annotations

DOCUMENTATION = r"""
module: roll_back
short_description: Bring a node back to the state that a manifest holds
description:
  - Takes a manifest of M(instinct.bringup.state_manifest). Apt gets the sources, pins and keys of that time, the packages
    are installed and removed in one transaction, then files, alternatives, holds and groups are put back.
  - Nothing is changed when a process uses a GPU, when the sources of that time do not answer, or when apt's simulation
    would remove a package beyond the list.
  - The present state is kept in a manifest of its own first, so that a roll-back can be rolled back.
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
  manifest:
    description: The name of the manifest, which is the id of the run before which it was taken.
    type: str
    required: true
  dir:
    description: Where the manifests are.
    type: path
    default: /var/lib/instinct-bringup/manifests
"""

EXAMPLES = r"""
- name: Bring the node back to what it was before a run
  instinct.bringup.roll_back:
    manifest: 20261201T080000Z
"""

RETURN = r"""
installed:
  description: Packages and versions that were installed, or would be in check mode.
  returned: success
  type: list
  elements: str
removed:
  description: Packages that were purged, or would be in check mode.
  returned: success
  type: list
  elements: str
files:
  description: Paths that were written or removed.
  returned: success
  type: list
  elements: str
could_not:
  description: What is not as it was, and why.
  returned: success
  type: list
  elements: str
driver_changed:
  description: Whether the driver's package changed, so that a reboot is needed.
  returned: success
  type: bool
"""

import os
from datetime import datetime, timezone

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import run_command
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import PackageError
from ansible_collections.instinct.bringup.plugins.module_utils.processes import read_gpu_processes
from ansible_collections.instinct.bringup.plugins.module_utils.purge_manifest import write_manifest
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed, PurgeRefused
from ansible_collections.instinct.bringup.plugins.module_utils.roll_back import read_state, roll_back
from ansible_collections.instinct.bringup.plugins.module_utils.state_manifest import SUFFIX, Wish, state_of
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree


def main() -> None:
    """Read the options, keep the present state, bring the old one back, report."""
    module = AnsibleModule(
        argument_spec={
            "manifest": {"type": "str", "required": True},
            "dir": {"type": "path", "default": "/var/lib/instinct-bringup/manifests"},
        },
        supports_check_mode=True,
    )
    node = Node(run_command)
    try:
        state = read_state(module.params["dir"], module.params["manifest"])
        users = read_gpu_processes(Tree("/"), os.getpid(), os.geteuid() == 0) or []
        if users:
            named = ", ".join(f"{entry['name']} (pid {entry['pid']})" for entry in users)
            raise PurgeRefused(f"the GPUs are in use by {named}; let the jobs end first")
        if not module.check_mode:
            now = datetime.now(timezone.utc)
            name = now.strftime("roll-back-%Y%m%dT%H%M%SZ")
            folder = os.path.join(module.params["dir"], name + ".archives")
            files = [entry["path"] for entry in state["files"]]
            trees = [entry["path"] for entry in state["trees"] if entry["type"] == "directory"]
            present = state_of(
                node,
                Wish(files, trees, [], list(state["users"]), list(state["archives"])),
                name,
                now.strftime("%Y-%m-%dT%H:%M:%SZ"),
                folder,
            )
            write_manifest(os.path.join(module.params["dir"], name + SUFFIX), present)
        module.exit_json(**roll_back(node, state, module.check_mode))
    except PurgeRefused as error:
        module.fail_json(msg=f"refused, nothing was changed: {error}")
    except (PackageError, PurgeFailed, OSError) as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
