#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: fetch a file of environment variables, and what its values may refer to."""

from __future__ import annotations

DOCUMENTATION = r"""
module: env_source
short_description: Fetch a file of environment variables, and what its values may refer to
description:
  - Returns the bytes of a file, and the interfaces, adapters and GPUs of the machine, for the judgement on the controller.
  - The node's side of M(instinct.bringup.env_lint). Nothing is judged and no command is run here.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
  - instinct.bringup.attributes.read_only
options:
  path:
    description: The file. One that does not exist as it stands is looked for below O(root).
    type: path
    required: true
  root:
    description:
      - Folder that holds the machine's files, C(/) for this machine itself.
      - Without it nothing but the file is read.
    type: path
seealso:
  - module: instinct.bringup.env_lint
"""

EXAMPLES = r"""
- name: Fetch the profile of all shells
  instinct.bringup.env_source:
    path: /etc/profile.d/rccl.sh
    root: /
"""

RETURN = r"""
data:
  description: The file's bytes, compressed by zlib and encoded in Base64.
  returned: success
  type: str
size:
  description: The number of bytes before both.
  returned: success
  type: int
host:
  description: Interfaces, adapters, GPUs and the files that values name, null without O(root).
  returned: success
  type: dict
"""

import base64
import os
import zlib

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.env_source import read_host, read_source
from ansible_collections.instinct.bringup.plugins.module_utils.text import reason


def main() -> None:
    """Read the options, read the file, hand both back."""
    module = AnsibleModule(
        argument_spec={"path": {"type": "path", "required": True}, "root": {"type": "path"}},
        supports_check_mode=True,
    )
    path, root = module.params["path"], module.params["root"]
    if root is not None and not os.path.isdir(root):
        module.fail_json(msg="root %s is not a folder on this machine" % root)
    try:
        data = read_source(path, root or "/")
    except OSError as error:
        module.fail_json(msg="%s cannot be read: %s" % (path, reason(error)))
    module.exit_json(
        changed=False,
        data=base64.b64encode(zlib.compress(data)).decode("ascii"),
        size=len(data),
        host=None if root is None else read_host(root, data),
    )


if __name__ == "__main__":
    main()
