"""All public names, and the names of their arguments, by gpugraph and by TensorFlow's compat.v1.

    python ci/against_tensorflow/public_names.py --tensorflow PYTHON [--list missing|arguments|left]
    python ci/against_tensorflow/public_names.py --version-1 FOLDER [--list missing|arguments|left]

For each module it prints how many names TensorFlow has, how many of them are here, left out with
a reason (`names_left_out.py`), and missing; and of how many functions and classes the arguments
differ, by name or order, without a reason. `--list` prints what a count is made of. It fails where
arguments differ or, with `--version-1`, where a name is missing.

With `--version-1` it compares with TensorFlow 1.15's own API and contrib, read from the unpacked
wheel (`ci/names_of_version_1.py`), by the names of a program that imports `tensorflow`.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import sys
import tempfile
from collections import defaultdict
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from names_left_out import (
    arguments_left_out,
    is_reordered,
    left_out_arguments,
    name_reason,
    own_arguments,
    renamed_arguments,
    without,
)
from sides import ROOT, add_options, library, python_of_tensorflow, run_side

from gpugraph.tensorflow_import.import_switch import install
from gpugraph.tensorflow_import.refused_names import reason_of

sys.path.insert(0, str(ROOT / "ci"))
from names_of_version_1 import Version1

Names = dict[str, "list[str] | None"]
"""Each public name with the names of its arguments; None if it is not callable, or hides them."""


def _arguments(value: Any) -> list[str] | None:
    """Return the names of the arguments in order, `self` left out; None where they are not to be
    seen.
    """
    if not callable(value):
        return None
    try:
        parameters = inspect.signature(
            value.__init__ if inspect.isclass(value) else value
        ).parameters
    except (TypeError, ValueError):
        return None
    names = [name for name in parameters if name != "self"]
    kinds = [parameters[name].kind for name in names]
    if inspect.Parameter.VAR_POSITIONAL in kinds and inspect.Parameter.VAR_KEYWORD in kinds:
        return None
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [name for name, kind in zip(names, kinds) if kind not in variable]


def _of_tensorflow(root: Any) -> Names:
    """Return the names of `compat.v1` and the modules in it."""
    names: Names = {}
    seen: set[int] = set()

    def walk(module: Any, path: str) -> None:
        if id(module) in seen:
            return
        seen.add(id(module))
        for name in dir(module):
            if name.startswith("_") or (not path and name == "compat"):
                continue
            whole = f"{path}.{name}" if path else name
            try:
                value = getattr(module, name)
            except (AttributeError, ImportError):
                continue
            if isinstance(value, ModuleType):
                if "._api." in value.__name__ or "keras" in value.__name__:
                    walk(value, whole)
            else:
                names[whole] = _arguments(value)

    walk(root, "")
    return names


def _of_gpugraph(root: Any, wanted: list[str]) -> Names:
    """Those of the names that are here."""
    names: Names = {}
    for whole in wanted:
        value = root
        try:
            for part in whole.split("."):
                value = getattr(value, part)
        except AttributeError:
            continue
        names[whole] = _arguments(value)
    return names


class Comparison(NamedTuple):
    """The comparison of the names of one module."""

    here: list[str]
    left_out: list[str]
    missing: list[str]
    differing: list[str]


def _compare(theirs: Names, ours: Names) -> dict[str, Comparison]:
    modules: dict[str, Comparison] = defaultdict(lambda: Comparison([], [], [], []))
    for name, arguments in theirs.items():
        module = modules[name.rpartition(".")[0] or "tf"]
        if name in ours:
            module.here.append(name)
            if line := _difference(name, ours[name], arguments):
                module.differing.append(line)
        elif name_reason(name):
            module.left_out.append(name)
        else:
            module.missing.append(name)
    return modules


def _difference(name: str, ours: list[str] | None, theirs: list[str] | None) -> str:
    """Return how the arguments differ without a reason; "" where they are equal or not known."""
    if ours is None or theirs is None:
        return ""
    mine = without(renamed_arguments(name, ours), own_arguments(name))
    others = without(theirs, left_out_arguments(name))
    if mine == others or (is_reordered(name) and sorted(mine) == sorted(others)):
        return ""
    return f"{name}: {', '.join(ours)}; TensorFlow: {', '.join(theirs)}"


def _print(modules: dict[str, Comparison], what: str | None) -> None:
    print(
        f"{'module':34} {'names':>6} {'here':>6} {'left out':>9} {'missing':>8} {'arguments':>10}"
    )
    rows = {name: modules[name] for name in sorted(modules)}
    rows["in all"] = Comparison(
        *(list(chain.from_iterable(column)) for column in zip(*rows.values()))
    )
    for name, row in rows.items():
        count = len(row.here) + len(row.left_out) + len(row.missing)
        sizes = (count, len(row.here), len(row.left_out), len(row.missing), len(row.differing))
        print("{:34} {:6} {:6} {:9} {:8} {:10}".format(name, *sizes))
    whole = rows["in all"]
    lists = {"missing": whole.missing, "arguments": whole.differing, "left": whole.left_out}
    for line in lists.get(what or "", ()):
        print(f"{line}  {name_reason(line)}" if what == "left" else line)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser)
    parser.add_argument("--list", choices=("missing", "arguments", "left"))
    parser.add_argument("--version-1", metavar="FOLDER", type=Path, help="1.15's unpacked wheel")
    options = parser.parse_args()
    if options.version_1:
        return _compare_with_version_1(options.version_1, options.list)
    if options.side:
        side, folder = options.side
        _run_side(side, Path(folder))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_side(python_of_tensorflow(options.tensorflow), __file__, "tensorflow", folder)
        run_side(sys.executable, __file__, "gpugraph", folder)
        theirs, ours = (
            json.loads((folder / f"{side}.json").read_text()) for side in ("tensorflow", "gpugraph")
        )
    modules = _compare(theirs, ours)
    _print(modules, options.list)
    return int(any(module.differing for module in modules.values()))


def _compare_with_version_1(wheel: Path, listed: str | None) -> int:
    """Print the comparison with 1.15's API; return 1 if names are missing or arguments differ."""
    theirs = Version1(wheel).public_names()
    install()
    modules: dict[str, Comparison] = defaultdict(lambda: Comparison([], [], [], []))
    for name, arguments in theirs.items():
        module = modules[_row_of(name)]
        value = _imported(name)
        if value is _ABSENT or reason_of(value):
            (module.left_out if name_reason(name) else module.missing).append(name)
            continue
        module.here.append(name)
        if line := _difference_from_version_1(name, _arguments(value), arguments):
            module.differing.append(line)
    _print(modules, listed)
    return int(any(module.missing or module.differing for module in modules.values()))


def _row_of(name: str) -> str:
    """Return the row of the table: one for each module of contrib and of the root."""
    parts = name.split(".")[:-1]
    return ".".join(parts[: 2 if parts[:1] == ["contrib"] else 1]) or "tf"


_ABSENT = object()


def _imported(name: str) -> Any:
    """Return the value that a program gets by `tensorflow.<name>`; `_ABSENT` if there is none."""
    value: Any = importlib.import_module("tensorflow")
    for part in name.split("."):
        value = getattr(value, part, _ABSENT)
    return value


def _difference_from_version_1(name: str, ours: list[str] | None, theirs: list[str] | None) -> str:
    """Return how the arguments differ from 1.15's without a reason; further ones may follow."""
    if ours is None or theirs is None:
        return ""
    left = arguments_left_out(name)
    if without([x for x in ours if x in theirs], left) == without(theirs, left):
        return ""
    return f"{name}: {', '.join(ours)}; TensorFlow: {', '.join(theirs)}"


def _run_side(side: str, folder: Path) -> None:
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    root = library(side)
    if side == "tensorflow":
        names = _of_tensorflow(root)
    else:
        names = _of_gpugraph(root, list(json.loads((folder / "tensorflow.json").read_text())))
    (folder / f"{side}.json").write_text(json.dumps(names))


if __name__ == "__main__":
    sys.exit(main())
