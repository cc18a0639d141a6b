# SPDX-License-Identifier: Apache-2.0
"""Read a simple index of Python wheels (PEP 503) and say whether one fits an interpreter."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import NamedTuple, Sequence
from urllib.parse import unquote, urlsplit

from ansible_collections.instinct.bringup.plugins.module_utils.fetch import MIB, Fetch, FetchError, mask

INDEX_LIMIT = 20 * MIB
_MOST_NAMED = 8

_LEGACY_MANYLINUX = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


class WheelProblem(Exception):
    """The index has no wheel that fits; the message says what it has instead."""


class Wheel(NamedTuple):
    """A wheel file, by the parts of its name (PEP 427)."""

    file: str
    version: str
    pythons: Sequence[str]
    abis: Sequence[str]
    platforms: Sequence[str]


class Interpreter(NamedTuple):
    """What a wheel must fit: tag such as cp311, machine such as x86_64, glibc as (2, 35) or None when unknown."""

    tag: str
    machine: str
    glibc: tuple[int, int] | None


def read_index(html: str) -> list[Wheel]:
    """Return the wheels that a project page links to, in its order. Other links are passed over."""
    return [wheel for wheel in map(parse_link, links_of(html)) if wheel is not None]


def links_of(html: str) -> list[str]:
    """Return the links of a page that can be read as URLs, in its order."""
    parser = _Links()
    parser.feed(html)
    parser.close()
    return [link for link in parser.links if _is_path(link)]


def parse_link(link: str) -> Wheel | None:
    """Return the parts of the wheel that a link leads to, or None when it leads to something else."""
    return parse_wheel(unquote(urlsplit(link).path.rpartition("/")[2]))


def parse_wheel(name: str) -> Wheel | None:
    """Return the parts of a wheel's file name, or None when it is not one."""
    if not name.endswith(".whl"):
        return None
    parts = name[: -len(".whl")].split("-")
    if len(parts) not in (5, 6):
        return None
    pythons, abis, platforms = (part.split(".") for part in parts[-3:])
    return Wheel(name, normal_version(parts[1]), pythons, abis, platforms)


def normal_version(version: str) -> str:
    """Return a version in the one spelling that file names and requirements share."""
    return version.strip().lower().replace("_", ".") if "+" in version else version.strip().lower()


def normal_name(name: str) -> str:
    """Return a project's name as the index spells it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def same_version(wanted: str, offered: str) -> bool:
    """Say whether a wheel's version satisfies ==wanted: a wanted version without +local takes any local one."""
    wanted = normal_version(wanted)
    return wanted == offered or ("+" not in wanted and wanted == offered.partition("+")[0])


def fits(wheel: Wheel, interpreter: Interpreter) -> bool:
    """Say whether pip would install the wheel for the interpreter."""
    minor = int(interpreter.tag[3:])
    python = any(_python_fits(tag, abi, minor, interpreter.tag) for tag in wheel.pythons for abi in wheel.abis)
    return python and any(_platform_fits(name, interpreter) for name in wheel.platforms)


def find_wheel(index: str, name: str, version: str, interpreter: Interpreter, fetch: Fetch) -> str:
    """Return the file name of the wheel of name==version for the interpreter. WheelProblem when there is none.

    index: URL of the index, without the project's name.
    """
    page = f"{index.rstrip('/')}/{normal_name(name)}/"
    wanted = f"{name}=={version} for {interpreter.tag} on {interpreter.machine}"
    try:
        wheels = read_index(fetch(page, INDEX_LIMIT).body.decode("utf-8", "replace"))
    except FetchError as error:
        raise WheelProblem(f"{error}. Wanted {wanted}{_hint(index, error.code)}") from error
    if not wheels:
        raise WheelProblem(f"{mask(page)} answers but lists no wheel. Wanted {wanted}; is this a simple index?")
    of_version = [wheel for wheel in wheels if same_version(version, wheel.version)]
    if not of_version:
        raise WheelProblem(
            f"{mask(page)} has no {name} {version}; it has {_listed(_nearest(version, wheels))}. "
            "Take one of these versions, or the index of another release"
        )
    fitting = [wheel.file for wheel in of_version if fits(wheel, interpreter)]
    if not fitting:
        raise WheelProblem(
            f"{mask(page)} has {name} {version}, but not for {interpreter.tag} on {_system(interpreter)}; "
            f"it has {_listed(_tags(of_version))}. Use an interpreter that it has, or another release"
        )
    return fitting[0]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links.extend(value for name, value in attrs if name == "href" and value)


def _is_path(link: str) -> bool:
    try:
        urlsplit(link)
    except ValueError:
        return False
    return True


def _python_fits(tag: str, abi: str, minor: int, wanted: str) -> bool:
    if tag == wanted and abi in (wanted, "abi3", "none"):
        return True
    match = re.fullmatch(r"(cp|py)3(\d*)", tag)
    if not match:
        return False
    not_newer = match.group(2) == "" or int(match.group(2)) <= minor
    # abi3 is one promise of CPython 3 for all that follow; "none" wheels are for any from their tag on
    return not_newer and ((match.group(1) == "cp" and abi == "abi3") or (match.group(1) == "py" and abi == "none"))


def _platform_fits(name: str, interpreter: Interpreter) -> bool:
    if name in ("any", f"linux_{interpreter.machine}"):
        return True
    family, separator, machine = name.partition(f"_{interpreter.machine}")
    if not separator or machine or not family.startswith("manylinux"):
        return False
    match = re.fullmatch(r"manylinux_(\d+)_(\d+)", family)
    needed = (int(match.group(1)), int(match.group(2))) if match else _LEGACY_MANYLINUX.get(family)
    return needed is not None and (interpreter.glibc is None or interpreter.glibc >= needed)


def _nearest(version: str, wheels: Sequence[Wheel]) -> list[str]:
    """Return the versions that an index has, those that share most of their beginning with version first."""
    wanted = normal_version(version)

    def shared(offered: str) -> int:
        count = 0
        for left, right in zip(wanted, offered):
            if left != right:
                break
            count += 1
        return count

    return sorted(dict.fromkeys(wheel.version for wheel in wheels), key=lambda offered: -shared(offered))


def _tags(wheels: Sequence[Wheel]) -> list[str]:
    names = (f"{'.'.join(wheel.pythons)} ({'.'.join(wheel.platforms)})" for wheel in wheels)
    return list(dict.fromkeys(names))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _system(interpreter: Interpreter) -> str:
    if interpreter.glibc is None:
        return interpreter.machine
    return f"{interpreter.machine} with glibc {interpreter.glibc[0]}.{interpreter.glibc[1]}"


def _hint(index: str, code: int | None) -> str:
    tag = urlsplit(index).path.rstrip("/").rpartition("/")[2]
    if re.fullmatch(r"rocm\d+\.(?:\d+\.)?x", tag):
        return f"; {tag!r} was copied with its placeholder, give the release's number"
    if code == 404:
        return "; the index has no such project, or there is no index of that release: look at the URL"
    if code in (401, 403):
        return "; look at the credentials in the index's URL"
    return "; look at the mirror, the name and a proxy in between"
