# SPDX-License-Identifier: Apache-2.0
"""Rules that hold for the whole repository and for the collection in it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
COLLECTION = REPOSITORY / "python_modules"
NODE_SIDE = sorted(
    path for folder in ("modules", "module_utils") for path in (COLLECTION / "plugins" / folder).rglob("*.py")
)
CODE = {".py", ".sh"}
LINKS = {
    "collections/ansible_collections/instinct/bringup": "python_modules",
    "python_modules/roles": "roles",
    "python_modules/CHANGELOG.md": "CHANGELOG.md",
    "python_modules/LICENSE": "LICENSE",
}
# In the standard library of the controller's Python, but gone in 3.12 or 3.13, which a node may have.
GONE = {
    "aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils", "imghdr", "imp",
    "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes", "sndhdr", "smtpd", "spwd", "sunau", "telnetlib",
    "uu", "xdrlib",
}  # fmt: skip
OURS = ("ansible.module_utils.", "ansible_collections.instinct.bringup.plugins.module_utils.")
# Written apart, so that this file does not name what it looks for.
REGISTRIES = [".".join(words) for words in (
    ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("galaxy", "ansible", "com"),
    ("deb", "debian", "org"), ("archive", "ubuntu", "com"), ("docker", "io"), ("ghcr", "io"), ("quay", "io"),
)]  # fmt: skip
FREE_COMMAND = re.compile(r"^\s*(?:- )?(?:ansible\.builtin\.)?(?:shell|command|raw):")


def tracked() -> list[Path]:
    """Return every text file of the repository that git has or would take."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode != 0:
        pytest.skip("this is not a git checkout")
    paths = (REPOSITORY / name for name in listing.stdout.split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink() and b"\0" not in path.read_bytes()]


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def may_be_imported(name: str) -> bool:
    top = name.split(".")[0]
    return (top in sys.stdlib_module_names and top not in GONE) or f"{name}.".startswith(OURS)


def tasks_with_free_commands(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and task text (with the comments above it) of each shell, command or raw task."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if FREE_COMMAND.match(line):
            start = number
            while start > 0 and lines[start].strip() and not lines[start].lstrip().startswith("- name:"):
                start -= 1
            while start > 0 and lines[start - 1].lstrip().startswith("#"):
                start -= 1
            yield number + 1, lines[start : number + 1]


def test_changelog_begins_with_the_version_of_the_collection() -> None:
    version = yaml.safe_load((COLLECTION / "galaxy.yml").read_text(encoding="utf-8"))["version"]
    headings = re.findall(r"^## (\S+)", (COLLECTION / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == version


@pytest.mark.parametrize(("link", "target"), LINKS.items(), ids=LINKS)
def test_link_leads_to_its_one_source(link: str, target: str) -> None:
    assert (REPOSITORY / link).is_symlink()
    assert (REPOSITORY / link).resolve() == REPOSITORY / target


@pytest.mark.parametrize("path", NODE_SIDE, ids=lambda path: path.stem)
def test_node_side_code_is_python_3_8(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), filename=str(path), feature_version=(3, 8))


@pytest.mark.parametrize("path", NODE_SIDE, ids=lambda path: path.stem)
def test_node_side_code_imports_the_standard_library_only(path: Path) -> None:
    assert [name for name in imports(path) if not may_be_imported(name)] == []


def test_no_file_names_a_package_registry() -> None:
    found = {
        str(path.relative_to(REPOSITORY)): host
        for path in tracked()
        for host in REGISTRIES
        if host in path.read_text(encoding="utf-8", errors="replace")
    }
    assert found == {}


def test_every_code_file_names_its_license() -> None:
    unnamed = [
        str(path.relative_to(REPOSITORY))
        for path in tracked()
        if path.suffix in CODE
        and path.stat().st_size > 0
        and "SPDX-License-Identifier: Apache-2.0" not in path.read_text(encoding="utf-8")[:500]
    ]
    assert unnamed == []


def test_every_shell_or_command_task_says_why() -> None:
    files = [REPOSITORY / "site.yml", *REPOSITORY.glob("playbooks/*.yml"), *REPOSITORY.glob("roles/*/*/**/*.yml")]
    bare = [
        f"{path.relative_to(REPOSITORY)}:{number}"
        for path in files
        if path.is_file()
        for number, text in tasks_with_free_commands(path)
        if not any(line.lstrip().startswith("#") for line in text)
    ]
    assert bare == []
