"""The public names of TensorFlow 1.15 and their arguments, read from its unpacked wheel.

TensorFlow 1.15 does not install on the Pythons of today, but its sources can be read:

    pip download --no-deps --python-version 3.7 --only-binary :all: \\
        --platform manylinux2010_x86_64 tensorflow==1.15.5
    unzip -d FOLDER tensorflow-1.15.5-*.whl '*.py'
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from bindings_of_modules import Binding, Bindings, arguments

_API = "_api.v1"
_SPECIAL_CONTRIB = {
    "eager": "contrib.eager.python.tfe",
    "optimizer_v2": "contrib.optimizer_v2.optimizer_v2_symbols",
    "receptive_field": "contrib.receptive_field.receptive_field_api",
    "recurrent": "contrib.recurrent.python.recurrent_api",
    "remote_fused_graph": "contrib.remote_fused_graph.pylib",
    "specs": "contrib.specs.python",
    "summary": "contrib.summary.summary",
}
"""Modules of `tf.contrib` that contrib's `__init__` binds to another name."""

_HELPERS = {"remove_undocumented", "make_all", "tf_export", "deprecated", "deprecated_endpoints"}
_HELPERS |= {"python", "ops", "DESCRIPTOR", "deprecated_arg_values", "plugin_dir"}
_REFERENCE = re.compile(r"^@@(\w+)$", re.MULTILINE)


class Version1:
    """The modules below `tensorflow_core` in the unpacked wheel, and the names in each."""

    def __init__(self, folder: Path) -> None:
        self._all = Bindings(folder / "tensorflow_core")
        if not self._all.files:
            raise FileNotFoundError(f"there are no sources of TensorFlow 1.15 in {folder}")

    def has(self, path: str) -> bool:
        """Return whether `tensorflow.<path>` exists, as far as its modules show.

        Attributes of classes and functions exist if their owner does.
        """
        path = _without_versions(path)
        files = self._all.files
        if path in files or f"{_API}.{path}" in files:
            return True
        module, _, name = path.rpartition(".")
        while True:
            for prefix in (f"{_API}.{module}".rstrip("."), module):
                if prefix in files and name in self._all.names(prefix):
                    return True
            if not module or module in files or f"{_API}.{module}" in files:
                return False
            module, _, name = module.rpartition(".")

    def public_names(self) -> dict[str, list[str] | None]:
        """Return the public names of the API of version 1 and of contrib, with their arguments.

        The arguments are None if a name is not callable, or if they are not visible.
        """
        found: dict[str, Binding] = {}
        for path in self._all.files:
            parts = path.split(".")
            if f"{path}.".startswith(f"{_API}.") and "compat" not in parts and path != _API:
                public = path.removeprefix(_API).removeprefix(".v1").lstrip(".")
                found |= self._values(public, path, set(self._all.names(path)) - _HELPERS)
        for name in self._contrib_modules():
            self._add_contrib(f"contrib.{name}", _SPECIAL_CONTRIB.get(name), found)
        return {name: arguments(self._all, binding) for name, binding in sorted(found.items())}

    def _contrib_modules(self) -> list[str]:
        paths = (path.split(".") for path in self._all.files if path.startswith("contrib."))
        return sorted({path[1] for path in paths if len(path) == 2})

    def _add_contrib(self, public: str, path: str | None, found: dict[str, Binding]) -> None:
        """Add the names of a module of contrib, and those of the modules that it publishes."""
        path = path or public
        kept = self._kept(path) - _HELPERS
        found |= self._values(public, path, kept)
        if self._all.files[path].name != "__init__.py":
            return
        folder = ".".join(path.split(".")[:2])
        for name in kept & self._all.imported_modules(path):
            module = self._all.module_of(path, name)
            is_public = module is not None and not name.startswith("_")
            if module and is_public and module != path and module.startswith(f"{folder}."):
                self._add_contrib(f"{public}.{name}", module, found)

    def _values(self, public: str, path: str, names: set[str]) -> dict[str, Binding]:
        found = {}
        for name in names:
            binding = None if name.startswith("_") else self._all.resolve(path, name)
            if binding is not None and binding.is_value:
                found[f"{public}.{name}".lstrip(".")] = binding
        return found

    def _kept(self, path: str) -> set[str]:
        """Return the names that are left in a module of contrib once it is imported."""
        names = set(self._all.names(path))
        tree = self._all.tree(path)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id in ("remove_undocumented", "make_all"):
                return names & (self._documented(path, node) | self._listed(path, node))
        return names

    def _documented(self, path: str, call: ast.Call) -> set[str]:
        """Return the names that `@@` marks in the docstrings that `remove_undocumented` reads."""
        documented = set(_REFERENCE.findall(ast.get_docstring(self._all.tree(path)) or ""))
        for word in call.args[2:] + [w.value for w in call.keywords if w.arg and "doc" in w.arg]:
            for node in ast.walk(word):
                module = isinstance(node, ast.Name) and self._all.module_of(path, node.id)
                if module:
                    text = ast.get_docstring(self._all.tree(module)) or ""
                    documented |= set(_REFERENCE.findall(text))
        return documented

    def _listed(self, path: str, call: ast.Call) -> set[str]:
        """Return the names of the list of exceptions that `remove_undocumented` gets."""
        words = call.args[1:2] + [w.value for w in call.keywords if w.arg and "allowed" in w.arg]
        listed = {
            node.id for word in words for node in ast.walk(word) if isinstance(node, ast.Name)
        }
        values = list(words)
        for node in ast.walk(self._all.tree(path)):
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets = [node.target] if isinstance(node, ast.AugAssign) else targets
            if any(isinstance(x, ast.Name) and x.id in listed for x in targets):
                values.append(node.value)  # type: ignore[attr-defined]
        constants = (node for value in values for node in ast.walk(value))
        return {node.value for node in constants if isinstance(node, ast.Constant)}


def _without_versions(path: str) -> str:
    for prefix in ("_api.v1.", "compat.v1.", "compat.v2.compat.v1."):
        path = path.removeprefix(prefix)
    return path
