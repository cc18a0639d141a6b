# SPDX-License-Identifier: Apache-2.0
"""Follow a DeepSpeed config through the code that reads it: which keys each of its mappings is asked for."""

from __future__ import annotations

import ast
import collections
import typing as t

from deepspeed_source import Package, kind_of

Path = tuple[str, ...]
REMOVED = "removed"
# Functions that give back what a key holds: (mapping, key, default).
ASKING = ("get_scalar_param", "get_list_param", "get_dict_param")


class Reader:
    """Follow the config's mapping through the functions of a package."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.keys: dict[Path, dict[str, str]] = collections.defaultdict(dict)
        self.rejecting: set[Path] = set()
        self.open: set[Path] = set()
        self.deprecated: dict[Path, dict[str, str]] = collections.defaultdict(dict)
        # What functions give back of the config, by the call.
        self.returns: dict[t.Any, Path] = {}
        self._seen: set[t.Any] = set()

    def read(self) -> None:
        config = self.package.classes["DeepSpeedConfig"]
        for node in config.body:
            if isinstance(node, ast.FunctionDef):
                arguments = {"param_dict": ()} if node.name == "_initialize_params" else {}
                Function(self, node, self.package.own[config], config, arguments, {}).follow()
        for name in ("_REMOVED_TOP_LEVEL_CONFIG_KEYS", "_REMOVED_ZERO_CONFIG_KEYS"):
            path: Path = ("zero_optimization",) if "ZERO" in name else ()
            for key in self.package.constants.get(name, ()):
                self.keys[path][key] = REMOVED

    def enter(
        self,
        node: ast.FunctionDef,
        owner: ast.ClassDef | None,
        arguments: dict[str, Path],
        names: dict[str, frozenset[str]],
    ) -> Path | None:
        """Follow a function once for each way in which it is given parts of the config; return what it gives back."""
        once = (
            node,
            tuple(sorted(arguments.items())),
            tuple(sorted((key, *sorted(val)) for key, val in names.items())),
        )
        if once not in self._seen:
            self._seen.add(once)
            own = self.package.own[owner or node]
            function = Function(self, node, own, owner, arguments, names)
            function.follow()
            if function.returned is not None:
                self.returns[once] = function.returned
        return self.returns.get(once)

    def model(self, path: Path, name: str) -> None:
        """Take the fields of a pydantic model as the keys of a section."""
        if (path, name) in self._seen:
            return
        self._seen.add((path, name))
        self.rejecting.add(path)
        node = self.package.classes[name]
        own = self.package.own[node]
        for base in node.bases:
            if isinstance(base, ast.Name) and self.package.is_model(base.id):
                self.model(path, base.id)
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                self._field(path, field.target.id, field, own)

    def _field(self, path: Path, name: str, field: ast.AnnAssign, own: dict[str, t.Any]) -> None:
        options: dict[str, ast.expr] = {}
        if isinstance(field.value, ast.Call) and getattr(field.value.func, "id", "") == "Field":
            options = {word.arg: word.value for word in field.value.keywords if word.arg}
        extra = options.get("json_schema_extra")
        if isinstance(extra, ast.Dict):
            options |= {
                str(ast.literal_eval(key)): value for key, value in zip(extra.keys, extra.values, strict=True) if key
            }
        # The models may be filled by the field's name as well as by its alias.
        names = [name, *([ast.literal_eval(options["alias"])] if "alias" in options else [])]
        kind = self.package.values(field.annotation) or kind_of(field.annotation)
        optional = any(isinstance(part, ast.Name) and part.id == "Optional" for part in ast.walk(field.annotation))
        for bound, sign in (("gt", ">"), ("ge", ">=")):
            if bound in options and kind in ("int", "float"):
                kind += f" {sign} {ast.literal_eval(options[bound])}"
        nested = [part.id for part in ast.walk(field.annotation) if isinstance(part, ast.Name)]
        models = [part for part in nested if self.package.is_model(part)]
        if optional and kind != "any":
            kind += " or null"
        for spelled in names:
            self.keys[path][spelled] = "section" if models else kind
            for model in models:
                self.model((*path, spelled), model)
            if "deprecated" in options:
                new = options.get("new_param")
                self.deprecated[path][spelled] = str(ast.literal_eval(new)) if new else ""


class Function(ast.NodeVisitor):
    """Follow one function's statements. paths: names that are a part of the config; names: those that are keys."""

    def __init__(
        self,
        reader: Reader,
        node: ast.FunctionDef,
        own: dict[str, t.Any],
        owner: ast.ClassDef | None,
        paths: dict[str, Path],
        names: dict[str, frozenset[str]],
    ) -> None:
        self.reader, self.node, self.own, self.owner = reader, node, own, owner
        self.paths = dict(paths)
        self.names = dict(names)
        self.returned: Path | None = None
        count = len(node.args.defaults)
        for argument, default in zip(node.args.args[len(node.args.args) - count :], node.args.defaults, strict=True):
            if argument.arg not in self.names and (values := self.texts(default)):
                self.names[argument.arg] = values

    def follow(self) -> None:
        for statement in self.node.body:
            self.visit(statement)

    def texts(self, node: ast.expr) -> frozenset[str]:
        """Return the keys that an expression may be, none where that is not known."""
        if isinstance(node, ast.Constant):
            return frozenset({node.value} if isinstance(node.value, str) else ())
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.names[node.id]
            value = self.own.get(node.id, self.reader.package.constants.get(node.id))
            return frozenset({value} if isinstance(value, str) else ())
        if isinstance(node, ast.List | ast.Tuple):
            return frozenset().union(*(self.texts(entry) for entry in node.elts))
        return frozenset()

    def path(self, node: ast.expr) -> Path | None:
        """Return which part of the config an expression is, None where it is none."""
        if isinstance(node, ast.Name):
            return self.paths.get(node.id)
        if isinstance(node, ast.Attribute) and node.attr == "_param_dict":
            return ()
        if isinstance(node, ast.Subscript):
            base, keys = self.path(node.value), self.texts(node.slice)
            return (*base, sorted(keys)[0]) if base is not None and len(keys) == 1 else None
        if isinstance(node, ast.IfExp):
            return self.path(node.body)
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("copy", "deepcopy") and node.args:
                return self.path(node.args[0])
            if name in ("get", "pop") and isinstance(node.func, ast.Attribute) and node.args:
                base, keys = self.path(node.func.value), self.texts(node.args[0])
                return (*base, sorted(keys)[0]) if base is not None and len(keys) == 1 else None
            return None if name in ASKING else self.called(name, node)
        return None

    def asked(self, base: Path | None, keys: frozenset[str], default: ast.expr | None = None) -> None:
        if base is None:
            return
        if not keys and base:
            self.reader.open.add(base)
        for key in keys:
            kind = self._kind(default)
            known = self.reader.keys[base].get(key, "any")
            self.reader.keys[base][key] = known if kind == "any" else kind

    def _kind(self, default: ast.expr | None) -> str:
        value: t.Any = None
        if isinstance(default, ast.Name):
            value = self.own.get(default.id, self.reader.package.constants.get(default.id))
        elif isinstance(default, ast.Constant):
            value = default.value
        kinds = {bool: "bool", int: "number", float: "number", str: "str", list: "list"}
        return kinds.get(type(value), "any")

    def visit_Assign(self, node: ast.Assign) -> None:
        found = self.path(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name) and found is not None:
                self.paths[target.id] = found
            elif isinstance(target, ast.Attribute) and found:
                # Kept whole for somebody else, such as the optimizer.
                self.reader.open.add(found)
        self.visit(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.returned = self.path(node.value) or self.returned
            self.visit(node.value)

    def visit_For(self, node: ast.For) -> None:
        values = self.texts(node.iter) if isinstance(node.target, ast.Name) else frozenset()
        for value in sorted(values):
            self.names[t.cast(ast.Name, node.target).id] = frozenset({value})
            self.generic_visit(node)
        if not values:
            self.generic_visit(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        for generator in node.generators:
            if isinstance(generator.target, ast.Name) and (values := self.texts(generator.iter)):
                self.names[generator.target.id] = values
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            where = node.comparators[0]
            if isinstance(where, ast.Call) and getattr(where.func, "attr", "") == "keys":
                where = t.cast(ast.Attribute, where.func).value
            if self.path(where) is not None and self.texts(node.left):
                self.asked(self.path(where), self.texts(node.left))
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.asked(self.path(node.value), self.texts(node.slice))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in ASKING and len(node.args) > 1:
            default = node.args[2] if len(node.args) > 2 else None
            self.asked(self.path(node.args[0]), self.texts(node.args[1]), default)
        elif name in ("get", "pop") and isinstance(node.func, ast.Attribute) and node.args:
            self.asked(self.path(node.func.value), self.texts(node.args[0]), node.args[1] if node.args[1:] else None)
        elif name in ("items", "values", "update") and isinstance(node.func, ast.Attribute):
            found = self.path(node.func.value)
            if found:
                self.reader.open.add(found)
        else:
            self.called(name, node)
        self.generic_visit(node)

    def called(self, name: str, node: ast.Call) -> Path | None:
        """Follow a call of the package's own; return which part of the config it gives back."""
        package = self.reader.package
        whole = [self.path(word.value) for word in node.keywords if word.arg is None]
        if package.is_model(name):
            for found in whole:
                if found is not None:
                    self.reader.model(found, name)
            if not node.args and not any(whole) and name == "DeepSpeedMonitorConfig":
                self._monitors(name)
            return None
        owner: ast.ClassDef | None = None
        target: ast.FunctionDef | None = None
        if name in package.classes:
            owner = package.classes[name]
        elif self.owner is not None and isinstance(node.func, ast.Attribute):
            owner = self.owner
        if owner is not None:
            wanted = "__init__" if name in package.classes else name
            methods = {part.name: part for part in owner.body if isinstance(part, ast.FunctionDef)}
            target = methods.get(wanted)
        elif name in package.functions:
            target = package.functions[name]
        if target is None:
            return None
        arguments = [argument.arg for argument in target.args.args if argument.arg != "self"]
        given = [
            *zip(arguments, node.args, strict=False),
            *((word.arg, word.value) for word in node.keywords if word.arg),
        ]
        paths = {argument: found for argument, value in given if (found := self.path(value)) is not None}
        names = {argument: texts for argument, value in given if (texts := self.texts(value))}
        return self.reader.enter(target, owner, paths, names) if paths else None

    def _monitors(self, name: str) -> None:
        """Take the fields of the monitors' model, which is filled from sections of the top by a comprehension."""
        inner = Reader(self.reader.package)
        inner.model((), name)
        for path, keys in inner.keys.items():
            self.reader.keys[path].update(keys)
        self.reader.rejecting |= inner.rejecting - {()}
