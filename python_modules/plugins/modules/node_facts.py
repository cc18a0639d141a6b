#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: read everything about a node in one round trip."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_facts
short_description: Read everything about a node in one round trip
description:
  - Reads hardware, driver, packages, sources and files of a node and returns them as one document, the snapshot.
  - What cannot be read is null in the snapshot, and RV(snapshot.problems) says why. Nothing is judged here.
  - The only commands it runs are C(dpkg-query) and C(apt-cache policy), the latter as a user who cannot write apt's
    caches, for a compressed module C(modinfo), and with O(tools) the vendor's tools. Network file systems are not looked at.
  - In a playbook, the action plugin of the same name runs this module, keeps the snapshot in the folder of the
    run, and returns a digest of it.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
  - instinct.bringup.attributes.read_only
options:
  root:
    description:
      - Folder that holds the files to read, as a machine has them from C(/) on.
      - With another folder than C(/), such as the capture of another machine, no command is run and nothing of the
        machine that runs this is read. What cannot be told then is named in RV(snapshot.skipped).
      - A manifest that M(instinct.bringup.capture) wrote is taken too.
    type: path
    default: /
  watch:
    description: Absolute paths of which content, mode and owner are wanted.
    type: list
    elements: str
    default: []
  users:
    description: Names of users whose groups are wanted, and as whom the GPU's device nodes are opened.
    type: list
    elements: str
    default: []
  packages:
    description: Names of packages of which apt's candidate is wanted. C({kernel}) in one stands for the running kernel.
    type: list
    elements: str
    default: []
  venvs:
    description: Absolute paths of Python environments whose distributions are wanted.
    type: list
    elements: str
    default: []
  spaces:
    description: Absolute paths, which need not exist yet, for which the free space is wanted.
    type: list
    elements: str
    default: []
  env_logs:
    description: Absolute paths of logs of runs with C(NCCL_DEBUG=INFO), of which the variables that were taken are wanted.
    type: list
    elements: str
    default: []
  leftovers:
    description: Absolute paths, with wildcards in their last part only, of which type and owning packages are wanted.
    type: list
    elements: str
    default: []
  launch_user:
    description: Name of the user who starts jobs, whose home and whose keys made by the role launch are wanted.
    type: str
    default: ""
  mpi_prefix:
    description: Folder of an Open MPI that is not the distribution's, which is asked what it was built with.
    type: str
    default: ""
  tools:
    description: Also ask C(rocm-smi) and C(amd-smi), which cost more than the rest of the snapshot.
    type: bool
    default: false
  deepspeed_ops:
    description: >-
      Compile and load ops of DeepSpeed's in a cache of their own, which takes minutes. Keys are C(user), whose job it
      would be, C(venv), C(rocm_home) and C(arch), such as V(gfx90a).
    type: dict
"""

EXAMPLES = r"""
- name: Read this node
  instinct.bringup.node_facts:
    users:
      - deploy
    packages:
      - rocm-core
    spaces:
      - /opt
  become: true

- name: Read the capture of another machine
  instinct.bringup.node_facts:
    root: /srv/captures/gpu07
  delegate_to: localhost
"""

RETURN = r"""
snapshot:
  description: Everything that was seen. A value that could not be read is null.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this document's form.
      type: int
      sample: 1
    problems:
      description: What could not be read, and why.
      type: list
      elements: dict
      sample:
        - area: pci
          path: /sys/bus/pci/devices/0000:63:00.0/current_link_width
          message: No such file or directory (ENOENT)
    skipped:
      description: Areas that were not looked at, and why.
      type: dict
      sample:
        dpkg: this tree does not hold /var/lib/dpkg/status
    cpu_seconds:
      description: What reading cost the node.
      type: float
      sample: 0.21
    pci:
      description: GPUs and network adapters, each with its link and the ports above it.
      type: dict
    kfd:
      description: The topology that the compute driver shows, null without one.
      type: dict
"""

import json
import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.probe import run_probe
from ansible_collections.instinct.bringup.plugins.module_utils.snapshot import Request, build_snapshot


def main() -> None:
    """Read the options, build the snapshot, hand it back."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/"},
            "watch": {"type": "list", "elements": "str", "default": []},
            "users": {"type": "list", "elements": "str", "default": []},
            "packages": {"type": "list", "elements": "str", "default": []},
            "venvs": {"type": "list", "elements": "str", "default": []},
            "spaces": {"type": "list", "elements": "str", "default": []},
            "env_logs": {"type": "list", "elements": "str", "default": []},
            "leftovers": {"type": "list", "elements": "str", "default": []},
            "launch_user": {"type": "str", "default": ""},
            "mpi_prefix": {"type": "str", "default": ""},
            "tools": {"type": "bool", "default": False},
            "deepspeed_ops": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    root = module.params["root"]
    manifest = os.path.isfile(root)
    if not os.path.isdir(root) and not manifest:
        module.fail_json(msg="root %s is neither a folder nor a manifest on this machine" % root)
    relative = [
        "%s: %s" % (name, path)
        for name in ("watch", "venvs", "spaces", "env_logs", "leftovers")
        for path in module.params[name]
        if not path.startswith("/") or "\0" in path
    ]
    if relative:
        module.fail_json(msg="paths must be absolute: " + ", ".join(relative))
    request = Request(**{name: module.params[name] for name in Request._fields})
    if manifest:
        # Here, since every node would pay for the import.
        from ansible_collections.instinct.bringup.plugins.module_utils.replay import replay

        try:
            snapshot = replay(root, request)
        # A manifest that is none, or is not text, is a ValueError.
        except (OSError, ValueError) as error:
            module.fail_json(msg="root %s cannot be laid out: %s" % (root, error))
    else:
        is_own = os.path.realpath(root) == "/"
        snapshot = build_snapshot(root, request, run_probe if is_own else None, own_pid=os.getpid())
    # One text, which the action plugin takes apart: Ansible looks through every value that a module returns, here and
    # on the controller, and of thousands that took as long as reading them.
    module.exit_json(changed=False, snapshot=json.dumps(snapshot, separators=(",", ":")))


if __name__ == "__main__":
    main()
