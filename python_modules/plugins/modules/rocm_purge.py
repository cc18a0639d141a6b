#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: remove an old ROCm, exactly what a plan lists, and keep a manifest of it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rocm_purge
short_description: Remove an old ROCm, exactly what is listed, and keep a manifest
description:
  - Removes the packages, holds, dkms trees, alternatives, files, trees and wheels that are listed, and nothing else.
  - Refuses before the first change when the package manager's own simulation shows that a package beyond the list would
    go or come, when a package is held and not in O(unhold), when a listed file belongs to a package that stays, or when
    something is mounted inside a listed tree.
  - Writes a manifest before the first change, with versions, holds, contents of files of at most 256 KiB, alternatives,
    and the names of what no package owns, and completes it at the end.
  - Every step passes over what is gone, so that a call after an interruption finishes. With the same O(run_id) it
    completes the same manifest.
  - Packages that an earlier run left half-configured are purged with C(dpkg), since apt refuses; otherwise it is
    C(apt-get), without autoremove. Another package manager is waited for up to 600 seconds, and then named.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
attributes:
  check_mode:
    support: full
    details: All refusals apply in check mode too, since the package manager only simulates.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  packages:
    description: Names of packages, without architecture or version. Those that are not there are passed over.
    type: list
    elements: str
    default: []
  unhold:
    description: Packages whose hold may be lifted.
    type: list
    elements: str
    default: []
  files:
    description: Absolute paths of files and links.
    type: list
    elements: str
    default: []
  alternatives:
    description:
      - Names of groups of C(update-alternatives). Of each, the choices below C(/opt/rocm) and C(/opt/rocm-*), and those
        whose target is gone, are removed. Other choices stay.
    type: list
    elements: str
    default: []
  dkms_trees:
    description: Versions of dkms modules, also those whose source is gone.
    type: list
    elements: dict
    default: []
    suboptions:
      module:
        description: The module's name in dkms.
        type: str
        required: true
      version:
        description: The version, as its directory below C(/var/lib/dkms) is called.
        type: str
        required: true
  trees:
    description:
      - Absolute paths of directories that are removed with all that is in them. One in which a package that is not
        purged owns a file is left, and named in RV(kept).
    type: list
    elements: str
    default: []
  wheels:
    description: Distributions to uninstall from virtual environments, with the environment's own pip, as its owner.
    type: list
    elements: dict
    default: []
    suboptions:
      venv:
        description: The path of the environment.
        type: str
        required: true
      distributions:
        description: The names of the distributions.
        type: list
        elements: str
        required: true
  settles:
    description:
      - With check mode before a run that lets dpkg finish first, by M(instinct.bringup.package_settle). Packages beyond the
        list that dpkg stopped in are then no reason to refuse.
    type: bool
    default: false
  run_id:
    description: The run's name. It names the manifest.
    type: str
    required: true
  manifest_dir:
    description: Where the manifest is kept. It is made with mode 0700.
    type: path
    default: /var/lib/instinct-bringup/manifests
"""

EXAMPLES = r"""
- name: Remove what is left of ROCm 5.2.0
  instinct.bringup.rocm_purge:
    run_id: 20261201T080000Z
    packages:
      - rocm-core
      - rocm-hip-runtime
      - amdgpu-dkms
    unhold:
      - rocm-hip-runtime
    files:
      - /etc/apt/sources.list.d/rocm-old.list
    alternatives:
      - rocm
    dkms_trees:
      - module: amdgpu
        version: 5.13.20.22.10-1420322.20.04
    trees:
      - /opt/rocm-5.1.3
    wheels:
      - venv: /opt/instinct/venv
        distributions:
          - torch
"""

RETURN = r"""
removed:
  description: What was removed, or would be in check mode, by kind.
  returned: always
  type: dict
  sample:
    packages:
      - rocm-core 5.2.0.50200-65
    holds: []
    wheels: []
    dkms_trees:
      - amdgpu/5.13.20.22.10-1420322.20.04
    alternatives: []
    files:
      - /etc/apt/sources.list.d/rocm-old.list
    trees:
      - /opt/rocm-5.1.3
kept:
  description: Trees on the list that were left, with the reason.
  returned: always
  type: list
  elements: dict
  sample:
    - subject: /opt/rocm-5.1.3
      reason: the package site-app owns files in it
manifest:
  description:
    - The manifest, without the contents of files, and with the beginning of long lists of names. Null when there was
      nothing to remove.
  returned: always
  type: dict
  sample:
    schema: 1
    run: 20261201T080000Z
manifest_path:
  description: The whole manifest on the node, readable by root only. Null when there was nothing to remove.
  returned: always
  type: str
  sample: /var/lib/instinct-bringup/manifests/20261201T080000Z.json
"""

from datetime import datetime, timezone
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import run_command
from ansible_collections.instinct.bringup.plugins.module_utils.purge import Interrupted, Purge, purge
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import (
    Node,
    PurgeFailed,
    PurgeRefused,
    Request,
)

_NAMES: dict[str, Any] = {"type": "list", "elements": "str", "default": []}
_TREE = {"module": {"type": "str", "required": True}, "version": {"type": "str", "required": True}}
_WHEELS = {
    "venv": {"type": "str", "required": True},
    "distributions": {"type": "list", "elements": "str", "required": True},
}

ARGUMENTS: dict[str, Any] = {
    "packages": _NAMES,
    "unhold": _NAMES,
    "files": _NAMES,
    "alternatives": _NAMES,
    "dkms_trees": {"type": "list", "elements": "dict", "default": [], "options": _TREE},
    "trees": _NAMES,
    "wheels": {"type": "list", "elements": "dict", "default": [], "options": _WHEELS},
    "settles": {"type": "bool", "default": False},
    "run_id": {"type": "str", "required": True},
    "manifest_dir": {"type": "path", "default": "/var/lib/instinct-bringup/manifests"},
}


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def main() -> None:
    """Read the options, purge, report."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    params = module.params
    job = Purge(Node(run_command), Request.of(params), params["run_id"], params["manifest_dir"], _now)
    try:
        module.exit_json(**purge(job, module.check_mode))
    except PurgeRefused as error:
        module.fail_json(msg=f"refused, nothing was changed: {error}")
    except Interrupted as error:
        advice = f"What was removed is in {job.manifest_path}; once that is mended, the same call goes on"
        module.fail_json(msg=f"{error}. {advice}", **error.result)
    except PurgeFailed as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
