# SPDX-License-Identifier: Apache-2.0
"""Read lists of processors as the kernel writes them."""

from __future__ import annotations

from typing import List, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.text import to_int


def parse_cpulist(text: str) -> Optional[List[int]]:
    """Return the numbers of a list such as "0-3,8"; an empty text is no CPU, None is no list."""
    numbers: List[int] = []
    for part in text.strip().split(","):
        if not part:
            continue
        first, dash, last = part.partition("-")
        low, high = to_int(first), to_int(last if dash else first)
        # A range that no machine has would only be a way to fill the memory.
        if low is None or high is None or low < 0 or high < low or high > 65535:
            return None
        numbers.extend(range(low, high + 1))
    return numbers
