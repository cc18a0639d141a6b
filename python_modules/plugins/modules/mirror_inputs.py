#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin mirror_inputs, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mirror_inputs
short_description: Say what a profile fetches, for each distribution release that it can stand on
description:
  - Works on the controller, from the catalog and the host's variables; no connection is made.
version_added: "0.1.0"
author:
  - instinct-bringup contributors
extends_documentation_fragment:
  - instinct.bringup.attributes
  - instinct.bringup.attributes.read_only
options:
  codenames:
    description: Codenames such as V(jammy). Empty, all that the ROCm release is made for.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Say what the profile fetches
  instinct.bringup.mirror_inputs:
    codenames:
      - jammy
"""

RETURN = r"""
inputs:
  description: For each codename, what M(instinct.bringup.mirror_list) takes, and the codename.
  returned: success
  type: list
  elements: dict
"""
