#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin env_lint, which judges on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: env_lint
short_description: Say of every variable in a file whether anything reads it
description:
  - Judges each assignment whose name has to do with RCCL, ROCm, PyTorch, UCX, Open MPI or DeepSpeed, or nearly so.
  - Names are judged by the registry of the ROCm release, values by what their reader makes of them, and both by the
    node where O(root) is given. docs/variables.md lists the names.
  - No command is ever run and nothing is expanded. A value that a command or another variable makes is V(unknown).
  - An action plugin. The file is fetched from the node in one round trip and judged on the controller.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
  - instinct.bringup.attributes.read_only
options:
  path:
    description:
      - A file on the node, such as a shell script, C(/etc/environment), C(/etc/rccl.conf), a Slurm batch script, a
        C(.deepspeed_env), a systemd unit, a module file, or C(/proc/PID/environ).
      - Exactly one of O(path) and O(text) is needed.
    type: path
  text:
    description: The text itself. No connection is made.
    type: str
  form:
    description: What reads the file. By default it is told by the path and the text.
    type: str
    default: auto
    choices:
      - auto
      - shell
      - slurm
      - environment
      - rccl_conf
      - deepspeed_env
      - systemd_environment
      - systemd_unit
      - module_file
      - process
  rocm_release:
    description: The ROCm release, in quotes. By default the variable C(rocm_release) of the host.
    type: str
  gpu_model:
    description: The GPU model, a file of C(catalog/gpus). By default the variable C(gpu_model) of the host.
    type: str
  root:
    description:
      - Folder that holds the files of the machine that values refer to, C(/) for the node itself.
      - Interfaces, adapters, GPUs and topology files are then looked at. Without it values are judged by their form alone.
      - With O(text) it is a folder on the controller.
    type: path
seealso:
  - module: instinct.bringup.rccl_topology_lint
"""

EXAMPLES = r"""
- name: Judge what every shell of the node sets
  instinct.bringup.env_lint:
    path: /etc/profile.d/rccl.sh
    rocm_release: "5.4.2"
    root: /
  register: linted

- name: Judge a line
  instinct.bringup.env_lint:
    text: export RCCL_BUFFSIZE=4M
    rocm_release: "5.4.2"
    gpu_model: mi210
"""

RETURN = r"""
findings:
  description: One for each assignment whose prefix is known or nearly known, in the order of the file.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The name.
      type: str
    line:
      description: The line of the file, or the entry of a process's environment.
      type: int
    verdict:
      description: >-
        V(unread), V(typo), V(obsolete), V(not_yet), V(build_time_only), V(bad_value), V(conflict), V(unknown) or V(ok).
      type: str
    message:
      description: A sentence with the reason.
      type: str
    use_instead:
      description: The name that does it, empty where none does.
      type: str
  sample:
    - name: RCCL_BUFFSIZE
      line: 1
      verdict: unread
      message: nothing reads it; NCCL_BUFFSIZE is the name. It counts bytes.
      use_instead: NCCL_BUFFSIZE
notes:
  description: Lines that are no assignment, and what was not looked at.
  returned: success
  type: list
  elements: dict
form:
  description: What the file was read as.
  returned: success
  type: str
matters:
  description: Whether a finding needs correcting, which is all but V(ok), V(unknown) and V(build_time_only).
  returned: success
  type: bool
table:
  description: The findings as lines of text, those that matter first.
  returned: success
  type: list
  elements: str
"""
