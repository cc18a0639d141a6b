#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: fetch a repository's key, verify it, and install it as a keyring."""

from __future__ import annotations

DOCUMENTATION = r"""
module: apt_keyring
short_description: Install a repository's key after verifying it
description:
  - Fetches a key, sees that it is OpenPGP, that it is the one with the given full fingerprint, that no other key
    is with it and that it has not expired, and then writes it in binary form, for use in C(signed-by).
  - No C(gpg) and no C(apt-key) is needed on the node. The environment's proxy is used.
  - The keyring is written in one step; when anything is wrong, the present file stays as it is.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
attributes:
  check_mode:
    support: full
    details: The key is fetched and verified in check mode too.
  diff_mode:
    support: full
    details: A keyring is binary, so the diff gives its size and digest.
  idempotent:
    support: full
options:
  path:
    description: Where to write the keyring. Parents that lack are made with mode 0755.
    type: path
    required: true
  url:
    description:
      - The key, armoured or binary, over http or https. At most 1 MiB.
      - A user and password in it are masked in what the module prints.
    type: str
    required: true
  fingerprint:
    description: The full fingerprint, 40 hex digits. Spaces are allowed.
    type: str
    required: true
  timeout:
    description: Seconds to wait for the connection and for each part of the answer.
    type: int
    default: 30
seealso:
  - module: ansible.builtin.deb822_repository
"""

EXAMPLES = r"""
- name: Install AMD's key
  instinct.bringup.apt_keyring:
    path: /etc/apt/keyrings/rocm.gpg
    url: https://repo.radeon.com/rocm/rocm.gpg.key
    fingerprint: CA8BB4727A47B4D09B4EE8969386B48A1A693C5C
"""

RETURN = r"""
path:
  description: The keyring.
  returned: success
  type: str
  sample: /etc/apt/keyrings/rocm.gpg
fingerprint:
  description: The key's full fingerprint, upper case, without spaces.
  returned: success
  type: str
  sample: CA8BB4727A47B4D09B4EE8969386B48A1A693C5C
expires:
  description: When the key expires, in UTC, or null when it does not.
  returned: success
  type: str
  sample: "2030-01-01T00:00:00Z"
"""

from datetime import datetime, timezone

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.fetch import Fetcher, secrets_of
from ansible_collections.instinct.bringup.plugins.module_utils.file_writer import Wanted, WriteError, apply_files
from ansible_collections.instinct.bringup.plugins.module_utils.repository_key import (
    KeyProblem,
    fetch_key,
    normal_fingerprint,
)


def main() -> None:
    """Read the options, fetch and verify the key, write the keyring."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "url": {"type": "str", "required": True},
            # no_log: false, since "key" in a name makes Ansible suspect a secret; a fingerprint is public
            "fingerprint": {"type": "str", "required": True, "no_log": False},
            "timeout": {"type": "int", "default": 30},
        },
        supports_check_mode=True,
    )
    module.no_log_values.update(secrets_of(module.params["url"]))
    try:
        wanted = normal_fingerprint(module.params["fingerprint"])
        fetcher = Fetcher(module.params["timeout"])
        key = fetch_key(module.params["url"], wanted, fetcher.get, datetime.now(timezone.utc))
        done = apply_files([Wanted(module.params["path"], key.keyring)], module.check_mode)
    except (KeyProblem, WriteError) as error:
        module.fail_json(msg=f"{error}. The keyring {module.params['path']} was not changed")
    module.exit_json(
        changed=done["changed"],
        diff=done["diff"],
        path=module.params["path"],
        fingerprint=key.fingerprint,
        expires=key.expires,
    )


if __name__ == "__main__":
    main()
