# SPDX-License-Identifier: Apache-2.0
"""Make docs/checks.md from the registered checks.

Run it from the repository root:

    PYTHONPATH=collections .venv/bin/python -m \\
        ansible_collections.instinct.bringup.plugins.plugin_utils.checks.docs > docs/checks.md
"""

from __future__ import annotations

import sys

from ansible_collections.instinct.bringup.plugins.plugin_utils.checks import CHECKS
from ansible_collections.instinct.bringup.plugins.plugin_utils.checks.registry import Check

HEAD = """\
# Checks

Made from the code by `plugin_utils/checks/docs.py`; change the check, not this page.

`verify` runs every check over a node's snapshot, its profile and a fresh plan of both. Each says one of:

| outcome | meaning |
|---|---|
| `ok` | looked, and it is as it should be |
| `warn` | looked, and somebody should know |
| `fail` | looked, and it is wrong |
| `unknown` | wanted to look and could not, with the reason |
| `skipped` | does not apply here, with the reason |
| `waived` | failed, and the site has waived it until a date |

A node's verdict is `fail` if any check fails, else `unknown` if a required check is unknown, else `pass`.
A part of the machine that a captured tree does not hold is `skipped`; a hole in a part that it holds is `unknown`.
"""


def render_checks() -> str:
    """Return the page, the checks in the order of their ids, a section an area."""
    lines = [HEAD]
    area = ""
    for check_id in sorted(CHECKS):
        check = CHECKS[check_id]
        if check_id.partition(".")[0] != area:
            area = check_id.partition(".")[0]
            lines.append(f"## {area}\n")
        lines.append(_section(check))
    return "\n".join(lines)


def _section(check: Check) -> str:
    required = "Required." if check.required else "Not required."
    reads = f" Reads {', '.join(f'`{area}`' for area in check.areas)} of the snapshot." if check.areas else ""
    return f"### {check.id}\n\n{check.title}. {required}{reads}\n\n{check.description}\n\nRemedy: {check.remedy}\n"


if __name__ == "__main__":
    sys.stdout.write(render_checks())
