# SPDX-License-Identifier: Apache-2.0
"""Write catalog/variables/*.yml from the tables in tools/data/variables, and docs/variables.md from those.

The tables are what people edit. components.tsv has a row for each program that reads variables:
read_at lists the versions whose source was read, prefixes the beginnings of names that are its own,
and closed says whether the table holds every such name. A component's table has a row a variable:

kind         runtime; build: only while something is compiled; debug: only in builds for debugging;
             unused: declared in the source, and nothing asks for the value
history      DEFAULT@VERSION parts in order. "-" is not read from there on, "~" before a default says that
             the file is in the source and not compiled, "?" that it is not known. Between two versions
             that were read and agree, a release is taken to agree too.
form, legal  what a value must look like; plugin_utils/env/values.py knows the forms
gfx          GPUs that it concerns, empty for all
"""

from __future__ import annotations

import csv
import pathlib
import sys
import typing as t

import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "collections"))

from ansible_collections.instinct.bringup.plugins.plugin_utils.env import docs  # noqa: E402

TABLES = REPOSITORY / "tools" / "data" / "variables"
CATALOG = REPOSITORY / "python_modules" / "catalog" / "variables"
PAGE = REPOSITORY / "docs" / "variables.md"

Row = dict[str, str]


def rows(name: str) -> list[Row]:
    """Return the rows of a table, each cell as text.

    :raises ValueError: a row has more or fewer cells than the heading.
    """
    with (TABLES / f"{name}.tsv").open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        found = list(reader)
    for row in found:
        if None in row or None in row.values():
            raise ValueError(f"{name}.tsv: {row['name']} has another number of cells than the heading")
    return found


def history(cell: str) -> dict[str, str | None] | str:
    """Return "0@5.2.1 | -@5.4.0" as {"5.2.1": "0", "5.4.0": None}; text without a version stays text."""
    if "@" not in cell:
        return cell
    parts = (part.strip().rpartition("@") for part in cell.split(" | "))
    return {version: None if default == "-" else default for default, _at, version in parts}


class _Dumper(yaml.SafeDumper):
    """Indents lists below their key, as yamllint wants it."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def catalog_files() -> dict[str, str]:
    """Return the text of every file of catalog/variables, by file name."""
    files = {f"{row['component']}.yml": _component(row) for row in rows("components")}
    dead = {row.pop("name"): _filled(row) for row in rows("dead")}
    files["dead.yml"] = _dump("Names that people set and nothing reads.", {"variables": dead})
    return files


def _component(row: Row) -> str:
    name = row["component"]
    head = {
        "component": name,
        "title": row["title"],
        "versions": row["versions"],
        "read_at": _words(row["read_at"]),
        "prefixes": _words(row["prefixes"]),
        "closed": row["closed"] == "yes",
        "source": row["source"],
    }
    return _dump(f"Variables that {row['title']} reads.", {**head, "variables": dict(map(_variable, rows(name)))})


def _variable(row: Row) -> tuple[str, dict[str, t.Any]]:
    entry: dict[str, t.Any] = _filled(row)
    entry["history"] = history(row["history"])
    if row["gfx"]:
        entry["gfx"] = _words(row["gfx"])
    return entry.pop("name"), entry


def _filled(row: Row) -> dict[str, t.Any]:
    return {key: value for key, value in row.items() if value}


def _words(cell: str) -> list[str]:
    return [word for word in cell.split(",") if word]


def _dump(title: str, data: dict[str, t.Any]) -> str:
    text = yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=118, allow_unicode=True)
    return f"# {title} Made by tools/variables.py from tools/data/variables.\n---\n{text}"


def main() -> int:
    """Write what is not current; with --check only name it, and exit non-zero."""
    checking = "--check" in sys.argv[1:]
    stale = _write({CATALOG / name: text for name, text in catalog_files().items()}, checking)
    stale += _write({PAGE: docs.render_variables()}, checking)
    for path in stale:
        print(f"{path.relative_to(REPOSITORY)} {'is not current; run tools/variables.py' if checking else 'written'}")
    return 1 if checking and stale else 0


def _write(wanted: dict[pathlib.Path, str], checking: bool) -> list[pathlib.Path]:
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in [] if checking else stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
