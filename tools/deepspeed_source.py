# SPDX-License-Identifier: Apache-2.0
"""Parse the source of a DeepSpeed package: its constants, functions and pydantic models by name. Nothing is run."""

from __future__ import annotations

import ast
import pathlib
import typing as t

# Where the config is read, below the package.
PARTS = (
    "runtime",
    "comm",
    "monitor",
    "profiling",
    "nebula",
    "elasticity",
    "compression",
    "compile",
    "datastates",
    "utils",
    "autotuning",
    "inference/config.py",
)


class Package:
    """Hold the parsed files of one version: its classes, functions and constants by name."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.constants: dict[str, t.Any] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        # Constants of one name may stand in several files; the file's own come first.
        self.own: dict[ast.AST, dict[str, t.Any]] = {}
        for part in PARTS:
            place = folder / "deepspeed" / part
            for path in [place] if place.suffix else sorted(place.rglob("*.py")):
                if path.is_file():
                    self._read(ast.parse(path.read_text(encoding="utf-8")))
        # runtime/config.py itself is read last, so that its names win.
        self._read(ast.parse((folder / "deepspeed/runtime/constants.py").read_text(encoding="utf-8")))
        self._read(ast.parse((folder / "deepspeed/runtime/config.py").read_text(encoding="utf-8")))

    def _read(self, tree: ast.Module) -> None:
        own: dict[str, t.Any] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                try:
                    own[node.targets[0].id] = ast.literal_eval(node.value)
                except ValueError:
                    if isinstance(node.value, ast.Dict):
                        own[node.targets[0].id] = [
                            key.value for key in node.value.keys if isinstance(key, ast.Constant)
                        ]
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
                self.own[node] = own
            elif isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
                self.own[node] = own
        self.constants.update(own)

    def is_model(self, name: str) -> bool:
        """Say whether a class is one of the pydantic models, all of which reject unknown fields."""
        node = self.classes.get(name)
        if node is None:
            return False
        bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
        return bool(bases & {"DeepSpeedConfigModel", "BaseModel"}) or any(map(self.is_model, bases))

    def values(self, annotation: ast.expr) -> str | None:
        """Return the values of the enumeration that an annotation names as "one of a, b", None where it names none."""
        for part in ast.walk(annotation):
            node = self.classes.get(part.id) if isinstance(part, ast.Name) else None
            if node is not None and any(getattr(base, "id", "") == "Enum" for base in node.bases):
                literal = [line.value for line in node.body if isinstance(line, ast.Assign)]
                found = {str(value.value) for value in literal if isinstance(value, ast.Constant)}
                return "one of " + ", ".join(sorted(found))
        return None


def kind_of(node: ast.expr) -> str:
    """Return the kind that an annotation means."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    for name, kind in (("bool", "bool"), ("float", "float"), ("int", "int"), ("str", "str")):
        if name in names and not names & ({"Dict", "dict", "List", "list", "Union"} - {name}):
            return kind
    if names & {"List", "list", "Tuple"}:
        return "list"
    if names & {"Dict", "dict"}:
        return "dict"
    return "any"
