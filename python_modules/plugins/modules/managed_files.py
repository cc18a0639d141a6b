#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: write several whole files in one round trip."""

from __future__ import annotations

DOCUMENTATION = r"""
module: managed_files
short_description: Write several whole files in one round trip
description:
  - Makes each file regular, with the given content, mode and owner. Files that are already so are left alone.
  - Everything is checked before the first file is written, and each file is replaced in one step, so that
    a reader never sees half of one.
  - A symbolic link in the place of a file is replaced by the file; what it points to is left alone.
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
  files:
    description: The files as they must be.
    type: list
    elements: dict
    required: true
    suboptions:
      path:
        description: Absolute path. Parents that lack are made with mode 0755.
        type: str
        required: true
      content:
        description: The whole content, written as UTF-8.
        type: str
        required: true
      mode:
        description: Four octal digits, in quotes.
        type: str
        default: "0644"
      owner:
        description: Name of the owner, who must exist.
        type: str
        default: root
      group:
        description: Name of the group, which must exist.
        type: str
        default: root
  absent:
    description: Absolute paths where no file and no link may be. A directory there is an error.
    type: list
    elements: str
    default: []
seealso:
  - module: ansible.builtin.copy
"""

EXAMPLES = r"""
- name: Write the pin and the linker's path
  instinct.bringup.managed_files:
    files:
      - path: /etc/apt/preferences.d/rocm-pin-600
        content: |
          Package: *
          Pin: release o=repo.radeon.com
          Pin-Priority: 600
      - path: /etc/ld.so.conf.d/rocm.conf
        content: "/opt/rocm/lib\n"
        mode: "0644"
"""

RETURN = r"""
changed_paths:
  description: The files that were written or removed, or would be in check mode, in the order given.
  returned: success
  type: list
  elements: str
  sample:
    - /etc/ld.so.conf.d/rocm.conf
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.file_writer import (
    Wanted,
    WriteError,
    apply_files,
)

_FILE = {
    "path": {"type": "str", "required": True},
    "content": {"type": "str", "required": True},
    "mode": {"type": "str", "default": "0644"},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
}


def main() -> None:
    """Read the options, write the files, report."""
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "dict", "required": True, "options": _FILE},
            "absent": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    files = [Wanted(**{**item, "content": item["content"].encode("utf-8")}) for item in module.params["files"]]
    try:
        module.exit_json(**apply_files(files, module.check_mode, module.params["absent"]))
    except WriteError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
