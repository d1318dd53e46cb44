"""The house's order: who may import whom, and which modules define nothing.

A room is a module or a folder right under `gpugraph/`. It imports only from rooms on the floors
below its own; docs/architecture.md says what each keeps and never knows. The table is data here.
A room that is not in it fails the test: give it a floor.

Imports count in every form (`import a.b`, `from a import b`, `from . import b`), and also where
only type checkers see them: what a module must know to be read, it knows.
"""

from __future__ import annotations

import ast
import graphlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "gpugraph"

# May rooms of the same floor import each other? Freely, only what is listed earlier, or not.
FREE, LISTED, APART = "free", "listed", "apart"

FLOORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        FREE,
        (
            "errors",
            "narrow",
            "dtypes",
            "widening",
            "dimensions",
            "shapes",
            "messages",
            "config",
            "nest",
            "logging",
            "flags",
            "app",
            "files",
            "file_paths",
            "version",
        ),
    ),
    (APART, ("graph", "memory", "kernel")),
    (APART, ("ops", "devices")),
    (
        LISTED,
        (
            "control_flow",
            "checks",
            "gradients",
            "functional",
            "variables",
            "variable_scope",
            "template",
            "arg_scope",
            "input_spec",
            "layer",
            "compatibility",
            "plan",
        ),
    ),
    (APART, ("compile", "runtime")),
    (APART, ("session",)),
    (
        APART,
        (
            "contrib_layers",
            "layers",
            "losses",
            "metrics",
            "rnn",
            "train",
            "testing",
            "summary",
            "formats",
            "cluster",
        ),
    ),
)

# The top floor. `errors` and `train` are public names too, and have their floors above.
ROOT = "__init__"
FACES = (
    ROOT, "nn", "math", "random", "linalg", "initializers", "keras", "compat", "contrib",
    "debugging", "strings", "bitwise", "signal", "spectral",
    "image", "manip", "quantization", "sets", "sparse", "functions", "gfile", "test",
    "io", "element_types",
)  # fmt: skip
PROGRAMS = ("cli", "__main__")

# On a floor below, and yet not to be known.
CLIENT_SIDE = FLOORS[3][1][:-1]
NEVER: dict[str, tuple[str, ...]] = {
    "devices": ("graph",),
    "plan": CLIENT_SIDE,
    "runtime": ("graph", "ops", *CLIENT_SIDE),
}

NO_ARRAYS = ("graph", "memory")
NUMPY = "numpy"
ONE_FILE = {"cupy": "devices", "google": "formats", "ml_dtypes": "narrow"}  # google: protobuf
ONE_ROOM = {"ray": "cluster"}
CUPY_NAMES = ("cupyx", "cupy_backends")

# (module, imported name) of imports that may stand inside a function.
DOORS = frozenset(
    {
        # CuPy is imported when a GPU is opened, not by all who import gpugraph.
        ("gpugraph.devices.cuda.opening", "gpugraph.devices.cuda.cupy_driver"),
    }
)


@dataclass(frozen=True)
class Import:
    """One imported name: `target` is the whole dotted name, `line` where it stands."""

    target: str
    line: int
    in_function: bool
    for_types_only: bool


@dataclass(frozen=True)
class Module:
    """A parsed file: `name` is dotted and starts with the package's name."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def room(self) -> str:
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else ROOT

    @property
    def package(self) -> list[str]:
        parts = self.name.split(".")
        return parts if self.path.name == "__init__.py" else parts[:-1]


def read_modules(root: Path) -> dict[str, Module]:
    """All modules under the package folder `root`, by dotted name."""
    modules = {}
    for path in sorted(root.rglob("*.py")):
        parts = [root.name, *path.relative_to(root).with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = Module(name, path, ast.parse(path.read_text("utf-8"), str(path)))
    return modules


def read_imports(module: Module, known: set[str]) -> Iterator[Import]:
    """The module's imports; `from a import b` is `a.b` where `known` holds that, else `a`."""

    def walk(node: ast.AST, in_function: bool, for_types: bool) -> Iterator[Import]:
        for target in targets(node, module, known):
            yield Import(target, getattr(node, "lineno", 0), in_function, for_types)
        if isinstance(node, ast.If) and is_type_checking(node.test):
            for statement in node.body:
                yield from walk(statement, in_function, True)
            for statement in node.orelse:
                yield from walk(statement, in_function, for_types)
            return
        inside = in_function or isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        )
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside, for_types)

    return walk(module.tree, False, False)


def targets(node: ast.AST, module: Module, known: set[str]) -> list[str]:
    """The dotted names that this one node imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        up = max(0, len(module.package) - node.level + 1)
        base = module.package[:up] if node.level else []
        origin = ".".join([*base, *([node.module] if node.module else [])])
        names = (f"{origin}.{alias.name}" for alias in node.names)
        return sorted({name if name in known else origin for name in names})
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
        if isinstance(called, ast.Name):
            called = called.id
        if called in ("import_module", "__import__"):
            match node.args:
                case [ast.Constant(value=str(name)), *_]:
                    return [name]
            return ["a computed name"]
    return []


def is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
    return name == "TYPE_CHECKING"


def all_imports(root: Path) -> Iterator[tuple[Module, Import, str]]:
    """Each module with each of its imports, and where in the package's folder it stands."""
    modules = read_modules(root)
    rooms = (*(room for _, rooms in FLOORS for room in rooms), *FACES, *PROGRAMS)
    known = {*modules, *(f"{root.name}.{room}" for room in rooms)}
    for module in modules.values():
        for found in read_imports(module, known):
            yield module, found, f"{module.path.relative_to(root)}:{found.line}"


def floor_of(room: str) -> int | None:
    for floor, (_, rooms) in enumerate(FLOORS):
        if room in rooms:
            return floor
    return len(FLOORS) if room in (*FACES, *PROGRAMS) else None


def may_import(importer: str, imported: str) -> bool:
    """The table, asked about two rooms that are both in it."""
    own, other = floor_of(importer), floor_of(imported)
    assert own is not None and other is not None
    if importer == imported or (own == other == len(FLOORS)):
        return True
    if other > own or imported in NEVER.get(importer, ()):
        return False
    if other < own:
        return True
    manner, rooms = FLOORS[own]
    return manner == FREE or (manner == LISTED and rooms.index(imported) < rooms.index(importer))


def floor_faults(root: Path) -> list[str]:
    """Rooms without a floor, and imports that the floors forbid."""
    faults = [
        f"{module.path.relative_to(root)}: {module.room} has no floor; give it one in FLOORS"
        for module in read_modules(root).values()
        if floor_of(module.room) is None
    ]
    for module, found, place in all_imports(root):
        parts = found.target.split(".")
        if parts[0] != root.name or floor_of(module.room) is None:
            continue
        imported = parts[1] if len(parts) > 1 else ROOT
        if floor_of(imported) is None:
            faults.append(f"{place}: imports {found.target}, which has no floor")
        elif not may_import(module.room, imported):
            faults.append(f"{place}: {module.room} must not import {imported}")
    return faults


def foreign_faults(root: Path) -> list[str]:
    """Other people's packages where they do not belong."""
    faults = []
    homes: dict[str, set[Path]] = {}
    for module, found, place in all_imports(root):
        foreign = found.target.split(".")[0]
        foreign = "cupy" if foreign in CUPY_NAMES else foreign
        if foreign == NUMPY and module.room in NO_ARRAYS:
            faults.append(f"{place}: {module.room} must not import numpy")
        elif home := ONE_FILE.get(foreign) or ONE_ROOM.get(foreign):
            if module.room != home:
                faults.append(f"{place}: {foreign} is imported only in {home}")
            else:
                homes.setdefault(foreign, set()).add(module.path.relative_to(root))
        elif foreign not in (root.name, NUMPY) and foreign not in sys.stdlib_module_names:
            faults.append(f"{place}: imports {found.target}, which is no dependency")
    for foreign in ONE_FILE:
        if len(files := sorted(map(str, homes.get(foreign, ())))) > 1:
            faults.append(f"{foreign} is imported in more than one file: {', '.join(files)}")
    return faults


def door_faults(root: Path) -> list[str]:
    """Imports inside functions: they hide what a module knows, and the circles it is in."""
    return [
        f"{place}: imports {found.target} inside a function"
        for module, found, place in all_imports(root)
        if found.in_function and (module.name, found.target) not in DOORS
    ]


def circle_faults(root: Path) -> list[str]:
    """Modules that import each other in a circle, type checkers' imports aside."""
    modules = read_modules(root)
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for module, found, _ in all_imports(root):
        if found.target in modules and not found.for_types_only:
            graph[module.name].add(found.target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [f"a circle of imports: {' <- '.join(error.args[1])}"]
    return []


def face_faults(root: Path) -> list[str]:
    """Statements of faces that do more than re-export."""
    return [
        f"{module.path.relative_to(root)}:{statement.lineno}: a face defines nothing"
        for module in read_modules(root).values()
        if module.room in FACES
        for place, statement in enumerate(module.tree.body)
        if not is_re_export(statement, place)
    ]


def is_re_export(statement: ast.stmt, place: int) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return place == 0  # the docstring
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.AugAssign(target=ast.Name(id="__all__"), value=ast.Attribute(attr="__all__")):
            return True  # the names of another face
        case (
            ast.Assign(targets=[ast.Name(id="__all__" | "__version__")])
            | ast.AnnAssign(target=ast.Name(id="__all__" | "__version__"))
        ):
            return True  # the version is asked of the installed package
        case (
            ast.Assign(targets=[ast.Name()], value=ast.Name() | ast.Attribute() as value)
            | ast.AnnAssign(target=ast.Name(), value=ast.Name() | ast.Attribute() as value)
        ):
            names = list(ast.walk(value))
            return all(isinstance(n, ast.Name | ast.Attribute | ast.Load) for n in names)
    return False


Check = Callable[[Path], list[str]]
CHECKS: tuple[Check, ...] = (
    floor_faults,
    foreign_faults,
    door_faults,
    circle_faults,
    face_faults,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_package_keeps_the_rule(check: Check) -> None:
    faults = check(PACKAGE)
    assert not faults, "\n".join(["", *faults])


def build(folder: Path, files: dict[str, str]) -> Path:
    """A made-up package of these files; returns its folder."""
    root = folder / "gpugraph"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


SOUND = {
    "__init__.py": '"""Face."""\nfrom gpugraph.graph import Graph\n__all__ = ["Graph"]\n',
    "nn.py": '"""Face."""\nimport gpugraph.ops as _ops\nrelu = _ops.relu\n__all__ = ["relu"]\n',
    "cli.py": "import gpugraph as gg\ndef main(): pass\n",
    "errors.py": "from . import dtypes\n",
    "dtypes.py": "import numpy as np\n",
    "graph/__init__.py": "from .graph import Graph\n",
    "graph/graph.py": "from gpugraph import errors, shapes\nfrom . import tensor\n",
    "graph/tensor.py": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from gpugraph.graph.graph import Graph\n"
    ),
    "ops/__init__.py": "import numpy\nimport gpugraph.graph as graph\n",
    "devices/gpu.py": "try:\n    import cupy\nexcept ImportError:\n    cupy = None\n",
    "variables.py": "from gpugraph.ops import relu\n",
    "variable_scope.py": "from . import variables\n",
    "plan.py": "from gpugraph.kernel import Call\n",
    "runtime/run.py": "from ..plan import Plan\nfrom gpugraph.devices.gpu import stream\n",
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_sound_tree_has_no_faults(check: Check, tmp_path: Path) -> None:
    assert check(build(tmp_path, SOUND)) == []


BROKEN: tuple[tuple[Check, dict[str, str], str], ...] = (
    (floor_faults, {"odd.py": ""}, "odd.py: odd has no floor; give it one"),
    (floor_faults, {"ops/a.py": "import gpugraph.odd"}, "gpugraph.odd, which has no floor"),
    (floor_faults, {"graph/a.py": "import gpugraph.ops.math"}, "graph must not import ops"),
    (floor_faults, {"graph/a.py": "from gpugraph import ops"}, "graph must not import ops"),
    (floor_faults, {"graph/a.py": "from ..ops import relu"}, "graph must not import ops"),
    (floor_faults, {"graph/a.py": "from .. import ops"}, "a.py:1: graph must not import ops"),
    (floor_faults, {"graph/__init__.py": "from .. import ops"}, "graph must not import ops"),
    (floor_faults, {"graph/a/b.py": "from ...ops import x"}, "graph must not import ops"),
    (floor_faults, {"graph/a.py": "def f():\n  import gpugraph.ops"}, "must not import ops"),
    (floor_faults, {"graph/a.py": "import gpugraph"}, "graph must not import __init__"),
    (floor_faults, {"layers/a.py": "from gpugraph import Graph"}, "must not import __init__"),
    (
        floor_faults,
        {"kernel.py": "import typing\nif typing.TYPE_CHECKING:\n  from .graph import Node"},
        "kernel.py:3: kernel must not import graph",
    ),
    (floor_faults, {"dtypes.py": "from .graph import Graph"}, "dtypes must not import graph"),
    (floor_faults, {"ops/a.py": "import gpugraph.devices"}, "ops must not import devices"),
    (floor_faults, {"devices/a.py": "import gpugraph.graph"}, "devices must not import graph"),
    (floor_faults, {"gradients.py": "from . import variables"}, "gradients must not import"),
    (floor_faults, {"plan.py": "from . import variables"}, "plan must not import variables"),
    (floor_faults, {"variables.py": "from . import plan"}, "variables must not import plan"),
    (floor_faults, {"runtime/a.py": "import gpugraph.graph"}, "runtime must not import graph"),
    (floor_faults, {"runtime/a.py": "import gpugraph.ops"}, "runtime must not import ops"),
    (floor_faults, {"runtime/a.py": "import gpugraph.compile"}, "must not import compile"),
    (floor_faults, {"compile/a.py": "import gpugraph.runtime"}, "must not import runtime"),
    (floor_faults, {"train/a.py": "import gpugraph.layers"}, "train must not import layers"),
    (floor_faults, {"session/a.py": "import gpugraph.cluster"}, "must not import cluster"),
    (foreign_faults, {"graph/a.py": "import numpy as np"}, "graph must not import numpy"),
    (foreign_faults, {"memory/a.py": "from numpy import add"}, "memory must not import numpy"),
    (foreign_faults, {"ops/a.py": "import cupyx.scipy"}, "cupy is imported only in devices"),
    (foreign_faults, {"devices/b.py": "import cupy"}, "devices/b.py, devices/gpu.py"),
    (foreign_faults, {"session/a.py": "import ray"}, "ray is imported only in cluster"),
    (foreign_faults, {"ops/a.py": "import scipy.special"}, "scipy.special, which is no dep"),
    (door_faults, {"ops/a.py": "def f():\n  import math"}, "a.py:2: imports math inside a"),
    (door_faults, {"ops/a.py": "class A:\n  async def f(self):\n    from . import b"}, "inside"),
    (door_faults, {"ops/a.py": "f = lambda: __import__('math')"}, "imports math inside"),
    (
        door_faults,
        {"ops/a.py": "def f(x):\n  return importlib.import_module(x)"},
        "imports a computed name inside a function",
    ),
    (circle_faults, {"ops/a.py": "from . import b", "ops/b.py": "from .a import x"}, "ops.b"),
    (circle_faults, {"graph/tensor.py": "from gpugraph.graph import Graph"}, "graph.tensor"),
    (face_faults, {"math.py": '"""Face."""\ndef add(): pass'}, "math.py:2: a face defines"),
    (face_faults, {"keras/layers.py": "class Dense: pass"}, "keras/layers.py:1: a face"),
    (face_faults, {"__init__.py": "from .a import f\nb = f()"}, "__init__.py:2: a face"),
    (face_faults, {"math.py": "pi = 3.14"}, "math.py:1: a face defines nothing"),
    (face_faults, {"math.py": "import gpugraph\npi = gpugraph.f().pi"}, "math.py:2: a face"),
    (face_faults, {"math.py": "if True:\n  import gpugraph.ops"}, "math.py:1: a face defines"),
)


@pytest.mark.parametrize(("check", "files", "fault"), BROKEN)
def test_a_broken_rule_is_found(
    check: Check, files: dict[str, str], fault: str, tmp_path: Path
) -> None:
    faults = check(build(tmp_path, SOUND | files))
    assert len(faults) == 1
    assert fault in faults[0]
