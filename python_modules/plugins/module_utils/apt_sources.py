# SPDX-License-Identifier: Apache-2.0
"""Read apt's sources, one-line and deb822 form, the disabled ones included."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

from ansible_collections.instinct.bringup.plugins.module_utils.control_file import parse_stanzas
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

SOURCES = "/etc/apt/sources.list"
SOURCES_FOLDER = "/etc/apt/sources.list.d"

# apt passes over files with other characters in their names, and says so (apt.conf IgnoreFilesSilently).
_GOOD_NAME = re.compile(r"^[A-Za-z0-9_.-]+$")
_LINE = re.compile(
    r"^(?P<type>deb(?:-src)?)\s+(?:\[(?P<options>[^\]]*)\]\s*)?(?P<uri>\S+)\s+(?P<suite>\S+)(?P<rest>.*)$"
)
# Debian spells a scheme out in front; "cdrom:[...]" has spaces inside.
_URI = re.compile(r"^[a-z][a-z0-9+.-]*:")
# deb822 field -> option of the one-line form.
_OPTION_NAMES = {"architectures": "arch", "languages": "lang", "targets": "target"}
_MAIN_FIELDS = frozenset(("types", "uris", "suites", "components", "enabled"))

Json = Dict[str, Any]


def read_sources(tree: Tree) -> List[Json]:
    """Return the snapshot's apt "sources" in the order in which apt reads the files."""
    entries: List[Json] = []
    text = tree.read_text("apt", SOURCES, optional=True)
    if text is not None:
        entries.extend(parse_list(text, SOURCES))
    for name in sorted(tree.list_folder("apt", SOURCES_FOLDER, optional=True) or []):
        path = "%s/%s" % (SOURCES_FOLDER, name)
        parse = {"list": parse_list, "sources": parse_deb822}.get(name.rpartition(".")[2])
        if parse is None or not _GOOD_NAME.match(name) or name.startswith("."):
            continue
        text = tree.read_text("apt", path)
        if text is not None:
            entries.extend(parse(text, path))
    return entries


def parse_list(text: str, path: str) -> List[Json]:
    """Return the entries of a one-line-form text; a line that is a comment but for its # is disabled."""
    entries: List[Json] = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        enabled = not bare.startswith("#")
        found = _LINE.match(bare.lstrip("# \t"))
        if not found or not _URI.match(found.group("uri")):
            continue
        # What follows the components is a comment, such as "# disabled on upgrade to noble".
        components = found.group("rest").partition("#")[0].split()
        options = _options(found.group("options") or "")
        entries.append(
            _entry(
                path,
                number,
                enabled,
                found.group("type"),
                found.group("uri"),
                found.group("suite"),
                components,
                options,
            )
        )
    return entries


def _options(text: str) -> Dict[str, str]:
    options: Dict[str, str] = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if equals:
            options[name.rstrip("+-").lower()] = value
    return options


def parse_deb822(text: str, path: str) -> List[Json]:
    """Return the entries of a deb822 text: one for each type, URI and suite of a paragraph.

    A key given inside the paragraph is left in its option as it stands, with line ends.
    """
    entries: List[Json] = []
    for line, fields in parse_stanzas(text):
        enabled = fields.get("enabled", "yes").lower() not in ("no", "false", "without", "off", "disable", "0")
        components = fields.get("components", "").split()
        options = {
            _OPTION_NAMES.get(name, name): value if name == "signed-by" else ",".join(value.split())
            for name, value in fields.items()
            if name not in _MAIN_FIELDS
        }
        for kind, uri, suite in _products(fields):
            entries.append(_entry(path, line, enabled, kind, uri, suite, components, dict(options)))
    return entries


def _products(fields: Dict[str, str]) -> List[Tuple[str, str, str]]:
    return [
        (kind, uri, suite)
        for kind in fields.get("types", "").split()
        for uri in fields.get("uris", "").split()
        for suite in fields.get("suites", "").split()
    ]


def _entry(
    path: str, line: int, enabled: bool, kind: str, uri: str, suite: str, components: List[str], options: Dict[str, str]
) -> Json:
    return {
        "path": path,
        "line": line,
        "enabled": enabled,
        "type": kind,
        "uri": uri,
        "suite": suite,
        "components": components,
        "options": options,
    }


def key_files(entries: List[Json]) -> List[str]:
    """Return the keyring files that enabled or disabled sources name in signed-by, in order, each once."""
    files: List[str] = []
    for entry in entries:
        signed_by: Optional[str] = entry["options"].get("signed-by")
        for word in re.split(r"[,\s]+", signed_by or ""):
            if word.startswith("/") and word not in files:
                files.append(word)
    return files
