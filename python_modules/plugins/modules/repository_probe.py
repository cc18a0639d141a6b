#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Ansible module: ask the repositories and the wheel index from the node, before anything changes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: repository_probe
short_description: See that everything an installation fetches is there and is signed
description:
  - Asks, from the node, for the repositories' key, each repository's signed index, single files, and the wheels.
    The key must be the pinned one and not expired; the indexes must verify against it; the wheels must fit
    the interpreter.
  - Fails with one message that names every problem, with the URL, what was answered, what was wanted and what to do.
  - A repository is asked through the proxy of apt's configuration, everything else through the environment's. A message
    names the proxy. A server that does not answer is asked once only.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
  - instinct.bringup.attributes.read_only
requirements:
  - gpgv on the node, which apt brings along
options:
  key_url:
    description: The key that signs the repositories, over http or https. Required with O(repositories).
    type: str
  key_fingerprint:
    description: The key's full fingerprint, 40 hex digits.
    type: str
  repositories:
    description: The repositories whose signed index must verify.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: What messages call it.
        type: str
        required: true
      url:
        description: The URL as in a source line.
        type: str
        required: true
      suite:
        description: The suite, such as V(jammy).
        type: str
        required: true
  urls:
    description: Single files that must be there; they are asked for with HEAD, and fetched where their digest is given.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: What messages call it.
        type: str
        required: true
      url:
        description: The URL of the file.
        type: str
        required: true
      sha256:
        description: The digest that the file must have, in hexadecimal.
        type: str
  wheel_index:
    description: The simple index (PEP 503) that must have the wheels.
    type: dict
    suboptions:
      url:
        description: The URL of the index, without a project's name.
        type: str
        required: true
      tag:
        description: The interpreter the wheels are for, such as V(cp311).
        type: str
        required: true
      wheels:
        description: Each project with its exact version; without C(+local) any local version will do.
        type: list
        elements: dict
        required: true
        suboptions:
          name:
            description: The project.
            type: str
            required: true
          version:
            description: Its version, such as V(2.0.1+rocm5.4.2).
            type: str
            required: true
  timeout:
    description: Seconds to wait for each connection and for each part of an answer.
    type: int
    default: 30
"""

EXAMPLES = r"""
- name: See that ROCm 5.4.2 and its wheels can be had
  instinct.bringup.repository_probe:
    key_url: https://repo.radeon.com/rocm/rocm.gpg.key
    key_fingerprint: CA8BB4727A47B4D09B4EE8969386B48A1A693C5C
    repositories:
      - name: rocm
        url: https://repo.radeon.com/rocm/apt/5.4.2
        suite: jammy
    wheel_index:
      url: https://download.pytorch.org/whl/rocm5.4.2
      tag: cp310
      wheels:
        - name: torch
          version: 2.0.1+rocm5.4.2
"""

RETURN = r"""
key:
  description:
    - The key's C(fingerprint) and when it C(expires), in UTC, or null when it does not.
    - Null when no key was asked for, or when it is not as it must be.
  returned: always
  type: dict
  sample:
    fingerprint: CA8BB4727A47B4D09B4EE8969386B48A1A693C5C
    expires: null
repositories:
  description:
    - The repositories that verify, with the C(file) that was signed, its C(date) and C(valid_until).
  returned: always
  type: list
  elements: dict
  sample:
    - name: rocm
      url: https://repo.radeon.com/rocm/apt/5.4.2
      suite: jammy
      file: InRelease
      date: Fri, 20 Jan 2023 10:00:00 UTC
      valid_until: null
urls:
  description: The files that are there, with the HTTP C(code).
  returned: always
  type: list
  elements: dict
  sample:
    - name: installer
      url: https://repo.radeon.com/amdgpu-install/5.4.2/ubuntu/jammy/amdgpu-install_5.4.50402-1_all.deb
      code: 200
wheels:
  description: The wheels that fit, with their C(file) name.
  returned: always
  type: list
  elements: dict
  sample:
    - name: torch
      version: 2.0.1+rocm5.4.2
      file: torch-2.0.1+rocm5.4.2-cp310-cp310-linux_x86_64.whl
problems:
  description: One sentence for each thing that is not as it must be. Empty on success.
  returned: always
  type: list
  elements: str
  sample: []
"""

import os
import platform
import re
from datetime import datetime, timezone
from typing import Any, Callable

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.instinct.bringup.plugins.module_utils.apt_proxy import proxy_for, read_proxies
from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import run_command
from ansible_collections.instinct.bringup.plugins.module_utils.fetch import Fetcher, secrets_of
from ansible_collections.instinct.bringup.plugins.module_utils.mirror_probe import (
    Probe,
    probe_repositories,
    probe_urls,
    probe_wheels,
)
from ansible_collections.instinct.bringup.plugins.module_utils.repository_key import KeyProblem, normal_fingerprint
from ansible_collections.instinct.bringup.plugins.module_utils.wheel_index import Interpreter

_NAME_AND_URL: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "url": {"type": "str", "required": True},
}
_WHEEL = {"name": {"type": "str", "required": True}, "version": {"type": "str", "required": True}}

ARGUMENTS: dict[str, Any] = {
    "key_url": {"type": "str", "no_log": False},
    "key_fingerprint": {"type": "str", "no_log": False},
    "repositories": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {**_NAME_AND_URL, "suite": {"type": "str", "required": True}},
    },
    "urls": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {**_NAME_AND_URL, "sha256": {"type": "str"}},
    },
    "wheel_index": {
        "type": "dict",
        "options": {
            "url": {"type": "str", "required": True},
            "tag": {"type": "str", "required": True},
            "wheels": {"type": "list", "elements": "dict", "required": True, "options": _WHEEL},
        },
    },
    "timeout": {"type": "int", "default": 30},
}


def probe_all(params: dict[str, Any]) -> Probe:
    """Ask for everything that the options name."""
    fetcher = Fetcher(params["timeout"])
    probe = Probe(key=None, repositories=[], urls=[], wheels=[], problems=[])
    if params["key_url"]:
        now = datetime.now(timezone.utc)
        wanted = normal_fingerprint(params["key_fingerprint"])
        repositories, of_apt = params["repositories"], apt_fetchers(params["timeout"], fetcher)
        probe = probe_repositories(params["key_url"], wanted, repositories, fetcher, of_apt, run_command, now, probe)
    probe = probe_urls(params["urls"], fetcher, probe)
    index = params["wheel_index"]
    if index:
        probe = probe_wheels(index["url"], index["wheels"], this_machine(index["tag"]), fetcher, probe)
    return probe


def apt_fetchers(timeout: int, own: Fetcher) -> Callable[[str], Fetcher]:
    """Return a function that gives a fetcher for a URL which goes the way that apt will go. One a proxy."""
    proxies = read_proxies(run_command)
    fetchers: dict[str | None, Fetcher] = {None: own}

    def fetcher_of(url: str) -> Fetcher:
        proxy = proxy_for(proxies, url)
        return fetchers.setdefault(proxy, Fetcher(timeout, proxy, "apt's configuration"))

    return fetcher_of


def this_machine(tag: str) -> Interpreter:
    """Return the interpreter with the tag on this node's machine and C library."""
    found = re.match(r"^(\d+)\.(\d+)", platform.libc_ver()[1])
    glibc = (int(found.group(1)), int(found.group(2))) if found else None
    return Interpreter(tag, os.uname().machine, glibc)


def main() -> None:
    """Read the options, probe, and fail with every problem at once."""
    module = AnsibleModule(
        argument_spec=ARGUMENTS,
        required_together=[("key_url", "key_fingerprint")],
        supports_check_mode=True,
    )
    params = module.params
    index = params["wheel_index"]
    places = [*params["repositories"], *params["urls"], *([index] if index else [])]
    for url in [params["key_url"] or "", *(place["url"] for place in places)]:
        module.no_log_values.update(secrets_of(url))
    if params["repositories"] and not params["key_url"]:
        module.fail_json(msg="repositories are given without key_url and key_fingerprint, so nothing could verify them")
    if index and not re.fullmatch(r"cp3\d+", index["tag"]):
        module.fail_json(msg=f"wheel_index.tag is {index['tag']!r}; want an interpreter's tag such as 'cp311'")
    try:
        probe = probe_all(params)
    except KeyProblem as problem:
        module.fail_json(msg=f"key_fingerprint: {problem}")
    if probe.problems:
        lines = "".join(f"\n- {problem}" for problem in probe.problems)
        module.fail_json(msg=f"{len(probe.problems)} of the sources cannot be used:{lines}", **probe._asdict())
    module.exit_json(changed=False, **probe._asdict())


if __name__ == "__main__":
    main()
