"""Names that 1.15 exports, at the internal modules that define them.

    python ci/against_tensorflow/internal_paths.py FOLDER [--list]

FOLDER is 1.15's unpacked wheel. A function or class with an export, such as `write_graph` of
`tensorflow.python.framework.graph_io`, can be imported from its module too. The script reads all
exports, and looks up those whose public name is here. It fails where a module or a name is missing.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gpugraph.tensorflow_import.import_switch import install
from gpugraph.tensorflow_import.refused_names import reason_of
from gpugraph.tensorflow_import.tensorflow_names import find, is_module


class Export(NamedTuple):
    """A definition in an internal module, and its public names."""

    module: str
    name: str
    public: list[str]


def exports(folder: Path) -> Iterator[Export]:
    """Yield the exports of all modules of TensorFlow's Python sources."""
    root = folder / "tensorflow_core"
    for file in sorted((root / "python").rglob("*.py")):
        if file.stem.endswith("_test") or file.stem == "__init__":
            continue
        module = ".".join(file.relative_to(root).with_suffix("").parts)
        for node in ast.parse(file.read_bytes()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                public = [name for call in node.decorator_list for name in _exported(call)]
                if public:
                    yield Export(module, node.name, public)


def _exported(decorator: ast.expr) -> list[str]:
    """Return the names of version 1 that a decorator exports."""
    if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Name):
        return []
    if decorator.func.id not in ("tf_export", "keras_export"):
        return []
    arguments = decorator.args
    for keyword in decorator.keywords:
        if keyword.arg == "v1" and isinstance(keyword.value, (ast.List, ast.Tuple)):
            arguments = keyword.value.elts
    return [str(value.value) for value in arguments if isinstance(value, ast.Constant)]


def is_here(module: str, name: str) -> bool:
    """Return whether the module has the name here, and does not refuse it."""
    try:
        return not reason_of(find(module, name))
    except AttributeError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    install()
    counts: Counter[str] = Counter()
    for export in exports(options.folder):
        paths = [name.rpartition(".") for name in export.public]
        public = next((".".join(p[::2]) for p in paths if is_here(p[0], p[2])), None)
        if public is None:
            continue
        found = is_module(export.module) and is_here(export.module, export.name)
        counts["here" if found else "missing"] += 1
        if options.list and not found:
            print(f"tensorflow.{export.module}.{export.name}  (tf.{public.lstrip('.')})")
    print(f"{counts.total()} exports whose public names are here: {counts['missing']} missing")
    return int(counts["missing"] > 0)


if __name__ == "__main__":
    sys.exit(main())
