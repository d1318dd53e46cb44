"""Writes the snapshot of all public names: their parameters with defaults, and their aliases.

    python ci/public_signatures.py [--check]

A public name is written by hand once, in `gpugraph/api` or in the module that defines it. This
command writes `tests/public_signatures.txt`, one line per name:

    nn.relu: features name=None             a function or class with its parameters
    math.sigmoid = sigmoid                  another path to the same object
    errors.OK <int>                         a constant, or a class without a constructor

With --check nothing is written: it fails if the snapshot differs from the package, and prints the
lines that differ. `ci/against_tensorflow/public_names.py` compares the names and parameters with
TensorFlow's.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import functools
import importlib
import inspect
import itertools
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

gpugraph = importlib.import_module("gpugraph")
import_paths = importlib.import_module("gpugraph.api.import_paths")

TARGET = ROOT / "tests" / "public_signatures.txt"
_PLAIN = (bool, int, float, str, bytes, type(None))
_WHOLE_WORDS = {"break_long_words": False, "break_on_hyphens": False}


def public_modules() -> dict[str, ModuleType]:
    """Return all public modules by the path that programs use; the package has the path ""."""
    paths = {path.partition(".")[2] for path in import_paths.PUBLIC_MODULES} | {
        *import_paths.TENSORFLOW_MODULES
    }
    paths |= {name for name in names_of(gpugraph) if inspect.ismodule(getattr(gpugraph, name))}
    modules = {path: _module(path) for path in sorted(paths, key=_rank)}
    return {"": gpugraph, **modules}


def _module(path: str) -> ModuleType:
    attribute = getattr(gpugraph, path, None)
    is_module = inspect.ismodule(attribute)
    return attribute if is_module else importlib.import_module(f"gpugraph.{path}")


def _rank(path: str) -> tuple[bool, int, str]:
    return path.startswith(("contrib", "compat")), path.count("."), path


@functools.cache
def names_of(module: ModuleType) -> tuple[str, ...]:
    """Return the names that a module defines, or re-exports as `name as name`, without an
    underscore.
    """
    if not hasattr(module, "__file__"):  # an attribute of another module
        return tuple(name for name in dir(module) if not name.startswith("_"))
    names: dict[str, None] = {}
    statements = ast.parse(inspect.getsource(module)).body
    deferred = [s.body for s in statements if isinstance(s, ast.If)]  # `if TYPE_CHECKING`
    for statement in (*statements, *itertools.chain(*deferred)):
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names[name] = None
            case ast.Assign(targets=targets):
                parts = [part for target in targets for part in ast.walk(target)]
                names |= dict.fromkeys(part.id for part in parts if isinstance(part, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                names[name] = None
            case ast.ImportFrom(module=str(source), names=[ast.alias(name="*")]):
                names |= dict.fromkeys(names_of(importlib.import_module(source)))
            case ast.ImportFrom(names=aliases):
                names |= dict.fromkeys(a.name for a in aliases if a.asname == a.name)
    return tuple(name for name in names if not name.startswith("_"))


def public_values() -> dict[str, Any]:
    """Return every public value that is no module, by its path in the package.

    A module that has several public paths contributes its names under each of them.
    """
    return {
        f"{path}.{name}" if path else name: value
        for path, module in public_modules().items()
        for name in sorted(names_of(module))
        if not inspect.ismodule(value := getattr(module, name))
    }


def parameters(value: Any) -> str | None:
    """Return the parameters of a function or class, or None if Python code defines none."""
    if not callable(value):
        return None
    target = _constructor(value) if inspect.isclass(value) else value
    try:
        found = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return None
    texts = [_parameter(each) for each in (found[1:] if inspect.isclass(value) else found)]
    kinds = [each.kind for each in found]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        position = kinds.index(inspect.Parameter.KEYWORD_ONLY) - len(found) + len(texts)
        texts.insert(position, "*")
    return " ".join(texts)


def _constructor(cls: type) -> Any:
    """Return the `__init__` or `__new__` that is defined in Python, or None."""
    functions = (cls.__init__, cls.__new__)  # type: ignore[misc]
    return next((each for each in functions if inspect.isfunction(inspect.unwrap(each))), None)


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    name = stars.get(parameter.kind, "") + parameter.name
    has_default = parameter.default is not inspect.Parameter.empty
    return f"{name}={_default(parameter.default)}" if has_default else name


def _default(value: Any) -> str:
    """Return a default as text without spaces that is equal on every version of Python."""
    if isinstance(value, tuple | list):
        return f"({','.join(map(_default, value))})"
    if type(value) in _PLAIN:
        return repr(value).replace(" ", "_")
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    return name if isinstance(name, str) else f"<{type(value).__name__}>"


def text() -> str:
    """Return the snapshot."""
    lines = []
    paths: dict[int, str] = {}
    for path, value in public_values().items():
        is_definition = inspect.isclass(value) or inspect.isroutine(value)
        first = paths.setdefault(id(value), path) if is_definition else path
        shown = parameters(value)
        if first != path:
            lines.append(f"{path} = {first}")
        elif shown is not None:
            lines.append(f"{path}: {shown}".rstrip())
        else:
            lines.append(f"{path} <{type(value).__name__}>")
    wrapped = [textwrap.wrap(line, 100, subsequent_indent="    ", **_WHOLE_WORDS) for line in lines]
    return "".join(f"{line}\n" for line in itertools.chain(*wrapped))


def difference() -> str:
    """Return the lines in which the snapshot and the package differ, or an empty string."""
    snapshot = TARGET.read_text("utf-8").splitlines()
    lines = difflib.unified_diff(snapshot, text().splitlines(), "snapshot", "package", "", "", 0)
    return "\n".join(line for line in lines if not line.startswith("@@"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only, and write nothing")
    if not parser.parse_args().check:
        TARGET.write_text(text(), "utf-8")
        return 0
    if changed := difference():
        print(changed, "Write the snapshot with: python ci/public_signatures.py", sep="\n")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
