# SPDX-License-Identifier: Apache-2.0
"""Make docs/checks.md from the registered checks.

Run it from the repository root:

    PYTHONPATH=collections .venv/bin/python -m \\
        ansible_collections.instinct.bringup.plugins.plugin_utils.checks.docs > docs/checks.md
"""

from __future__ import annotations

import ast
import collections.abc as c
import functools
import inspect
import sys
import typing as t

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
A part of the machine that a captured tree does not hold is `skipped`, for every check that reads it; a hole in a part
that it holds is `unknown`. What else makes a check say `skipped` stands at the check.
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
    reads = ", ".join(f"`{area}`" for area in check.areas) or "what the plan and the other areas hold"
    cases = skip_reasons(check.function)
    skips = f"\n\nSkipped: {'; '.join(cases)}." if cases else ""
    head = f"### {check.id}\n\n{check.title}. {required} Reads {reads} of the snapshot."
    return f"{head}\n\n{check.description}{skips}\n\nRemedy: {check.remedy}\n"


def skip_reasons(function: c.Callable[..., t.Any]) -> list[str]:
    """Return why a check says skipped: the texts that it and its helpers of the same file give to skipped()."""
    module = inspect.getmodule(function)
    tree = _parsed(inspect.getsource(module)) if module else ast.Module([], [])
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: dict[str, None] = {}
    todo, done = [function.__name__], set()
    while todo:
        name = todo.pop(0)
        if name in done or name not in functions:
            continue
        done.add(name)
        for node in ast.walk(functions[name]):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                todo.append(node.func.id)
                if node.func.id == "skipped" and node.args:
                    found.update(dict.fromkeys(_texts(node.args[0], constants)))
    return list(found)


@functools.cache
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _texts(value: ast.expr, constants: dict[str, ast.expr]) -> list[str]:
    """Return the texts that an argument may be; what is only known when it runs is shown as an ellipsis."""
    if isinstance(value, ast.IfExp):
        return [*_texts(value.body, constants), *_texts(value.orelse, constants)]
    if isinstance(value, ast.Name) and value.id in constants:
        return _texts(constants[value.id], constants)
    if isinstance(value, ast.Constant):
        return [str(value.value)]
    if isinstance(value, ast.JoinedStr):
        return ["".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in value.values)]
    return []


if __name__ == "__main__":
    sys.stdout.write(render_checks())
