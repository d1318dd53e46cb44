"""The names that modules bind, followed through imports to their definitions, without running them.

`names_of_version_1.py` reads TensorFlow 1.15's sources by it.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

_PREFIXES = ("tensorflow_core.", "tensorflow.")
_DEPTH = 12


@dataclass(frozen=True)
class Binding:
    """A name's definition: a statement or an expression of a module, or a module.

    `module` is the path of the module that contains the node; `node` is None if the name stands
    for a module, or for something outside the sources.
    """

    module: str
    node: ast.AST | None

    @property
    def is_value(self) -> bool:
        """Whether the name is a function, a class or a value, not a module."""
        return self.node is not None


class Bindings:
    """The names of all modules below a folder, read when they are first needed."""

    def __init__(self, root: Path) -> None:
        self.files: dict[str, Path] = {}
        for file in sorted(root.rglob("*.py")):
            parts = file.relative_to(root).with_suffix("").parts
            self.files[".".join(parts).removesuffix("__init__").rstrip(".")] = file
        self._open: set[str] = set()
        self._read: dict[str, dict[str, ast.AST]] = {}
        self.tree = functools.cache(self._tree)

    def _tree(self, path: str) -> ast.Module:
        return ast.parse(self.files[path].read_bytes())

    def names(self, path: str) -> dict[str, ast.AST]:
        """Return the names of a module with the statements that bind them, stars included."""
        if path in self._read:
            return self._read[path]
        if path in self._open:
            return {}
        self._open.add(path)
        names: dict[str, ast.AST] = {}
        self._visit(self.tree(path).body, names)
        for name in self._below(path):
            names.setdefault(name, ast.Import([ast.alias(f"tensorflow.{path}.{name}", name)]))
        self._open.discard(path)
        self._read[path] = names
        return names

    @functools.cache  # noqa: B019 - one object, which lives as long as the program
    def _children(self) -> dict[str, list[str]]:
        children: dict[str, list[str]] = {}
        for path in self.files:
            module, _, name = path.rpartition(".")
            children.setdefault(module, []).append(name)
        return children

    def _below(self, path: str) -> list[str]:
        return self._children().get(path, [])

    def _visit(self, body: list[ast.stmt], names: dict[str, ast.AST]) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names[node.name] = node
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    for inner in ast.walk(target):
                        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                            names[inner.id] = node
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self._imported(node, names)
            elif isinstance(node, ast.Delete):
                for deleted in node.targets:
                    names.pop(getattr(deleted, "id", ""), None)
            else:
                for part in ("body", "orelse", "finalbody"):
                    self._visit(getattr(node, part, []), names)
                for handler in getattr(node, "handlers", []):
                    self._visit(handler.body, names)

    def _imported(self, node: ast.Import | ast.ImportFrom, names: dict[str, ast.AST]) -> None:
        for alias in node.names:
            if alias.name != "*":
                name = (alias.asname or alias.name).partition(".")[0]
                names[name] = _one(node, alias)
                continue
            source = _path(getattr(node, "module", "") or "")
            if source in self.files:
                listed = _all(self.tree(source))
                for name, statement in list(self.names(source).items()):
                    is_own = not isinstance(statement, ast.Import | ast.ImportFrom)
                    is_meant = listed is None and not name.startswith("_")
                    if name in (listed or ()) or (is_meant and (is_own or _is_contrib(statement))):
                        names[name] = _link(source, name) if is_own else statement

    def module_of(self, path: str, name: str) -> str | None:
        """Return the path of the module that a name of a module stands for; None for values."""
        node = self.names(path).get(name)
        if isinstance(node, ast.Import):
            target = _path(node.names[0].name)
            return target if target in self.files else None
        if isinstance(node, ast.ImportFrom):
            module, inner = _path(node.module or ""), node.names[0].name
            whole = f"{module}.{inner}" if module else inner
            if whole in self.files:
                return whole
            if module in self.files and module != path:
                return self.module_of(module, inner)
        return None

    def imported_modules(self, path: str) -> set[str]:
        """Return the names that import statements of a module bind."""
        nodes = [node for node in ast.walk(self.tree(path)) if isinstance(node, ast.ImportFrom)]
        return {alias.asname or alias.name for node in nodes for alias in node.names}

    def resolve(self, path: str, name: str, depth: int = _DEPTH) -> Binding | None:
        """Return the definition of a name of a module; None if it cannot be found."""
        node = self.names(path).get(name)
        if node is None or depth == 0:
            return None
        if isinstance(node, ast.Import):
            return Binding(path, None)
        if not isinstance(node, ast.ImportFrom):
            return self._aliased(path, node, depth)
        module, inner = _path(node.module or ""), node.names[0].name
        whole = f"{module}.{inner}" if module else inner
        if module in self.files and (module != path or inner != name):
            found = self.resolve(module, inner, depth - 1)
            if found is not None and found.node is not None:
                return found
        if whole in self.files or module not in self.files:
            return Binding(path, None)
        return None

    def _aliased(self, path: str, node: ast.AST, depth: int) -> Binding:
        """Follow `a = b` and `a = module.b` to their definitions."""
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        found = self.expression(path, value, depth) if value is not None else None
        return found or Binding(path, node)

    def expression(self, path: str, value: ast.AST, depth: int = _DEPTH) -> Binding | None:
        """Return the definition that an expression names: `b`, `module.b`, `decorator(b)`."""
        if isinstance(value, ast.Name) and value.id in self.names(path):
            return self.resolve(path, value.id, depth - 1)
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
            module = self.module_of(path, value.value.id)
            return self.resolve(module, value.attr, depth - 1) if module else None
        is_decorated = isinstance(value, ast.Call) and isinstance(value.func, ast.Call)
        if isinstance(value, ast.Call) and is_decorated and len(value.args) == 1:
            return self.expression(path, value.args[0], depth - 1)
        return None


def _is_contrib(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and "tensorflow.contrib" in (node.module or "")


def _one(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.AST:
    if isinstance(node, ast.Import):
        name = alias.name if alias.asname else alias.name.partition(".")[0]
        return ast.Import([ast.alias(name)])
    return ast.ImportFrom(node.module, [alias], node.level)


def _link(module: str, name: str) -> ast.ImportFrom:
    return ast.ImportFrom(f"tensorflow.{module}", [ast.alias(name)], 0)


def _path(name: str) -> str:
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return "" if name in ("tensorflow", "tensorflow_core") else f"<{name}>"


def _all(tree: ast.Module) -> set[str] | None:
    """Return the names of a literal `__all__`; None if there is none."""
    for node in tree.body:
        is_all = isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        )
        if isinstance(node, ast.Assign) and is_all and isinstance(node.value, ast.List | ast.Tuple):
            return {item.value for item in node.value.elts if isinstance(item, ast.Constant)}
    return None


def arguments(bindings: Bindings, binding: Binding) -> list[str] | None:
    """Return the names of the arguments of a function or class; None if they are not visible."""
    node = binding.node
    if isinstance(node, ast.ClassDef):
        return _class_arguments(bindings, binding)
    return _names_of(node.args) if isinstance(node, ast.FunctionDef) else None


def _class_arguments(bindings: Bindings, binding: Binding) -> list[str] | None:
    """Return the arguments of the first `__init__` or `__new__` among a class and its bases."""
    order = _classes(bindings, binding, _DEPTH)
    for place, each in enumerate(order):
        if each in order[place + 1 :]:
            continue  # a base of several classes comes after all of them
        for statement in getattr(each.node, "body", ()):
            is_function = isinstance(statement, ast.FunctionDef)
            if is_function and statement.name in ("__init__", "__new__"):
                names = _names_of(statement.args)
                return names[1:] if names else names
    return None


def _classes(bindings: Bindings, binding: Binding, depth: int) -> list[Binding]:
    """Return a class and all its bases, depth first; a base of several classes recurs."""
    if not depth or not isinstance(binding.node, ast.ClassDef):
        return []
    order = [binding]
    for base in binding.node.bases:
        if (found := bindings.expression(binding.module, base)) is not None:
            order += _classes(bindings, found, depth - 1)
    return order


def _names_of(args: ast.arguments) -> list[str] | None:
    if args.vararg and args.kwarg:
        return None
    return [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
