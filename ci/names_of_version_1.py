"""The names in each module of TensorFlow 1.15, read from its unpacked wheel, without running it.

TensorFlow 1.15 does not install on the Pythons of today, but its sources can be read:

    pip download --no-deps --python-version 3.7 --only-binary :all: \\
        --platform manylinux2010_x86_64 tensorflow==1.15.5
    unzip -d FOLDER tensorflow-1.15.5-*.whl '*.py'
"""

from __future__ import annotations

import ast
from pathlib import Path

_API = "_api.v1"


class Version1:
    """The modules below `tensorflow_core` in the unpacked wheel, and the names in each."""

    def __init__(self, folder: Path) -> None:
        self._root = folder / "tensorflow_core"
        self._files = {}
        for file in self._root.rglob("*.py"):
            parts = file.relative_to(self._root).with_suffix("").parts
            self._files[".".join(parts).removesuffix("__init__").rstrip(".")] = file
        if not self._files:
            raise FileNotFoundError(f"there are no sources of TensorFlow 1.15 in {folder}")
        self._names: dict[str, set[str]] = {}
        self._below: dict[str, set[str]] = {}
        for path in self._files:
            module, _, name = path.rpartition(".")
            self._below.setdefault(module, set()).add(name)

    def has(self, path: str) -> bool:
        """Return whether `tensorflow.<path>` exists, as far as its modules show.

        Attributes of classes and functions exist if their owner does.
        """
        path = _without_versions(path)
        if path in self._files or f"{_API}.{path}" in self._files:
            return True
        module, _, name = path.rpartition(".")
        while True:
            for prefix in (f"{_API}.{module}".rstrip("."), module):
                if prefix in self._files and name in self.names(prefix):
                    return True
            if not module or module in self._files or f"{_API}.{module}" in self._files:
                return False
            module, _, name = module.rpartition(".")

    def public_names(self) -> list[str]:
        """Return the public names: those of the API of version 1, and of contrib's modules."""
        api = [path for path in self._files if f"{path}.".startswith(f"{_API}.")]
        found = {
            f"{path.removeprefix(_API)}.{name}".lstrip(".")
            for path in api
            if ".compat." not in f"{path}."
            for name in self.names(path)
            if not name.startswith("_")
        }
        for path in self._files:
            parts = path.split(".")
            is_contrib = parts[0] == "contrib" and 2 <= len(parts) <= 3 and parts[-1] != "python"
            if is_contrib and self._files[path].name == "__init__.py":
                found |= {
                    f"{path}.{name}" for name in self._assigned(path) if not name.startswith("_")
                }
        return sorted(name for name in found if self._is_value(name))

    def _is_value(self, name: str) -> bool:
        return not (name in self._files or f"{_API}.{name}" in self._files)

    def _assigned(self, path: str) -> set[str]:
        """Return the names that a module of contrib imports on purpose, or that it lists."""
        listed = _listed(self._files[path])
        return listed if listed is not None else self.names(path) - self._below.get(path, set())

    def names(self, path: str) -> set[str]:
        """Return the names in a module, with those of the modules that it imports by a star."""
        if path not in self._names:
            self._names[path] = set()  # ends cycles of imports
            names, stars = _names(self._files[path])
            for star in stars:
                target = star.removeprefix("tensorflow_core.").removeprefix("tensorflow.")
                if target in self._files:
                    names |= {name for name in self.names(target) if not name.startswith("_")}
            self._names[path] = names | self._below.get(path, set())
        return self._names[path]


def _without_versions(path: str) -> str:
    for prefix in ("_api.v1.", "compat.v1.", "compat.v2.compat.v1."):
        path = path.removeprefix(prefix)
    return path


def _listed(file: Path) -> set[str] | None:
    for node in ast.parse(file.read_bytes()).body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.List):
            continue
        if any(isinstance(x, ast.Name) and x.id == "_allowed_symbols" for x in node.targets):
            return {item.value for item in node.value.elts if isinstance(item, ast.Constant)}
    return None


def _names(file: Path) -> tuple[set[str], list[str]]:
    """Return the names that a module binds, and the modules that it imports by a star."""
    names: set[str] = set()
    stars: list[str] = []

    def visit(body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign):
                targets = (name for target in node.targets for name in ast.walk(target))
                names.update(name.id for name in targets if isinstance(name, ast.Name))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    if alias.name == "*":
                        stars.append(getattr(node, "module", "") or "")
                    else:
                        names.add((alias.asname or alias.name).partition(".")[0])
            else:
                for part in ("body", "orelse", "finalbody"):
                    visit(getattr(node, part, []))
                for handler in getattr(node, "handlers", []):
                    visit(handler.body)

    visit(ast.parse(file.read_bytes()).body)
    return names, stars
