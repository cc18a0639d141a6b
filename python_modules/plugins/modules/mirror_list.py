#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: list what a site must mirror, and check a mirror against it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mirror_list
short_description: List what a site must mirror for a profile, and check that a mirror has it
description:
  - Reads the signed indexes of the repositories, and returns every package that the wanted ones need of them, with its
    URL, size and SHA-256, the installer with its SHA-256, and the files of the wheels of a lock. A mirror that holds these,
    the key and RV(indexes) is enough.
  - With O(complete), asks for every file by HEAD and names those that do not answer.
  - Changes nothing. It runs where the repositories answer, on the controller as a rule.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
  - instinct.bringup.attributes.read_only
options:
  key_url:
    description: URL of the signing key.
    type: str
    required: true
  key_fingerprint:
    description: Its full fingerprint.
    type: str
    required: true
  repositories:
    description: The repositories, each with V(name), V(url) and V(suite).
    type: list
    elements: dict
    required: true
  packages:
    description: Names of the wanted packages, with a shell pattern of the version of each.
    type: dict
    required: true
  installer_url:
    description: URL of the amdgpu-install package. It is fetched, and its SHA-256 returned for a person to review.
    type: str
  lock:
    description: Text of the wheels' lock, in pip's form.
    type: str
    default: ""
  wheel_index:
    description: URL of the index that the wheels come from. Without it they are listed without their files.
    type: str
  complete:
    description: Ask whether every file is there.
    type: bool
    default: false
  timeout:
    description: Seconds that one request may take.
    type: int
    default: 30
"""

EXAMPLES = r"""
- name: List what ROCm 5.4.2 needs
  instinct.bringup.mirror_list:
    key_url: https://repo.radeon.com/rocm/rocm.gpg.key
    key_fingerprint: CA8BB4727A47B4D09B4EE8969386B48A1A693C5C
    repositories:
      - name: ROCm
        url: https://repo.radeon.com/rocm/apt/5.4.2
        suite: jammy
    packages:
      rocm-hip-sdk: "*.50402-*22.04"
"""

RETURN = r"""
files:
  description: Every file of the repositories, with package, version, url, sha256 and size in bytes.
  returned: success
  type: list
  elements: dict
installer:
  description: URL and SHA-256 of the installer, null without one.
  returned: success
  type: dict
indexes:
  description: URLs of the key, of the signed indexes, and of the pages that name the wheels.
  returned: success
  type: list
  elements: str
wheels:
  description: Name, version and digests of each wheel of the lock.
  returned: success
  type: list
  elements: dict
wheel_files:
  description: Every file of them, with package, version, url, and sha256 where the index says it.
  returned: success
  type: list
  elements: dict
from_distribution:
  description: Names of packages that the distribution must give.
  returned: success
  type: list
  elements: str
key:
  description: Fingerprint of the key that signed the indexes.
  returned: success
  type: str
"""

import hashlib
from datetime import datetime, timezone
from typing import Any, Dict, List

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import run_command
from ansible_collections.instinct.bringup.plugins.module_utils.fetch import Fetcher, FetchError
from ansible_collections.instinct.bringup.plugins.module_utils.mirror_list import (
    INDEX,
    Package,
    closure,
    read_index,
    wheels_of,
)
from ansible_collections.instinct.bringup.plugins.module_utils.mirror_wheels import wheel_files
from ansible_collections.instinct.bringup.plugins.module_utils.release_file import (
    Repository,
    RepositoryProblem,
    probe_repository,
)
from ansible_collections.instinct.bringup.plugins.module_utils.repository_key import KeyProblem, fetch_key

# An index of a release has some 5 MiB, the installer 20 KiB.
_LARGEST = 128 * 1024 * 1024


def main() -> None:
    """Read the indexes, list, and check when asked."""
    module = AnsibleModule(
        argument_spec={
            "key_url": {"type": "str", "required": True, "no_log": False},
            "key_fingerprint": {"type": "str", "required": True, "no_log": False},
            "repositories": {"type": "list", "elements": "dict", "required": True},
            "packages": {"type": "dict", "required": True},
            "installer_url": {"type": "str"},
            "lock": {"type": "str", "default": ""},
            "wheel_index": {"type": "str"},
            "complete": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": 30},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(changed=False, **_listed(module.params))
    except (FetchError, KeyProblem, RepositoryProblem) as problem:
        module.fail_json(msg=str(problem))


def _listed(params: Dict[str, Any]) -> Dict[str, Any]:
    fetcher, now = Fetcher(params["timeout"]), datetime.now(timezone.utc)
    key = fetch_key(params["key_url"], params["key_fingerprint"], fetcher.get, now)
    packages: List[Package] = []
    indexes = [params["key_url"]]
    for item in params["repositories"]:
        probe_repository(Repository(**item), key, fetcher.get, run_command, now)
        suite = f"{item['url'].rstrip('/')}/dists/{item['suite']}"
        release = f"{suite}/InRelease"
        indexes += [release, f"{suite}/{INDEX}"]
        text = fetcher.get(release, _LARGEST).body.decode("utf-8", "replace")
        packages += read_index(item["url"], item["suite"], text, lambda url: fetcher.get(url, _LARGEST).body)
    chosen, others, missing = closure(packages, params["packages"])
    if missing:
        raise RepositoryProblem(f"the repositories do not have {', '.join(missing)}")
    installer = None
    if params["installer_url"]:
        digest = hashlib.sha256(fetcher.get(params["installer_url"], _LARGEST).body).hexdigest()
        installer = {"url": params["installer_url"], "sha256": digest}
    wheels = wheels_of(params["lock"])
    found, pages, lacking = wheel_files(params["wheel_index"], wheels if params["wheel_index"] else [], fetcher.get)
    if params["complete"]:
        _complete(fetcher, [*(item.url for item in chosen), *(item["url"] for item in found)], lacking)
    elif lacking:
        raise RepositoryProblem("; ".join(lacking))
    return {
        "key": key.fingerprint,
        "files": [
            {"package": item.name, "version": item.version, "url": item.url, "sha256": item.sha256, "size": item.size}
            for item in chosen
        ],
        "installer": installer,
        "indexes": [*indexes, *pages],
        "wheels": wheels,
        "wheel_files": found,
        "from_distribution": others,
    }


def _complete(fetcher: Fetcher, urls: List[str], problems: List[str]) -> None:
    """Ask for every file. RepositoryProblem names what lacks, with what was found to lack before."""
    problems = list(problems)
    for url in urls:
        try:
            fetcher.head(url)
        except FetchError as error:
            problems.append(str(error))
    if problems:
        more = f" and {len(problems) - 20} more" if len(problems) > 20 else ""
        raise RepositoryProblem(f"the mirror lacks {len(problems)} files: {'; '.join(problems[:20])}{more}")


if __name__ == "__main__":
    main()
