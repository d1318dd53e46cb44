"""The floors: the allowed imports between the parts of each folder, and modules without
definitions.

A part is a module or a folder; it imports only from parts on the rows before its own row in the
table of the folder that holds both. docs/architecture.md describes the contents and the limits of
each part of the package. A part without a row fails the test. A folder without a table allows its
parts to import each other, as long as no modules import each other in a circle.

Imports count in every form (`import a.b`, `from a import b`, `from . import b`), and also where
only type checkers see them: a module depends on all names that a reader of it needs.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "gpugraph"
ROOT = "__init__"

FLOORS: dict[str, tuple[str, ...]] = {
    "": (
        "base",
        "formats",
        "config platform",
        "graph memory kernel",
        "plan",
        "ops devices",
        "compile runtime",
        "inspection",
        "session",
        "building",
        "cluster",
        "library",
        "api",
        "tensorflow_import",
        ROOT,
        "cli",
        "__main__",
    ),
    "building": (
        "control_flow",
        "checks",
        "gradients trackable",
        "variables",
        "autograph",
        "variable_scope",
        "functions",
        "replication",
        "graph_files",
        "function_calls",
        "compatibility",
    ),
    "library": (
        "summary",
        "datasets distributions linear_operators losses train testing",
        "bijectors",
        "more_distributions",
        "lookup metrics saved_models",
        "feature_column",
        "data",
        "distribute",
        "keras",
        "layers",
        "contrib",
        "rnn",
        "contrib_rnn crf seq2seq",
    ),
    "library/contrib": (
        "layers",
        "event_summaries framework graph_editor images metric_learning nn_functions optimizers "
        "predictors slim_models",
    ),
    "graph": (
        "op_def inference_context device_names strongly_connected",
        "attr_values default_types",
        "op_library",
        "client nodes",
        "functions",
    ),
    "base/sizes": (
        *("size_bounds size_literals size_values", "size_traces"),
        "size_functions size_registers",
        "size_arrays",
    ),
    "memory": (
        "allocator_stats arena_planning",
        "arena_stacking",
        "allocator",
        "allocator_registry limiting_allocator sub_allocator tracking_allocator",
        "bfc",
        "allocation_traces host_allocator",
        "allocator_adaptors",
    ),
    "kernel": (
        "bfloat16_rounding failed_op launch_records node_signature op_memory reused_memory "
        "signature_and_context",
        "kernel_forms several_calls",
        "native_forms",
    ),
    "ops": (
        "op_index",
        "framework",
        "arrays control debugging run_refusals",
        "elementwise",
        "reductions special_functions",
        "indexing tensor_arrays",
        "linalg segments signal training",
        "random sparse",
        "nn strings",
        "collectives files fusion image parsing queues state",
        "boosted_trees readers summaries tables",
        "datasets",
        "older_types",
    ),
    "library/keras": (
        "backend keras_objects",
        "activations keras_constraints keras_initializers keras_regularizers",
        "feature_column_configs losses optimizers pictures saving",
        "engine",
        "callbacks inputs layers metrics",
        "training",
        "model_cloning",
        "exported_models multi_gpu_model",
        "keras_experimental keras_utils",
        "models",
        "applications datasets preprocessing",
    ),
    "library/keras/applications": ("applications_package", "application_modules"),
    "library/keras/datasets": ("plain_pickles", "image_sets", "sequence_sets", "dataset_modules"),
    "library/keras/preprocessing": ("preprocessing_package", "preprocessing_modules"),
    "library/keras/losses": ("loss_class loss_functions", "loss_classes", "losses_by_name"),
    "library/keras/optimizers": (
        "learning_rate_schedules",
        "hyperparameters schedules gradient_pairs replicated_steps",
        "optimizer_v2 tf_optimizer",
        "rate_optimizers",
        "moment_optimizers",
        "optimizers_by_name",
    ),
    "library/keras/metrics": (
        "metric_class metric_functions",
        "confusion_metrics metric_means",
        "curve_metrics function_metrics",
        "metrics_by_name",
    ),
    "library/keras/saving": (
        "checkpointed_weights cudnn_weights foreign_files hdf5_walk later_configs",
        "hdf5_groups",
        "model_json",
        "weight_groups",
        "model_files",
        "network_files",
    ),
    "library/keras/pictures": ("layered_layout", "model_picture", "plot_model"),
    "library/keras/engine": (
        "layer_configs layer_inputs layer_paths operation_history reachable_tensors",
        "layer_nodes network_checks",
        "layer_calls network_graph",
        "layer_losses",
        "input_spec layer_weights",
        "keras_layer model_summary network_config source_inputs",
        "operation_layers",
        "input_layer network_losses",
        "network",
    ),
    "library/keras/inputs": ("cached_files categories hdf5_matrix sequence", "enqueuers"),
    "library/keras/callbacks": (
        "callback",
        "progress_bar tensorboard_callback watching_callbacks",
        "writing_callbacks",
    ),
    "library/keras/training": (
        "dataset_batches epoch_batches input_arrays step_functions",
        "epoch_loops example_weights output_training",
        "model_data training_setup",
        "generator_loops replicated_training",
        "model_compilation",
        "model_loops",
        "model",
        "linear_feature_model sequential wide_deep_models",
    ),
    "ops/nn": ("activations windows", "losses normalization pooling", "convolution recurrent"),
    "devices": (
        "out_of_memory",
        "device codegen",
        "device_factory variable_access native kept_tensors memory_use run_memory variable_copies",
        "session_resources",
        "cpu_device cuda",
        "gpu_devices device_listing",
    ),
    "devices/cuda": (
        "driver",
        "detection emulation transfers",
        "launching",
        "kernel_refusals",
        "fetch_to_host",
        "cuda_device",
        "device_options",
    ),
    "compile": (
        "unit",
        "analysis placement",
        "lowering rewriting memory verification",
        "steps",
        "fusion control_flow",
        "binding",
    ),
}
"""For each folder its rows, from the ground up; parts on one row do not import each other."""

NEVER: dict[str, tuple[str, ...]] = {"devices": ("graph",), "runtime": ("graph", "ops")}
"""Parts of the package that are on a lower row and yet not to be imported."""

FACES = (ROOT, "api")
DEFERRING = ("TYPE_CHECKING", "deferred_names", "missing_attribute")
"""Imports of a face for the purpose of deferring its other imports."""
FACE_CODE = ("api/import_paths.py",)  # enters modules into sys.modules

NO_ARRAYS = ("graph", "memory")
NUMPY = "numpy"
ONE_FILE: dict[
    str, str | tuple[str, ...]
] = {  # of others' packages: the only file or folder that imports them
    "cupy": "devices",
    "google": "formats",  # protobuf
    "grpc": "cluster",
    "malt": "building/autograph/malt_transpiler.py",
    "ml_dtypes": "base/bfloat16.py",
    "ray": "cluster",
    "PIL": "ops/image/files/pillow_images.py",
    "absl": "library/testing/session_test_case.py",
    "cairosvg": "library/keras/pictures/plot_model.py",
    "h5py": "library/keras/saving",
    "keras_applications": "library/keras/applications/applications_package.py",
    "keras_preprocessing": "library/keras/preprocessing/preprocessing_package.py",
    "re2": "ops/strings/regex_engine.py",
    "sklearn": "library/contrib/metric_learning/cluster_losses.py",
    "scipy": ("ops/signal/fourier_engines.py", "library/contrib/optimizers/external_optimizers.py"),
    "tqdm": "platform/progress.py",
}
CUPY_NAMES = ("cupyx", "cupy_backends")

TYPES_ONLY = ("graph/client/operation.py", "graph/client/tensor.py")
"""The files that import a module of the package for type checkers alone. A graph has operations,
these have tensors, and each of them refers to its owner: one object graph in three files."""

COMPUTED = "a computed name"
BY_NAME = (
    *("api.import_paths", "base.deferred_names", "graph.client.collection_protos"),
    *("graph.op_library", "ops.op_index", "tensorflow_import.modules_by_name"),
)
"""The modules that import by names that they receive."""

# (module, imported name) of imports that may stand inside a function.
DOORS = frozenset(
    {
        # CuPy is imported when a GPU is opened, not whenever gpugraph is imported.
        ("gpugraph.devices.cuda.driver.driver_opening", "gpugraph.devices.cuda.driver.cupy_driver"),
        # A process that a program starts imports gpugraph when it asks for TensorFlow.
        (
            "gpugraph.tensorflow_import.for_child_processes.sitecustomize",
            "gpugraph.tensorflow_import.import_switch",
        ),
        # An extra, for programs that have messages: imported on first use.
        ("gpugraph.session.session_factory", COMPUTED),
        ("gpugraph.formats.messages_pb2", "gpugraph.formats.messages.message_classes"),
        ("gpugraph.library.keras.applications.applications_package", "keras_applications"),
        # An extra, for functions that branch on tensors.
        (
            "gpugraph.building.autograph.function_conversion",
            "gpugraph.building.autograph.malt_transpiler",
        ),
        # An extra, for servers and their sessions.
        ("gpugraph.cluster.grpc_package", "grpc"),
        ("gpugraph.cluster.ray_actors", "ray"),
        # An extra, for programs that have regular expressions.
        ("gpugraph.library.keras.inputs.enqueuers", "multiprocessing"),
        ("gpugraph.library.keras.pictures.plot_model", "cairosvg"),
        ("gpugraph.library.testing.session_test_case", "absl.testing.absltest"),
        ("gpugraph.library.keras.preprocessing.preprocessing_package", "keras_preprocessing.image"),
        (
            "gpugraph.library.keras.preprocessing.preprocessing_package",
            "keras_preprocessing.sequence",
        ),
        ("gpugraph.library.keras.preprocessing.preprocessing_package", "keras_preprocessing.text"),
        ("gpugraph.library.contrib.optimizers.external_optimizers", "scipy.optimize"),
        ("gpugraph.library.keras.saving.hdf5_groups", "h5py"),
        ("gpugraph.library.keras.saving.hdf5_walk", "h5py"),
        ("gpugraph.ops.image.files.pillow_images", "PIL.Image"),
        ("gpugraph.library.contrib.metric_learning.cluster_losses", "sklearn.metrics"),
        ("gpugraph.ops.signal.fourier_engines", "scipy.fft"),
        ("gpugraph.ops.strings.regex_engine", "re2"),
        # Code that imports a module on first use of one of its names or op types.
        *((f"gpugraph.{name}", COMPUTED) for name in BY_NAME),
        # Names of optimizers that programs read where they import `train`.
        (
            "gpugraph.tensorflow_import.missing_attributes",
            "gpugraph.tensorflow_import.private_optimizer_attributes",
        ),
        (
            "gpugraph.tensorflow_import.missing_attributes",
            "gpugraph.tensorflow_import.private_attributes",
        ),
        # Why a name is not there, for a program that asks for it.
        ("gpugraph.tensorflow_import.missing_attributes", "gpugraph.tensorflow_import.left_out"),
        (
            "gpugraph.tensorflow_import.missing_attributes",
            "gpugraph.tensorflow_import.missing_names",
        ),
        # Names that few programs ask for.
        (
            "gpugraph.tensorflow_import.missing_attributes",
            "gpugraph.tensorflow_import.further_attributes",
        ),
        # Draws a bar, where it is installed.
        ("gpugraph.platform.progress", "tqdm"),
        ("gpugraph.platform.progress", "tqdm.auto"),
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
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def package(self) -> list[str]:
        parts = self.name.split(".")
        return parts if self.is_package else parts[:-1]


@functools.cache
def read_modules(root: Path) -> dict[str, Module]:
    """Return all modules under the package folder `root`, by dotted name."""
    modules = {}
    for path in sorted(root.rglob("*.py")):
        parts = [root.name, *path.relative_to(root).with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = Module(name, path, ast.parse(path.read_text("utf-8"), str(path)))
    return modules


def read_imports(module: Module, known: set[str]) -> Iterator[Import]:
    """Yield the module's imports; `from a import b` is `a.b` where `known` holds that, else `a`."""

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
    """Return the dotted names that this one node imports."""
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
            return [COMPUTED]
    return []


def is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
    return name == "TYPE_CHECKING"


@functools.cache
def all_imports(root: Path) -> list[tuple[Module, Import, str]]:
    """Return each module with each of its imports, and where in the package's folder it stands."""
    modules = read_modules(root)
    rooms = (room for row in FLOORS[""] for room in row.split())
    known = {*modules, *(f"{root.name}.{room}" for room in rooms)}
    return [
        (module, imported, f"{module.path.relative_to(root)}:{imported.line}")
        for module in modules.values()
        for imported in read_imports(module, known)
    ]


def rows_of(folder: str) -> dict[str, int]:
    """Return each part of the folder with the number of its row."""
    rows = enumerate(FLOORS.get(folder, ()))
    return {part: number for number, row in rows for part in row.split()}


def part_faults(root: Path) -> list[str]:
    """Parts of a folder with a table that have no row in it."""
    return [
        f"{path.relative_to(root)} has no floor; give it one in FLOORS"
        for folder in FLOORS
        for path in sorted((root / folder).glob("*"))
        if path.suffix == ".py" or any(path.rglob("*.py"))
        if path.stem not in (*rows_of(folder), "__init__")
    ]


def floor_faults(root: Path) -> list[str]:
    """Import that the floors forbid."""
    faults = []
    for module, imported, place in all_imports(root):
        target = imported.target.split(".")
        if target[0] == root.name:
            own = [
                *module.package,
                *([ROOT] if module.is_package else [module.name.split(".")[-1]]),
            ]
            if forbidden := forbidden_parts(own[1:], target[1:] or [ROOT]):
                faults.append(f"{place}: {forbidden[0]} must not import {forbidden[1]}")
    return faults


def forbidden_parts(importer: list[str], imported: list[str]) -> tuple[str, str] | None:
    """Return the two parts of one folder that the table keeps apart; None if the import is
    allowed.
    """
    depth = 0
    while depth < min(len(importer), len(imported)) and importer[depth] == imported[depth]:
        depth += 1
    if depth in (len(importer), len(imported)):
        return None
    rows = rows_of("/".join(importer[:depth]))
    own, other = importer[depth], imported[depth]
    if depth and own == ROOT:
        return None  # a folder's __init__ stands above its parts
    if not rows or (own in rows and rows.get(other, len(rows)) < rows[own]):
        return (own, other) if depth == 0 and other in NEVER.get(own, ()) else None
    return own, other


def foreign_faults(root: Path) -> list[str]:
    """Other people's packages where they do not belong."""
    faults = []
    homes: dict[str, set[str]] = {}
    for module, imported, place in all_imports(root):
        foreign = imported.target.split(".")[0]
        foreign = "cupy" if foreign in CUPY_NAMES else foreign
        path = str(module.path.relative_to(root))
        if foreign == NUMPY and module.room in NO_ARRAYS:
            faults.append(f"{place}: {module.room} must not import numpy")
        elif home := ONE_FILE.get(foreign):
            allowed = (home,) if isinstance(home, str) else home
            if not any(path == each or path.startswith(f"{each}/") for each in allowed):
                faults.append(f"{place}: {foreign} is imported only in {', '.join(allowed)}")
            homes.setdefault(foreign, set()).add(path)
        elif imported.target == COMPUTED and (module.name, COMPUTED) in DOORS:
            continue
        elif foreign not in (root.name, NUMPY) and foreign not in sys.stdlib_module_names:
            faults.append(f"{place}: imports {imported.target}, which is no dependency")
    files = sorted(homes.get("cupy", ()))
    if len(files) > 1 and not faults:
        faults.append(f"cupy is imported in more than one file: {', '.join(files)}")
    return faults


def door_faults(root: Path) -> list[str]:
    """Return imports inside functions: they hide a module's dependencies, and import circles."""
    return [
        f"{place}: imports {imported.target} inside a function"
        for module, imported, place in all_imports(root)
        if imported.in_function and (module.name, imported.target) not in DOORS
    ]


def circle_faults(root: Path) -> list[str]:
    """Return modules that import each other in a circle, except by imports for type checkers."""
    modules = read_modules(root)
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for module, imported, _ in all_imports(root):
        if imported.target in modules and not imported.for_types_only:
            graph[module.name].add(imported.target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [f"a circle of imports: {' <- '.join(error.args[1])}"]
    return []


def type_faults(root: Path) -> list[str]:
    """Import for type checkers alone: they hide circles."""
    return [
        f"{place}: imports {imported.target} for types only"
        for module, imported, place in all_imports(root)
        if imported.for_types_only and imported.target.startswith(f"{root.name}.")
        if str(module.path.relative_to(root)) not in TYPES_ONLY and not defers(module.tree)
    ]


def defers(tree: ast.Module) -> bool:
    """Return whether a module's imports for type checkers are its deferred ones."""
    return any(is_deferring(statement) for statement in tree.body)


def is_deferring(statement: ast.stmt) -> bool:
    """Check for `if TYPE_CHECKING`, re-exports, and code that imports these on first use."""
    match statement:
        case ast.If(test, body, [ast.Assign(value=ast.Call(func=ast.Name("deferred_names")))]):
            return is_type_checking(test) and all(is_re_export(item, 1) for item in body)
    return False


def face_faults(root: Path) -> list[str]:
    """Statements of faces that do more than re-export."""
    return [
        f"{module.path.relative_to(root)}:{statement.lineno}: a face defines nothing"
        for module in read_modules(root).values()
        if module.room in FACES and str(module.path.relative_to(root)) not in FACE_CODE
        for place, statement in enumerate(module.tree.body)
        if not is_re_export(statement, place) and not is_deferring(statement)
    ]


def is_re_export(statement: ast.stmt, place: int) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return place == 0  # the docstring
        case ast.Import() | ast.ImportFrom():  # `name as name`, or private, or all there is
            shown = (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
            return all(
                name.startswith(("_", "*")) or alias.asname == alias.name or name in DEFERRING
                for name, alias in zip(shown, statement.names)
            )
        case (
            ast.Assign(targets=[ast.Name()], value=ast.Name() | ast.Attribute() as value)
            | ast.AnnAssign(target=ast.Name(), value=ast.Name() | ast.Attribute() as value)
        ):
            names = list(ast.walk(value))
            return all(isinstance(n, ast.Name | ast.Attribute | ast.Load) for n in names)
    return False


Check = Callable[[Path], list[str]]
CHECKS: tuple[Check, ...] = (
    part_faults,
    floor_faults,
    foreign_faults,
    door_faults,
    circle_faults,
    type_faults,
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
    "__init__.py": '"""Face."""\nfrom gpugraph.graph import Graph as Graph\n',
    "api/nn.py": '"""Face."""\nimport gpugraph.ops as _ops\nrelu = _ops.relu\n',
    "api/import_paths.py": "import sys\nsys.modules['a'] = sys\n",
    "cli/run.py": "import gpugraph as gg\ndef main(): pass\n",
    "base/errors.py": "from . import dtypes\n",
    "base/dtypes.py": "import numpy as np\n",
    "graph/__init__.py": "from .client import Graph\n",
    "graph/op_def.py": "from gpugraph.base import errors\n",
    "graph/client/graph.py": "from gpugraph.graph.op_def import OpDef\nfrom . import tensor\n",
    "graph/client/tensor.py": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from gpugraph.graph.client.graph import Graph\n"
    ),
    "ops/__init__.py": "import numpy\nimport gpugraph.graph as graph\n",
    "devices/gpu_devices.py": "try:\n    import cupy\nexcept ImportError:\n    cupy = None\n",
    "building/variables/variable.py": "from gpugraph.ops import relu\n",
    "building/variable_scope/get_variable.py": "from gpugraph.building.variables import variable\n",
    "plan/plan_record.py": "from gpugraph.kernel import Call\n",
    "runtime/run.py": (
        "from ..plan.plan_record import Plan\nfrom gpugraph.devices.gpu_devices import stream\n"
    ),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_sound_tree_has_no_faults(check: Check, tmp_path: Path) -> None:
    assert check(build(tmp_path, SOUND)) == []


BROKEN: tuple[tuple[Check, dict[str, str], str], ...] = (
    (part_faults, {"odd.py": ""}, "odd.py has no floor; give it one"),
    (part_faults, {"odd/a.py": ""}, "odd has no floor; give it one"),
    (part_faults, {"graph/odd.py": ""}, "graph/odd.py has no floor; give it one"),
    (floor_faults, {"ops/a.py": "import gpugraph.odd"}, "ops must not import odd"),
    (floor_faults, {"graph/a.py": "import gpugraph.ops.math"}, "graph must not import ops"),
    (floor_faults, {"graph/a.py": "from gpugraph import ops"}, "graph must not import ops"),
    (floor_faults, {"graph/a.py": "from ..ops import relu"}, "graph must not import ops"),
    (floor_faults, {"graph/a.py": "from .. import ops"}, "a.py:1: graph must not import ops"),
    (floor_faults, {"graph/__init__.py": "from .. import ops"}, "graph must not import ops"),
    (floor_faults, {"graph/a/b.py": "from ...ops import x"}, "graph must not import ops"),
    (floor_faults, {"graph/a.py": "def f():\n  import gpugraph.ops"}, "must not import ops"),
    (floor_faults, {"graph/a.py": "import gpugraph"}, "graph must not import __init__"),
    (floor_faults, {"library/a.py": "from gpugraph import Graph"}, "must not import __init__"),
    (
        floor_faults,
        {"kernel/a.py": "def f():\n  from ..graph import Node"},
        "kernel/a.py:2: kernel must not import graph",
    ),
    (
        type_faults,
        {"ops/a.py": "import typing\nif typing.TYPE_CHECKING:\n  from .b import B"},
        "ops/a.py:3: imports gpugraph.ops.b for types only",
    ),
    (floor_faults, {"base/dtypes.py": "from ..graph import Graph"}, "base must not import graph"),
    (floor_faults, {"ops/a.py": "import gpugraph.devices"}, "ops must not import devices"),
    (floor_faults, {"devices/a.py": "import gpugraph.graph"}, "devices must not import graph"),
    (
        floor_faults,
        {"building/gradients/a.py": "from gpugraph.building.variables import x"},
        "gradients must not import",
    ),
    (floor_faults, {"plan/a.py": "from .. import building"}, "plan must not import building"),
    (floor_faults, {"runtime/a.py": "import gpugraph.graph"}, "runtime must not import graph"),
    (floor_faults, {"runtime/a.py": "import gpugraph.ops"}, "runtime must not import ops"),
    (floor_faults, {"runtime/a.py": "import gpugraph.compile"}, "must not import compile"),
    (floor_faults, {"compile/a.py": "import gpugraph.runtime"}, "must not import runtime"),
    (
        floor_faults,
        {"session/a.py": "import gpugraph.building.variables"},
        "must not import building",
    ),
    (
        floor_faults,
        {"library/train/a.py": "import gpugraph.library.layers"},
        "train must not import",
    ),
    (floor_faults, {"ops/nn/pooling/a.py": "import gpugraph.ops.image.b"}, "nn must not import"),
    (
        floor_faults,
        {"ops/nn/windows/a.py": "from gpugraph.ops.nn.pooling import b"},
        "windows must not import pooling",
    ),
    (floor_faults, {"graph/op_def.py": "from .client import graph"}, "op_def must not import"),
    (floor_faults, {"compile/unit/a.py": "from ..steps import b"}, "unit must not import steps"),
    (foreign_faults, {"graph/a.py": "import numpy as np"}, "graph must not import numpy"),
    (foreign_faults, {"memory/a.py": "from numpy import add"}, "memory must not import numpy"),
    (foreign_faults, {"ops/a.py": "import cupyx.scipy"}, "cupy is imported only in devices"),
    (foreign_faults, {"devices/b.py": "import cupy"}, "devices/b.py, devices/gpu_devices.py"),
    (foreign_faults, {"session/a.py": "import ray"}, "ray is imported only in cluster"),
    (foreign_faults, {"ops/a.py": "import pandas.plotting"}, "pandas.plotting, which is no dep"),
    (door_faults, {"ops/a.py": "def f():\n  import math"}, "a.py:2: imports math inside a"),
    (door_faults, {"ops/a.py": "class A:\n  async def f(self):\n    from . import b"}, "inside"),
    (door_faults, {"ops/a.py": "f = lambda: __import__('math')"}, "imports math inside"),
    (
        door_faults,
        {"ops/a.py": "def f(x):\n  return importlib.import_module(x)"},
        "imports a computed name inside a function",
    ),
    (circle_faults, {"ops/a.py": "from . import b", "ops/b.py": "from .a import x"}, "ops.b"),
    (
        circle_faults,
        {"graph/client/tensor.py": "from gpugraph.graph.client.graph import Graph"},
        "client.tensor",
    ),
    (face_faults, {"api/math.py": '"""Face."""\ndef add(): pass'}, "api/math.py:2: a face defines"),
    (face_faults, {"api/contrib/slim.py": "class A: pass"}, "api/contrib/slim.py:1: a face"),
    (face_faults, {"__init__.py": "from .a import f as f\nb = f()"}, "__init__.py:2: a face"),
    (face_faults, {"api/math.py": "from gpugraph.ops import pi"}, "api/math.py:1: a face"),
    (face_faults, {"api/math.py": "pi = 3.14"}, "api/math.py:1: a face defines nothing"),
    (
        face_faults,
        {"api/math.py": "import gpugraph as _gg\npi = _gg.f().pi"},
        "api/math.py:2: a face",
    ),
    (
        face_faults,
        {"api/math.py": "if True:\n  import gpugraph.ops"},
        "api/math.py:1: a face defines",
    ),
)


@pytest.mark.parametrize(("check", "files", "fault"), BROKEN)
def test_a_broken_rule_is_found(
    check: Check, files: dict[str, str], fault: str, tmp_path: Path
) -> None:
    faults = check(build(tmp_path, SOUND | files))
    assert len(faults) == 1
    assert fault in faults[0]
