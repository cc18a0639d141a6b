#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: read apt's lists anew and refuse an installation that would take something away."""

from __future__ import annotations

DOCUMENTATION = r"""
module: apt_ready
short_description: Read apt's lists and refuse an installation that would remove something
description:
  - Reads the lists anew, and fails with the URL when one that the packages come from cannot be read. A list of the site's
    own that cannot be read is a warning, which names it.
  - Lets apt simulate the installation, and fails with the names when it would remove a package, or change one that is on
    hold. Nothing is installed.
  - When another process holds apt's lock it waits up to 600 seconds, and then names that process.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
  - instinct.bringup.attributes.read_only
options:
  packages:
    description: What would be installed, each as C(name) or C(name=version); a version may hold C(*).
    type: list
    elements: str
    default: []
  sources:
    description: URLs of the repositories whose lists must be read.
    type: list
    elements: str
    default: []
  update:
    description: Whether to read the lists anew first.
    type: bool
    default: true
  held:
    description: Packages whose hold may be passed over, beside O(packages).
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: See that ROCm can be installed beside what is there
  instinct.bringup.apt_ready:
    packages:
      - rocm-hip-sdk=*.50402-*
    sources:
      - https://repo.radeon.com/rocm/apt/5.4.2
"""

RETURN = r"""
installs:
  description: The packages that apt would install or upgrade.
  returned: success
  type: list
  elements: str
  sample:
    - rocm-hip-sdk
    - rocm-core
missed:
  description: A sentence for each list of the site's own that could not be read, with its URL.
  returned: success
  type: list
  elements: str
  sample: []
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.apt_install import (
    InstallRefused,
    read_lists,
    refuse_removals,
)
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import run_command
from ansible_collections.instinct.bringup.plugins.module_utils.fetch import secrets_of
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import PackageError


def main() -> None:
    """Read the options, read the lists, simulate, report."""
    module = AnsibleModule(
        argument_spec={
            "packages": {"type": "list", "elements": "str", "default": []},
            "sources": {"type": "list", "elements": "str", "default": []},
            "update": {"type": "bool", "default": True},
            "held": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    params = module.params
    for url in params["sources"]:
        module.no_log_values.update(secrets_of(url))
    try:
        missed = read_lists(run_command, params["sources"]) if params["update"] else []
        installs = refuse_removals(run_command, params["packages"], params["held"]) if params["packages"] else []
    except (InstallRefused, PackageError) as error:
        module.fail_json(msg=str(error))
    for sentence in missed:
        module.warn(sentence)
    module.exit_json(changed=False, installs=installs, missed=missed)


if __name__ == "__main__":
    main()
