# SPDX-License-Identifier: Apache-2.0
"""Judge one value of a config by the kind that its key wants."""

from __future__ import annotations

import math
import re
import typing as t

# "500MB", "5e8", "50_000_000": what people write as text for a number.
_NUMBER = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([KMGT]?)i?(B?)\s*", re.IGNORECASE)
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


class Wrong(t.NamedTuple):
    """Say what is wrong with a value, and what to write instead, empty where that is not known."""

    message: str
    use_instead: str = ""


def judge(kind: str, value: t.Any, strict: bool, truncates: bool) -> Wrong | None:
    """Return what is wrong with a value, None where nothing is.

    kind: as in the catalog's keys.yml. strict: a model checks the value, else it is taken as it stands.
    truncates: the model takes 5.5 as 5.
    """
    wanted, _null, _or = kind.partition(" or null")
    if value is None:
        fine = wanted != kind or wanted in ("any", "open", "section")
        return None if fine else Wrong("null is no value here; leave the key out for its default")
    if isinstance(value, float) and not math.isfinite(value):
        return Wrong("it is no finite number")
    word, _space, bound = wanted.partition(" ")
    if word == "one":
        return _one_of(bound.removeprefix("of ").split(", "), value)
    if word == "bool":
        return _bool(value, strict)
    if word in ("int", "number", "float"):
        return _number(word, bound, value, strict, truncates)
    names = {
        "str": (str, "text"),
        "list": (list, "a list"),
        "dict": (dict, "a mapping"),
        "section": (dict, "a mapping"),
    }
    if word in names and not isinstance(value, names[word][0]):
        return Wrong(f"{_shown(value)} is not {names[word][1]}")
    return None


def _one_of(choices: list[str], value: t.Any) -> Wrong | None:
    numbers = all(choice.isdigit() for choice in choices)
    fitting = isinstance(value, int) and not isinstance(value, bool) if numbers else isinstance(value, str)
    if fitting and str(value) in choices:
        return None
    if numbers and isinstance(value, str) and value in choices:
        return Wrong(f"{_shown(value)} is text; a number stands without quotes", value)
    return Wrong(f"{_shown(value)} is none of {', '.join(choices)}")


def _bool(value: t.Any, strict: bool) -> Wrong | None:
    if isinstance(value, bool):
        return None
    word = str(value).strip().lower()
    meant = {"true": "true", "1": "true", "yes": "true", "on": "true"}.get(word)
    meant = meant or {"false": "false", "0": "false", "no": "false", "off": "false"}.get(word, "")
    if isinstance(value, str):
        effect = "" if strict else '; nothing checks it, and any text counts as true, even "false"'
        return Wrong(f"{_shown(value)} is text, not true or false, which stand without quotes{effect}", meant)
    return Wrong(f"{_shown(value)} is not true or false", meant)


def _number(word: str, bound: str, value: t.Any, strict: bool, truncates: bool) -> Wrong | None:
    if isinstance(value, str):
        return _text(value, word)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Wrong(f"{_shown(value)} is no number")
    if word == "int" and isinstance(value, float):
        if not value.is_integer():
            effect = f"this DeepSpeed takes it as {int(value)} without a word" if truncates else "DeepSpeed stops at it"
            return Wrong(f"{value} is no whole number; {effect if strict else 'it is taken as it stands'}")
        if not strict:
            return Wrong(f"{value} is written as a fraction, and nothing makes it whole", str(int(value)))
    sign, _space, least = bound.partition(" ")
    if sign and (value < float(least) or (sign == ">" and value == float(least))):
        return Wrong(f"{value} is too small; it must be {'above' if sign == '>' else 'at least'} {float(least):g}")
    return None


def _text(value: str, word: str) -> Wrong:
    """Say how a number that stands as text is written."""
    found = _NUMBER.fullmatch(value)
    if found is None:
        return Wrong(f"{_shown(value)} is text, and a number is wanted")
    number = float(found[1].replace("_", "")) * 1000 ** _POWER[found[2].upper()]
    plain = str(int(number)) if number.is_integer() else f"{number:g}"
    if found[2] or found[3]:
        return Wrong(
            f"{_shown(value)} is text with a unit, and a plain number is wanted; bucket sizes count elements, not bytes, "
            "which are 2 bytes each in half precision",
            plain if not found[3] else str(int(number) // 2),
        )
    fraction = word == "int" and not number.is_integer()
    return Wrong(f"{_shown(value)} is text; a number stands without quotes", "" if fraction else plain)


def _shown(value: t.Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "…"
