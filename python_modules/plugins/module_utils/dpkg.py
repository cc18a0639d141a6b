# SPDX-License-Identifier: Apache-2.0
"""Read what dpkg knows: every package with its state, and which packages own the files of a tree."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from ansible_collections.instinct.bringup.plugins.module_utils.control_file import parse_stanzas
from ansible_collections.instinct.bringup.plugins.module_utils.probe import Probe, ask
from ansible_collections.instinct.bringup.plugins.module_utils.text import Tree

STATUS = "/var/lib/dpkg/status"
INFO = "/var/lib/dpkg/info"
UPDATES = "/var/lib/dpkg/updates"
EXTENDED_STATES = "/var/lib/apt/extended_states"

_QUERY = ("dpkg-query", "-W", "-f", "${Package}\\t${Architecture}\\t${Version}\\t${db:Status-Abbrev}\\n")
# The lists of a distribution's largest packages are about 1 MB.
_MAX_LIST_BYTES = 64 * 1024 * 1024

Json = Dict[str, Any]

# dpkg-query's abbreviations: what is wanted, the state, and whether a reinstallation is required.
_WANT = {"unknown": "u", "install": "i", "hold": "h", "deinstall": "r", "purge": "p"}
_ERROR = {"ok": " ", "reinstreq": "R"}
_STATE = {
    "not-installed": "n",
    "config-files": "c",
    "half-installed": "H",
    "unpacked": "U",
    "half-configured": "F",
    "triggers-awaited": "W",
    "triggers-pending": "t",
    "installed": "i",
}

Row = Tuple[str, str, str, str]


def read_dpkg(tree: Tree, probe: Optional[Probe]) -> Optional[Json]:
    """Return the snapshot's "dpkg".

    With a probe, dpkg-query is asked, which also knows what an interrupted run left in its
    journal; without one, the status file is read.
    """
    if probe is not None:
        answer = ask(tree, "dpkg", probe, _QUERY)
        rows = parse_query(answer) if answer is not None else None
        if rows is not None and not rows:
            tree.problem("dpkg", _QUERY[0], "it named no package")
            rows = None
    else:
        text = tree.read_text("dpkg", STATUS, limit=_MAX_LIST_BYTES)
        rows = parse_status(text) if text is not None else None
    if rows is None:
        return None
    return {**assemble(rows, _automatic(tree)), "interrupted": _interrupted(tree)}


def _interrupted(tree: Tree) -> bool:
    """Say whether dpkg was killed in the middle: the notes of its work are still there."""
    return any(name.isdigit() for name in tree.list_folder("dpkg", UPDATES, optional=True) or [])


def parse_query(text: str) -> List[Row]:
    """Return (name, architecture, version, state) of each line of our dpkg-query format."""
    rows: List[Row] = []
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) == 4 and fields[0]:
            rows.append((fields[0], fields[1], fields[2], fields[3].ljust(3)))
    return rows


def parse_status(text: str) -> List[Row]:
    """Return (name, architecture, version, state) of each package of a dpkg status file."""
    rows: List[Row] = []
    for _line, fields in parse_stanzas(text):
        words = fields.get("status", "").split()
        if "package" not in fields or len(words) != 3 or words[2] == "not-installed":
            continue
        state = "%s%s%s" % (_WANT.get(words[0], "?"), _STATE.get(words[2], "?"), _ERROR.get(words[1], "?"))
        rows.append((fields["package"], fields.get("architecture", ""), fields.get("version", ""), state))
    return rows


def assemble(rows: List[Row], automatic: Optional[Set[Tuple[str, str]]]) -> Json:
    """Return architecture and packages; a package of a foreign architecture is keyed name:arch.

    automatic: (name, architecture) of what was installed as a dependency, None when not known.
    """
    # dpkg itself is always of the native architecture.
    native = next((arch for name, arch, _version, _state in rows if name == "dpkg"), None)
    packages: Dict[str, Json] = {}
    for name, arch, version, state in rows:
        packages[name if arch in (native, "all", "") else "%s:%s" % (name, arch)] = {
            "version": version,
            "status": state,
            "hold": state[:1] == "h",
            "auto": None if automatic is None else _is_automatic(automatic, name, arch, native),
        }
    return {"architecture": native, "packages": packages}


def _is_automatic(automatic: Set[Tuple[str, str]], name: str, arch: str, native: Optional[str]) -> bool:
    # apt files a package of architecture "all" under the native one.
    return (name, arch) in automatic or (arch == "all" and (name, native or "") in automatic)


def parse_extended_states(text: str) -> Set[Tuple[str, str]]:
    """Return (name, architecture) of the packages that apt installed by itself."""
    return {
        (fields.get("package", ""), fields.get("architecture", ""))
        for _line, fields in parse_stanzas(text)
        if fields.get("auto-installed") == "1"
    }


def _automatic(tree: Tree) -> Optional[Set[Tuple[str, str]]]:
    if tree.presence(EXTENDED_STATES) is False:
        # apt makes the file with the first automatic package.
        return set() if tree.is_folder("/var/lib/apt") else None
    text = tree.read_text("dpkg", EXTENDED_STATES, limit=_MAX_LIST_BYTES)
    return parse_extended_states(text) if text is not None else None


class FileLists:
    """The lists of the packages' files, which dpkg keeps one file a package: read when first asked for, and once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._read = False
        self._lists: Optional[List[Tuple[str, bytes]]] = None

    def lists(self) -> Optional[List[Tuple[str, bytes]]]:
        """Return (package, its paths, each after a line break and before one), None when there is no dpkg."""
        if not self._read:
            self._read = True
            names = self._tree.list_folder("dpkg", INFO, ordered=False)
            self._lists = None if names is None else list(self._of(names))
        return self._lists

    def _of(self, names: List[str]) -> Iterator[Tuple[str, bytes]]:
        for name in names:
            if name.endswith(".list"):
                data = self._tree.read_bytes("dpkg", "%s/%s" % (INFO, name), limit=_MAX_LIST_BYTES)
                if data is not None:
                    yield name[: -len(".list")].partition(":")[0], b"\n" + data

    def below(self, folder: str) -> Optional[Dict[str, Set[str]]]:
        """Return {package: paths it owns that start with folder}, None when there is no dpkg.

        All lists are searched, whatever the package is called: a site's own package may own a file there too.
        """
        lists = self.lists()
        if lists is None:
            return None
        needle = ("\n" + folder).encode()
        owned: Dict[str, Set[str]] = {}
        for package, data in lists:
            if needle in data:
                lines = data.decode("utf-8", "surrogateescape").splitlines()
                owned.setdefault(package, set()).update(line for line in lines if line.startswith(folder))
        return owned
