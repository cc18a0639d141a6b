#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: keep the state of a node before a run changes it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: state_manifest
short_description: Keep the state of a node before a run changes it
description:
  - Writes every package with its version and hold, apt's sources, pins and keys, the alternatives of ROCm, and the named
    files and trees into one file, from which M(instinct.bringup.roll_back) brings the node back.
  - Of a tree it keeps what no package owns, files of at most 256 KiB and 64 MiB in all; the rest is named in
    RV(not_kept).
  - A manifest that is there already under this name is left as it is, since it tells how the node was before.
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
  run_id:
    description: The run's name. It names the manifest.
    type: str
    required: true
  files:
    description: Absolute paths of files that the run writes or removes. One that is absent is kept as absent.
    type: list
    elements: str
    default: []
  trees:
    description: Absolute paths of directories that the run removes.
    type: list
    elements: str
    default: []
  made:
    description: Absolute paths of directories that the run makes.
    type: list
    elements: str
    default: []
  users:
    description: Names of users whose groups are kept.
    type: list
    elements: str
    default: []
  packages:
    description:
      - Names of packages that the run removes or replaces. Of one that no source of apt has, such as AMD's installer, a
        copy is made from what is installed, when that is at most 20 MiB.
    type: list
    elements: str
    default: []
  dir:
    description: Where the manifest is kept. It is made with mode 0700.
    type: path
    default: /var/lib/instinct-bringup/manifests
"""

EXAMPLES = r"""
- name: Keep the node's state
  instinct.bringup.state_manifest:
    run_id: 20261201T080000Z
    files:
      - /etc/rccl.conf
    trees:
      - /opt/rocm-5.1.3
"""

RETURN = r"""
path:
  description: The manifest on the node, readable by root only.
  returned: success
  type: str
  sample: /var/lib/instinct-bringup/manifests/20261201T080000Z.before.json
not_kept:
  description: Files and packages that are too large to be kept.
  returned: success
  type: list
  elements: str
"""

import os
from datetime import datetime, timezone

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import run_command
from ansible_collections.instinct.bringup.plugins.module_utils.journal_writer import JournalError, check_run_id
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import PackageError
from ansible_collections.instinct.bringup.plugins.module_utils.purge_manifest import write_manifest
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node, PurgeFailed
from ansible_collections.instinct.bringup.plugins.module_utils.state_manifest import SUFFIX, Wish, state_of

_NAMES = {"type": "list", "elements": "str", "default": []}


def main() -> None:
    """Read the options, keep the state, report."""
    module = AnsibleModule(
        argument_spec={
            "run_id": {"type": "str", "required": True},
            **dict.fromkeys(Wish._fields, _NAMES),
            "dir": {"type": "path", "default": "/var/lib/instinct-bringup/manifests"},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        path = os.path.join(params["dir"], check_run_id(params["run_id"]) + SUFFIX)
        if os.path.exists(path):
            module.exit_json(changed=False, path=path, not_kept=[])
        wish = Wish(**{name: params[name] for name in Wish._fields})
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        state = state_of(
            Node(run_command),
            wish,
            params["run_id"],
            now,
            "" if module.check_mode else path[: -len(SUFFIX)] + ".archives",
        )
        if not module.check_mode:
            write_manifest(path, state)
        module.exit_json(changed=True, path=path, not_kept=state["not_kept"])
    except OSError as error:
        module.fail_json(msg=f"cannot read {error.filename} to keep it: {error.strerror} (errno {error.errno})")
    except (JournalError, PackageError, PurgeFailed) as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
