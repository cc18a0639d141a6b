# SPDX-License-Identifier: Apache-2.0
"""Know the forms in which firmware versions are written, and compare an operator's minimum in its own form.

The driver writes every one of them as a number in hexadecimal; people and tools write the SMC's and the TAs' as
bytes with dots, the microcodes' as decimal numbers.
"""

from __future__ import annotations

import collections.abc as c
import dataclasses
import re
import typing as t

VBIOS = "vbios"
# Fields of fw_version/, by how people write them.
DOTTED = ("smc", "ta_ras", "ta_xgmi")
DECIMAL = ("ce", "me", "mec", "mec2", "pfp", "rlc", "rlc_srlc", "rlc_srlg", "rlc_srls", "sdma", "sdma2", "dmcu", "mc")
HEXADECIMAL = ("asd", "sos", "uvd", "vce", "vcn")
FIELDS = (VBIOS, *sorted((*DOTTED, *DECIMAL, *HEXADECIMAL)))
# 113-D67301V-073: part number's prefix, board, and the version that a release note calls IFWI 73.
_VBIOS = re.compile(r"(?P<board>\d{3}-[0-9A-Z]+)-(?P<number>\d{3})")

FORMS = {
    **dict.fromkeys(DOTTED, "two to four numbers with dots, such as 68.63.0"),
    **dict.fromkeys(DECIMAL, "a number, such as 71"),
    **dict.fromkeys(HEXADECIMAL, "a number in hexadecimal, such as 0x0027007f"),
    VBIOS: "a whole name such as 113-D67301-073, or its last number such as 073",
}


class NotComparable(ValueError):
    """A reading cannot be compared with the minimum; the message says why."""


@dataclasses.dataclass(frozen=True)
class Minimum:
    """An operator's minimum of one field. board: of a VBIOS that was named whole."""

    field: str
    text: str
    parts: tuple[int, ...]
    board: str | None = None

    def is_met(self, reading: str) -> bool:
        """Compare a reading with the minimum. Raises NotComparable."""
        if self.field == VBIOS:
            return self._vbios(reading)
        number = _number(reading)
        if number is None:
            raise NotComparable(f"{reading!r} is not a number")
        if self.field in DOTTED:
            # Four bytes: program, major, minor, debug. People often leave the program out.
            have = tuple(number.to_bytes(8, "big")[-4:])
            return have[4 - max(len(self.parts), 3) :][: len(self.parts)] >= self.parts
        return number >= self.parts[0]

    def _vbios(self, reading: str) -> bool:
        found = _VBIOS.fullmatch(reading)
        if not found:
            raise NotComparable(f"{reading!r} has no number at its end")
        if self.board is not None and found["board"] != self.board:
            raise NotComparable(f"{reading!r} is of another board than {self.text!r}: each vendor counts for itself")
        return int(found["number"]) >= self.parts[0]


def shown(field: str, reading: str) -> str:
    """Return a reading as people write that field."""
    number = _number(reading)
    if field == VBIOS or number is None or field in HEXADECIMAL:
        return reading
    if field in DOTTED:
        parts = number.to_bytes(8, "big")[-4:]
        return ".".join(str(part) for part in (parts[1:] if field == "smc" and not parts[0] else parts))
    return str(number)


def _number(reading: str) -> int | None:
    try:
        number = int(reading, 0)
    except ValueError:
        return None
    return number if 0 <= number < 1 << 64 else None


def parse_minimum(field: str, value: object) -> Minimum:
    """Return the minimum that an operator gave. Raises ValueError that names the fields or the field's form."""
    name = field.lower().removesuffix("_fw_version")
    if name not in FIELDS:
        raise ValueError(f"{field!r} is no firmware field; the fields are {', '.join(FIELDS)}")
    text = str(value).strip()
    found = _parse(name, text) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
    if found is None:
        made = f" (YAML made the number {value!r} of it: write it in quotes)" if isinstance(value, float) else ""
        raise ValueError(f"{field}: {text!r} is not {FORMS[name]}{made}")
    return found


def _parse(name: str, text: str) -> Minimum | None:
    if name == VBIOS:
        whole = _VBIOS.fullmatch(text)
        number = whole["number"] if whole else text.lstrip("-")
        if not re.fullmatch(r"\d{1,3}", number):
            return None
        return Minimum(name, text, (int(number),), whole["board"] if whole else None)
    if name in DOTTED and re.fullmatch(r"\d{1,3}(\.\d{1,3}){1,3}", text):
        parts = tuple(int(part) for part in text.split("."))
        return Minimum(name, text, parts) if max(parts) < 256 else None
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,8}", text):
        number = int(text, 16)
        return Minimum(name, text, tuple(number.to_bytes(4, "big")) if name in DOTTED else (number,))
    if name in DECIMAL and re.fullmatch(r"\d{1,10}", text):
        return Minimum(name, text, (int(text),))
    return None


def minimum_problems(given: object) -> list[str]:
    """Return what is wrong with a profile's fw_minimum, one sentence each."""
    if not given:
        return []
    if not isinstance(given, c.Mapping):
        listed = ", ".join(FIELDS)
        return [
            f"fw_minimum is {given!r}, but must name the field that it means, such as smc: 68.63.0; fields: {listed}"
        ]
    problems = []
    for field, value in given.items():
        try:
            parse_minimum(str(field), value)
        except ValueError as error:
            problems.append(f"fw_minimum: {error}")
    return problems


def readings(gpu: c.Mapping[str, t.Any], field: str) -> str | None:
    """Return a GPU's reading of a field as the driver writes it, None where there is none."""
    value = gpu.get("vbios") if field == VBIOS else (gpu.get("firmware") or {}).get(field)
    return None if value is None else str(value)
