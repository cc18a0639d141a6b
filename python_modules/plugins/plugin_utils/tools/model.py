# SPDX-License-Identifier: Apache-2.0
"""Say what a tool told, in one form for every tool and release. What it did not tell is None."""

from __future__ import annotations

import dataclasses

# How tools write that they do not know. Not 0, and no fault.
NOT_KNOWN = frozenset({"", "N/A", "NA", "NONE", "UNKNOWN", "NOT SUPPORTED", "NULL"})
SELF = frozenset({"0", "SELF", "N/A", "-", "X"})


@dataclasses.dataclass
class ToolGpu:
    """One GPU as a tool shows it.

    index: the tool's own number, which is no address. bdf: in lower case with its domain. device_id: "740f".
    model_id: what the tool calls the model, which on MI210 is the subsystem's id before ROCm 6.1.
    """

    index: int
    bdf: str | None = None
    device_id: str | None = None
    model_id: str | None = None
    vbios: str | None = None
    node: int | None = None
    numa_node: int | None = None
    vram_bytes: int | None = None
    firmware: dict[str, str] = dataclasses.field(default_factory=dict)
    pcie: str | None = None
    partition: int | None = None


@dataclasses.dataclass
class ToolOutput:
    """What one output told.

    links: {(index, index): "XGMI" or "PCIE"}. weights: the same of weights. warnings: lines that are no part of the
    report. readable: whether anything of the report was understood; an empty table is, with no GPU in it.
    """

    gpus: list[ToolGpu] = dataclasses.field(default_factory=list)
    links: dict[tuple[int, int], str] = dataclasses.field(default_factory=dict)
    weights: dict[tuple[int, int], int] = dataclasses.field(default_factory=dict)
    warnings: list[str] = dataclasses.field(default_factory=list)
    driver: str | None = None
    readable: bool = False

    def gpu(self, index: int) -> ToolGpu:
        """Return the GPU of an index, a new one where there is none yet."""
        for gpu in self.gpus:
            if gpu.index == index:
                return gpu
        self.gpus.append(ToolGpu(index))
        return self.gpus[-1]


def known(text: object) -> str | None:
    """Return a text, None for one of the ways to say that it is not known."""
    value = str(text).strip()
    return None if value.upper() in NOT_KNOWN else value


def whole(text: object) -> int | None:
    """Return a whole number, None for anything else."""
    value = known(text)
    if value is None:
        return None
    try:
        return int(value, 0)
    except ValueError:
        return None


def bdf_of(text: object) -> str | None:
    """Return "0000:63:00.0" of a PCI address in any spelling, None for anything else."""
    value = (known(text) or "").lower()
    parts = value.split(":")
    if len(parts) == 2:
        parts = ["0000", *parts]
    if len(parts) != 3 or "." not in parts[2]:
        return None
    device, _, function = parts[2].partition(".")
    fields = [(parts[0], 4), (parts[1], 2), (device, 2), (function, 1)]
    if not all(field and all(letter in "0123456789abcdef" for letter in field) for field, _width in fields):
        return None
    domain, bus, slot, number = (field.zfill(width) for field, width in fields)
    return f"{domain}:{bus}:{slot}.{number}"


def hex_id(text: object) -> str | None:
    """Return "740f" of 0x740f or 740F; None for a name."""
    value = (known(text) or "").lower().removeprefix("0x")
    return value if 3 <= len(value) <= 4 and all(letter in "0123456789abcdef" for letter in value) else None
