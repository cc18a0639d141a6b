# SPDX-License-Identifier: Apache-2.0
"""Write the table of variables of each role's README from its argument_specs."""

from __future__ import annotations

import json
import pathlib
import sys
import typing as t

import yaml

ROLES = pathlib.Path(__file__).resolve().parents[1] / "roles"
BEGIN = "<!-- variables: begin, made by tools/role_docs.py -->\n"
END = "<!-- variables: end -->\n"


def table(options: dict[str, dict[str, t.Any]]) -> str:
    """Return the options as a Markdown table, without what the plan itself passes."""
    rows = [
        f"| `{name}` | `{json.dumps(spec.get('default'))}` | {spec['description']} |"
        for name, spec in options.items()
        if not spec.get("required")
    ]
    if not rows:
        return "None.\n"
    return "\n".join(["| name | default | meaning |", "| --- | --- | --- |", *rows]) + "\n"


def readme(role: pathlib.Path) -> str:
    """Return a role's README with the table as its argument_specs say it."""
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    before, rest = (role / "README.md").read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}{table(specs['argument_specs']['main']['options'])}{END}{after}"


def main() -> int:
    """Rewrite the READMEs; with --check only say which are not current, and exit non-zero."""
    stale = [
        role for role in sorted(ROLES.iterdir()) if readme(role) != (role / "README.md").read_text(encoding="utf-8")
    ]
    for role in stale:
        if "--check" in sys.argv[1:]:
            print(f"{role.name}/README.md is not current; run tools/role_docs.py")
        else:
            (role / "README.md").write_text(readme(role), encoding="utf-8")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
