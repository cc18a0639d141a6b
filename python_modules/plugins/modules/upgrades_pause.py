#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: keep unattended upgrades from starting while a run changes packages."""

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrades_pause
short_description: Keep unattended upgrades from starting under a run
description:
  - Gives apt-daily.service and apt-daily-upgrade.service a condition below C(/run) that holds them back for four hours at
    most. A run that is killed leaves nothing that somebody would have to undo, and a boot clears it.
  - An upgrade that is at work already is not disturbed; whoever needs apt's lock waits for it.
  - On a node that systemd does not run nothing is done.
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
    support: partial
    details: With V(paused) the four hours begin anew at each call.
options:
  state:
    description: V(paused) holds upgrades back from now on, V(resumed) lets them start again.
    type: str
    required: true
    choices:
      - paused
      - resumed
"""

EXAMPLES = r"""
- name: Keep unattended upgrades away while packages are changed
  instinct.bringup.upgrades_pause:
    state: paused

- name: Let them start again
  instinct.bringup.upgrades_pause:
    state: resumed
"""

RETURN = r"""
until:
  description: The moment at which upgrades may start again by themselves, in seconds since 1970; null when they may now.
  returned: success
  type: int
  sample: 1796130000
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import run_command
from ansible_collections.instinct.bringup.plugins.module_utils.purge_request import Node
from ansible_collections.instinct.bringup.plugins.module_utils.upgrades_pause import PauseError, pause, resume


def main() -> None:
    """Read the options, pause or resume, report."""
    module = AnsibleModule(
        argument_spec={"state": {"type": "str", "choices": ["paused", "resumed"], "required": True}},
        supports_check_mode=True,
    )
    node = Node(run_command)
    try:
        if module.params["state"] == "paused":
            module.exit_json(**pause(node, time.time(), module.check_mode))
        module.exit_json(**resume(node, module.check_mode))
    except PauseError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
