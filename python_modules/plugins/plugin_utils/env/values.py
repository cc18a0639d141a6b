# SPDX-License-Identifier: Apache-2.0
"""Judge a value by the form its reader takes: what a C program makes of "4M", "off" or 010."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from ansible_collections.instinct.bringup.plugins.plugin_utils.env.registry import Variable, version_key

_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
_UNIT = re.compile(r"([0-9]+) ?([kKmMgG])(?:i?[bB])?")
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_GFX = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}")
_HCA_ITEM = re.compile(r"[^\s:,]+(?::[0-9]+)?")
_GPU_ITEM = re.compile(r"-?[0-9]+|GPU-[0-9a-fA-F]+|gpu-[0-9a-fA-F]+")
# PyTorch 2.0 ends with an error at a key that it does not know.
_ALLOCATOR_KEYS = ("backend", "max_split_size_mb", "garbage_collection_threshold", "roundup_power2_divisions")
_CUDA_WORDS = {"nvl": "XGMI"}


class Versions(t.NamedTuple):
    """The releases that a value is judged for. torch: None where it is not known."""

    rocm: str
    torch: str | None


def value_problem(variable: Variable, value: str, default: str | None, versions: Versions) -> str:
    """Return what is wrong with a value, empty where it is one that the reader takes as it looks."""
    if value == default and value:
        return ""
    if value.endswith("\r"):
        return "the line ends with CR LF, and the CR becomes part of the value"
    if value != value.strip() or any(ord(letter) < 32 for letter in value):
        return f"{value!r} begins or ends with a space or holds a control character"
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return f"the quotes become part of the value {value}"
    if not value:
        return "" if variable.form in ("text", "path", "visible") else "it is empty"
    check = _CHECKS.get(variable.form)
    return check(variable, value, versions) if check else ""


def as_integer(value: str) -> int:
    """Return what C's strtoll makes of a text with base 0: the number it begins with, else 0."""
    found = _INTEGER.match(value.lstrip())
    if found is None:
        return 0
    text = found.group()
    digits = text.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX":
        octal = re.match("[0-7]+", digits)
        number = int(octal.group(), 8) if octal else 0
    else:
        number = int(digits, 16 if digits[:2].lower() == "0x" else 10)
    return -number if text[0] == "-" else number


def channels_limit(release: str) -> int:
    """Return MAXCHANNELS of a release: 32 up to 6.0, 64 in 6.1, 128 from 6.2 on."""
    key = version_key(release)
    return 32 if key < (6, 1) else 64 if key < (6, 2) else 128


def _integer(variable: Variable, value: str, versions: Versions) -> str:
    read = as_integer(value)
    if not _INTEGER.fullmatch(value):
        unit = _UNIT.fullmatch(value)
        if unit:
            number = int(unit.group(1)) * _UNITS[unit.group(2).lower()]
            return f"{value!r} is read as {read}: write {number}"
        return f"{value!r} is read as {read}: write a whole number"
    digits = value.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX":
        return f"{value!r} begins with 0 and is read as octal, {read}"
    if read == -1 and variable.name.startswith("RCCL_"):
        return "RCCL keeps -1 as its mark for a name that is not set"
    lowest, dots, highest = variable.legal.partition("..")
    if dots:
        most = channels_limit(versions.rocm) if highest == "MAXCHANNELS" else int(highest) if highest else None
        if (lowest and read < int(lowest)) or (most is not None and read > most):
            bound = f"from {lowest} to {most}" if most is not None else f"{lowest} or more"
            return f"{value} is out of range: {bound}"
    return ""


def _bool(variable: Variable, value: str, versions: Versions) -> str:
    if value in ("0", "1") or (variable.component.id == "hip" and value in ("true", "false")):
        return ""
    if variable.component.id == "rccl":
        if _INTEGER.fullmatch(value) and as_integer(value) in (0, 1):
            return ""
        return f"{value!r} is read as {as_integer(value)}: write 0 or 1"
    return f"{value!r} is neither 0 nor 1"


def _flag(variable: Variable, value: str, versions: Versions) -> str:
    return "" if value in ("0", "1") else f"{value!r} has no effect: only 1 counts"


def _word(variable: Variable, value: str, versions: Versions) -> str:
    words = variable.legal.split(",")
    return "" if value.lower() in map(str.lower, words) else f"{value!r} is none of {', '.join(words)}"


def _list(variable: Variable, value: str, versions: Versions) -> str:
    words = variable.legal.split(",")
    known = set(map(str.lower, words))
    strange = [item for item in value.removeprefix("^").split(",") if item.lower() not in known]
    return f"{', '.join(map(repr, strange))} is none of {', '.join(words)}" if strange else ""


def _level(variable: Variable, value: str, versions: Versions) -> str:
    words = variable.legal.split(",")
    if value in words or re.fullmatch("[0-5]", value):
        return ""
    meant = _CUDA_WORDS.get(value.lower()) or (value.upper() if value.upper() in words else "")
    hint = f"; here the word is {meant}" if meant else ""
    return f"{value!r} is passed over and the default stays: the words are {', '.join(words)}{hint}"


def _hca(variable: Variable, value: str, versions: Versions) -> str:
    rest = value.removeprefix("^").lstrip("=")
    bad = [item for item in rest.split(",") if not _HCA_ITEM.fullmatch(item)]
    return f"{', '.join(map(repr, bad))} is no adapter with an optional :port" if bad else ""


def _interfaces(variable: Variable, value: str, versions: Versions) -> str:
    rest = value.removeprefix("^").lstrip("=")
    bad = [item for item in rest.split(",") if not item or re.search(r"\s", item)]
    return f"{value!r} holds an empty name or a space" if bad else ""


def _visible(variable: Variable, value: str, versions: Versions) -> str:
    bad = [item for item in value.split(",") if not _GPU_ITEM.fullmatch(item.strip())]
    return f"{', '.join(map(repr, bad))} is neither an index nor GPU- with a number; the list ends there" if bad else ""


def _gfx(variable: Variable, value: str, versions: Versions) -> str:
    if _GFX.fullmatch(value):
        return ""
    return f"{value!r} is not major.minor.step in decimals; discovery of the GPUs fails (gfx90a is 9.0.10)"


def _allocator(variable: Variable, value: str, versions: Versions) -> str:
    for item in value.split(","):
        key, colon, _setting = item.partition(":")
        if not colon:
            return f"{item!r} is not key:value"
        if key == "expandable_segments" and (versions.torch or "").startswith("2.0."):
            return "expandable_segments came after PyTorch 2.0; its keys are " + ", ".join(_ALLOCATOR_KEYS)
    return ""


def _address(variable: Variable, value: str, versions: Versions) -> str:
    return "" if re.fullmatch(r".+:[0-9]+", value) else f"{value!r} is not host:port"


_CHECKS: dict[str, c.Callable[[Variable, str, Versions], str]] = {
    "int": _integer,
    "bytes": _integer,
    "bool": _bool,
    "flag": _flag,
    "word": _word,
    "list": _list,
    "level": _level,
    "hca": _hca,
    "ifname": _interfaces,
    "visible": _visible,
    "gfx": _gfx,
    "alloc": _allocator,
    "address": _address,
}
