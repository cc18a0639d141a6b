# SPDX-License-Identifier: Apache-2.0
"""Make docs/variables.md from the registry: does anything read X in ROCm Y?"""

from __future__ import annotations

from ansible_collections.instinct.bringup.plugins.plugin_utils.env import registry as known
from ansible_collections.instinct.bringup.plugins.plugin_utils.env.registry import Registry, Variable, default_registry

HEAD = """\
# Variables

Made from the registry by `tools/variables.py`; change the tables in `tools/data/variables`, not this page.

**Does anything read X in ROCm Y?** Find X below: the column *read in* says from which version on, and the second
column who reads it. Not here means that nothing of the components below with a closed list reads it. For a whole file,
with its values and this node:

```
ansible-playbook -i inventory playbooks/lint-env.yml -e path=/etc/profile.d/rccl.sh
```

A release between two versions that were read and agree counts as like them, and one of the same series as the version
before it. Beyond the last version nothing is known, and the lint says `unknown`. *2024-10* is RCCL's source between
6.2 and 6.3, and HIP's of the same time.
"""


def render_variables(registry: Registry | None = None) -> str:
    """Return the page: who was read at which versions, what nothing reads, and every name in one table."""
    found = registry or default_registry()
    lines = [HEAD, "## Who reads them", "", "| component | read at | all names known | source |", "|---|---|---|---|"]
    for component in found.components.values():
        read_at = ", ".join(map(_shown, component.read_at)) or "any"
        versions = " of PyTorch" if component.versions == "torch" else ""
        closed = "yes" if component.closed else "no"
        lines.append(f"| {component.title} | {read_at}{versions} | {closed} | {component.source} |")
    lines += ["", "## Read by nothing", "", "| name | use instead | |", "|---|---|---|"]
    for name, entry in sorted(found.dead.items()):
        instead = f"`{entry['use_instead']}`" if entry.get("use_instead") else "nothing"
        lines.append(f"| `{name}` | {instead} | {entry.get('note', '')} |")
    lines += ["", "## Every name", "", "| name | component | read in | default | values | what it does |"]
    lines.append("|---|---|---|---|---|---|")
    for name in sorted(found.variables):
        lines += [_row(variable) for variable in found.variables[name]]
    return "\n".join(lines) + "\n"


def _row(variable: Variable) -> str:
    texts = [variable.does, variable.note]
    if variable.gfx:
        texts.append(f"Concerns {', '.join(variable.gfx)} only.")
    if variable.use_instead:
        texts.append(f"Where it is not read: `{variable.use_instead}`.")
    cells = [
        f"`{variable.name}`",
        variable.component.id,
        _when(variable),
        _defaults(variable),
        f"{variable.form} {variable.legal.replace('|', ' ')}".strip(),
        " ".join(text for text in texts if text) or f"see {variable.source}",
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _when(variable: Variable) -> str:
    """Return in which versions a name is read, such as "5.2.3 to 6.1.0" or "up to 5.2.1"."""
    if variable.kind == known.BUILD:
        return "builds only"
    if variable.kind == known.UNUSED:
        return "never"
    if variable.kind == known.DEBUG:
        return "debug builds only"
    if isinstance(variable.history, str):
        return "any"
    versions = variable.component.read_at
    read = [version for version in versions if known.is_read_at(variable, version)]
    if not read:
        return "never"
    first, last = read[0], read[-1]
    if first == versions[0] and last == versions[-1]:
        return f"{_shown(first)} to {_shown(last)}"
    if first == versions[0]:
        return f"up to {_shown(last)}"
    return f"from {_shown(first)}" if last == versions[-1] else f"{_shown(first)} to {_shown(last)}"


def _defaults(variable: Variable) -> str:
    """Return the default, and where it moved the first and each later one."""
    if isinstance(variable.history, str):
        return variable.history
    values: list[str] = []
    for version, default in variable.history.items():
        if default is not None and default != "?" and not default.startswith("~"):
            shown = "in code" if default == "-2" else default
            values.append(shown if not values else f"{shown} from {_shown(version)}")
    return ", ".join(values)


def _shown(version: str) -> str:
    return "2024-10" if version == known.DEVELOP else version
