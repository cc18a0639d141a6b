# SPDX-License-Identifier: Apache-2.0
"""Read apt's pins, and what is wrong with the files that hold them."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Tuple

from ansible_collections.instinct.bringup.plugins.module_utils.control_file import parse_stanzas
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree, to_int

PREFERENCES = "/etc/apt/preferences"
PREFERENCES_FOLDER = "/etc/apt/preferences.d"

_GOOD_NAME = re.compile(r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$")
_PIN = re.compile(r"^(version|release|origin)\b\s*(.*)$", re.IGNORECASE)

Json = Dict[str, Any]


def read_preferences(tree: Tree) -> Tuple[List[Json], List[Json]]:
    """Return the snapshot's apt "preferences" and "preference_problems", file by file as apt reads them."""
    pins: List[Json] = []
    problems: List[Json] = []
    paths = [PREFERENCES] if tree.exists(PREFERENCES) else []
    for name in sorted(tree.list_folder("apt", PREFERENCES_FOLDER, optional=True) or []):
        path = "%s/%s" % (PREFERENCES_FOLDER, name)
        if not _GOOD_NAME.match(name) or ("." in name and not name.endswith(".pref")):
            if not name.startswith("."):
                problems.append(_problem(path, 0, "apt passes over a file of this name"))
            continue
        paths.append(path)
    for path in paths:
        text = tree.read_text("apt", path)
        if text is not None:
            good, bad = parse_preferences(text, path)
            pins.extend(good)
            problems.extend(bad)
    return pins, problems


def parse_preferences(text: str, path: str) -> Tuple[List[Json], List[Json]]:
    """Return (pins, problems) of one preferences text.

    A paragraph that apt would not follow is a problem and no pin: no package, no pin, no
    priority, a priority that is 0 or no number, a pin without a value.
    """
    pins: List[Json] = []
    problems: List[Json] = []
    for number, line in enumerate(text.splitlines(), 1):
        if "\\n" in line and not line.startswith("#"):
            problems.append(
                _problem(path, number, "holds \\n as two characters: the file was written without line ends")
            )
    for number, fields in parse_stanzas(text):
        wrong = _wrong(fields)
        if wrong:
            problems.append(_problem(path, number, wrong))
            continue
        pins.append(
            {
                "path": path,
                "line": number,
                "package": fields["package"],
                "pin": fields["pin"],
                "priority": to_int(fields["pin-priority"]),
            }
        )
    return pins, problems


def _wrong(fields: Dict[str, str]) -> str:
    for name in ("package", "pin", "pin-priority"):
        if not fields.get(name):
            return "no %s: in this paragraph" % {"package": "Package", "pin": "Pin"}.get(name, "Pin-Priority")
    if not to_int(fields["pin-priority"]):
        return "Pin-Priority %r is not a number other than 0" % fields["pin-priority"][:40]
    found = _PIN.match(fields["pin"])
    if not found:
        return "Pin %r is neither version, release nor origin" % fields["pin"][:60]
    # An empty origin means local files, and is what is left when a shell ate the quotes.
    if not found.group(2).strip("\"' "):
        return "Pin %r names nothing" % fields["pin"][:60]
    return ""


def _problem(path: str, line: int, message: str) -> Json:
    return {"path": path, "line": line, "message": message}
