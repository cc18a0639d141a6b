#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: hold packages at their installed version, or free them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: apt_hold
short_description: Hold packages at their installed version, or free them
description:
  - Sets or lifts apt's hold on several packages at once. Holds on other packages are never touched.
  - The holds are read back, so that success means that dpkg has them.
  - When another process holds dpkg's lock it waits up to 600 seconds, and then names that process.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
attributes:
  check_mode:
    support: full
    details: A package that is not installed counts as one to be held, since an earlier task may be to install it.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  packages:
    description: Names of packages, without architecture or version.
    type: list
    elements: str
    required: true
  versions:
    description:
      - Shell patterns such as V(*.50402-*). Every installed package whose version matches one is meant too.
      - It is how a release is held whose packages only the installation itself makes known.
    type: list
    elements: str
    default: []
  state:
    description:
      - V(held) keeps the packages at their installed version; one that is not installed is an error.
      - V(free) lifts the hold; a package that has none is left alone.
    type: str
    choices:
      - held
      - free
    default: held
  record:
    description:
      - A file that keeps which holds this module has set, so that a later run tells them from a person's.
      - A hold that was there before is not recorded.
    type: path
    default: /var/lib/instinct-bringup/holds.json
seealso:
  - module: ansible.builtin.dpkg_selections
"""

EXAMPLES = r"""
- name: Keep the driver and the runtime at the release that was verified
  instinct.bringup.apt_hold:
    packages:
      - amdgpu-dkms
      - rocm-core
    state: held

- name: Let them move again
  instinct.bringup.apt_hold:
    packages:
      - amdgpu-dkms
      - rocm-core
    state: free
"""

RETURN = r"""
packages:
  description: The packages whose hold was set or lifted, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample:
    - rocm-core
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import run_command
from ansible_collections.instinct.bringup.plugins.module_utils.holds import FREE, HELD, record_holds, set_holds
from ansible_collections.instinct.bringup.plugins.module_utils.package_state import PackageError


def main() -> None:
    """Read the options, set the holds, report."""
    module = AnsibleModule(
        argument_spec={
            "packages": {"type": "list", "elements": "str", "required": True},
            "versions": {"type": "list", "elements": "str", "default": []},
            "state": {"type": "str", "choices": [HELD, FREE], "default": HELD},
            "record": {"type": "path", "default": "/var/lib/instinct-bringup/holds.json"},
        },
        supports_check_mode=True,
    )
    try:
        done = set_holds(
            run_command,
            module.params["packages"],
            module.params["state"],
            module.check_mode,
            module.params["versions"],
        )
        if not module.check_mode:
            record_holds(module.params["record"], done["packages"], module.params["state"])
    except PackageError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**done)


if __name__ == "__main__":
    main()
