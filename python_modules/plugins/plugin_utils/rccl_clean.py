# SPDX-License-Identifier: Apache-2.0
"""Clean a topology that RCCL has dumped, so that it can be given back to RCCL."""

from __future__ import annotations

import re

from ansible_collections.instinct.bringup.plugins.plugin_utils.rccl_reader import read_topology

# A comment as a whole, so that what stands in it is left alone.
_ELEMENT = re.compile(r"""<!--.*?-->|(?P<gpu><gpu (?:"[^"]*"|[^">])*>)""", re.DOTALL)
_RANK = re.compile(r' rank="[^"]*"')


def clean_topology(text: str) -> str:
    """Return the text without the ranks of the job that dumped it, everything else as it is.

    RCCL of ROCm 5.4 to 5.7 appends its own rank to one that it finds, so that a dump which is fed back
    makes two ranks of each GPU.

    :raises Rejected: RCCL's parser would not take the text, so that nothing can be said of it.
    """
    read_topology(text)
    return _ELEMENT.sub(_without_ranks, text)


def _without_ranks(found: re.Match[str]) -> str:
    return _RANK.sub("", found.group()) if found.group("gpu") else found.group()
