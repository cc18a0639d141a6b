#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: wait until no package manager and no interrupted run is at work on the node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_idle
short_description: Wait until no package manager and no interrupted run is at work on the node
description:
  - A task whose controller was killed, or whose connection was lost, works on. What is planned meanwhile is stale before
    it is applied. This module waits for such a task, for whoever holds a lock of apt or dpkg, and for a shutdown that
    is under way.
  - Nothing is stopped and no lock file is removed.
  - C(site.yml) calls it through the action plugin of M(instinct.bringup.node_facts), where the snapshot gives a reason to.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
  - instinct.bringup.attributes.read_only
options:
  timeout:
    description: Seconds to wait at most. What is still at work then is returned, the module does not fail.
    type: int
    default: 600
"""

EXAMPLES = r"""
- name: Wait until nothing else works on the node
  instinct.bringup.node_idle:
    timeout: 600
  become: true
"""

RETURN = r"""
waited_for:
  description: What was at work, a sentence for each.
  returned: success
  type: list
  elements: str
  sample:
    - /var/lib/dpkg/lock-frontend is held by unattended-upgr (pid 24459)
left:
  description: What still is at work after the time.
  returned: success
  type: list
  elements: str
  sample: []
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import run_command
from ansible_collections.instinct.bringup.plugins.module_utils.idle import wait_until_idle
from ansible_collections.instinct.bringup.plugins.module_utils.package_lock import LOCK_TIMEOUT
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree


def main() -> None:
    """Read the option, wait, report."""
    module = AnsibleModule(
        argument_spec={"timeout": {"type": "int", "default": LOCK_TIMEOUT}}, supports_check_mode=True
    )
    module.exit_json(changed=False, **wait_until_idle(Tree("/"), run_command, module.params["timeout"]))


if __name__ == "__main__":
    main()
