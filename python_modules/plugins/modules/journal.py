#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: keep on the node what a run has begun and finished."""

from __future__ import annotations

DOCUMENTATION = r"""
module: journal
short_description: Record on the node what a run has begun and finished
description:
  - Writes one small JSON file a run. A package that a recorded run was to install is ours to finish after a crash;
    any other package that is half-configured is not.
  - The file is replaced in one step and is readable by its owner only.
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
  state:
    description:
      - V(begun) comes before the first change. Once more for the same run, it adds the steps and packages given.
      - V(finished) closes the run, which must have begun.
    type: str
    choices:
      - begun
      - finished
    required: true
  run_id:
    description: The run's name, as in the report's folder.
    type: str
    required: true
  steps:
    description: The plan's steps, in their order.
    type: list
    elements: str
    default: []
  packages:
    description: The packages that the run installs.
    type: list
    elements: str
    default: []
  closes:
    description: With V(finished), runs that were interrupted, whose work this run has finished.
    type: list
    elements: str
    default: []
  dir:
    description: The state directory. It is made with mode 0700; the file is C(runs/RUN_ID.json) in it.
    type: path
    default: /var/lib/instinct-bringup
"""

EXAMPLES = r"""
- name: Record what this run is about to do
  instinct.bringup.journal:
    state: begun
    run_id: 20261201T080000Z
    steps:
      - rocm
    packages:
      - rocm-core
      - amdgpu-dkms

- name: Record that it is done
  instinct.bringup.journal:
    state: finished
    run_id: 20261201T080000Z
"""

RETURN = r"""
path:
  description: The run's file.
  returned: success
  type: str
  sample: /var/lib/instinct-bringup/runs/20261201T080000Z.json
"""

import grp
import os
import pwd
from datetime import datetime, timezone

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.journal_writer import (
    BEGUN,
    FINISHED,
    Entry,
    JournalError,
    close,
    record,
)


def main() -> None:
    """Read the options, write the record, report."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": [BEGUN, FINISHED], "required": True},
            "run_id": {"type": "str", "required": True},
            "steps": {"type": "list", "elements": "str", "default": []},
            "packages": {"type": "list", "elements": "str", "default": []},
            "closes": {"type": "list", "elements": "str", "default": []},
            "dir": {"type": "path", "default": "/var/lib/instinct-bringup"},
        },
        supports_check_mode=True,
    )
    params = module.params
    entry = Entry(params["run_id"], params["steps"], params["packages"])
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    owner = (pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name)
    try:
        result = record(params["dir"], params["state"], entry, now, owner, module.check_mode)
        for run in params["closes"] if params["state"] == FINISHED else []:
            closed = close(params["dir"], run, entry.run, now, owner, module.check_mode)
            result["changed"] = result["changed"] or closed
        module.exit_json(**result)
    except JournalError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
