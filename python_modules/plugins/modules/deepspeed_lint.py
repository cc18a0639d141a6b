#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin deepspeed_lint, which judges on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: deepspeed_lint
short_description: Say of every key of a DeepSpeed config whether that version reads it
description:
  - Judges a config before DeepSpeed does. A key that it would ignore, drop, misread or stop at is a finding, with
    the key or the value that was probably meant.
  - Keys are judged by the catalog's table of the version, which is made from the packages. The sections that
    DeepSpeed hands on whole, such as the optimizer's parameters, are judged only where a key is known.
  - Bad input is named with its line, such as a key that stands twice, V(NaN), V(1e400), a comment, or no JSON at all.
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
      - A file on the node.
      - Exactly one of O(path) and O(text) is needed.
    type: path
  text:
    description: The text itself. No connection is made.
    type: str
  form:
    description:
      - What reads the file, V(deepspeed), V(trainer) for the Hugging Face Trainer, which fills in V(auto), or V(fsdp).
      - By default it is told by the name. C(fsdp.json) is FSDP's, and a name that ends with C(_auto.json) the Trainer's.
    type: str
    default: auto
    choices:
      - auto
      - deepspeed
      - trainer
      - fsdp
  deepspeed_version:
    description:
      - The version that will read it, in quotes.
      - By default the variable C(deepspeed_version) of the host, or the one that the catalog pairs with its torch.
    type: str
  torch_version:
    description: The torch whose FSDP will read it, in quotes. By default that of the variable C(rocm_release) of the host.
    type: str
  world_size:
    description: GPUs of the job. The batch sizes are then held against it.
    type: int
seealso:
  - module: instinct.bringup.env_lint
"""

EXAMPLES = r"""
- name: Judge a config on the node
  instinct.bringup.deepspeed_lint:
    path: /etc/deepspeed/zero3.json
  register: linted

- name: Judge a line
  instinct.bringup.deepspeed_lint:
    text: '{"train_batch_size": 16, "gradiant_clipping": 1.0}'
    deepspeed_version: "0.9.3"
    world_size: 16
"""

RETURN = r"""
findings:
  description: What is wrong, in the order of the file.
  returned: success
  type: list
  elements: dict
  contains:
    line:
      description: The line, 0 where it is none in particular.
      type: int
    path:
      description: The key with the sections that it is in, joined by dots; empty for the whole.
      type: str
    verdict:
      description: >-
        V(syntax), V(duplicate), V(unknown_key), V(wrong_parent), V(not_yet), V(removed), V(bad_value), V(auto),
        V(conflict), V(deprecated), V(no_effect) or V(unknown).
      type: str
    message:
      description: A sentence with the reason and what that version does.
      type: str
    use_instead:
      description: The key or the value that does it, empty where none is known.
      type: str
  sample:
    - line: 1
      path: gradiant_clipping
      verdict: unknown_key
      message: is no key; DeepSpeed 0.9.3 ignores it. gradient_clipping is one
      use_instead: gradient_clipping
matters:
  description: Whether a finding needs correcting, which is all but V(deprecated), V(no_effect) and V(unknown).
  returned: success
  type: bool
form:
  description: What the file was judged for.
  returned: success
  type: str
deepspeed_version:
  description: The version by which it was judged.
  returned: success
  type: str
torch_version:
  description: The torch by which the settings of FSDP are judged.
  returned: success
  type: str
"""
