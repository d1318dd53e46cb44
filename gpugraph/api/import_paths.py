"""The import paths of the public modules: `import gpugraph.nn` imports `gpugraph/api/nn.py`.

If a module's public path differs from the path of its file, both paths give the same module object.
`gpugraph.compat.v1` is the whole package. `add_to_public_modules` registers a function that extends
the public modules when they are imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

from gpugraph.base.deferred_names import one_import_at_a_time

_PACKAGE = __name__.partition(".")[0]

_API = """
    autograph bitwise compat contrib contrib.checkpoint contrib.crf contrib.data
    contrib.distribute contrib.distributions
    contrib.feature_column contrib.framework contrib.layers contrib.legacy_seq2seq contrib.lookup
    contrib.opt contrib.rnn
    contrib.seq2seq contrib.slim contrib.staging contrib.tensorboard contrib.tensorboard.plugins
    contrib.tensorboard.plugins.projector contrib.training contrib.util data
    debugging dtypes
    gfile graph_util image initializers io linalg manip math nn quantization random saved_model
    saved_model.builder saved_model.constants saved_model.loader saved_model.main_op
    saved_model.signature_constants saved_model.signature_def_utils saved_model.tag_constants
    saved_model.utils sets signal sparse spectral strings test
"""
"""The public modules whose files are in the folder `api`. Paths are relative to that folder."""

_SLIM = """
    data_decoder learning tfexample_decoder model_analyzer nets nets.alexnet nets.inception
    nets.inception_v1 nets.inception_v2 nets.inception_v3 nets.overfeat nets.resnet_utils
    nets.resnet_v1 nets.resnet_v2 nets.vgg
"""
"""Modules in `library.contrib.slim_models`, which are public under `contrib.slim`."""

_ELSEWHERE = """
app platform.app
audio api.shared.audio
autograph.experimental api.autograph.autograph_experimental
contrib.autograph api.contrib.autograph_names
contrib.eager api.contrib.eager_names
contrib.image api.contrib.image_names
contrib.nn api.contrib.nn_names
contrib.resampler api.contrib.resampler_names
contrib.sparsemax api.contrib.sparsemax_names
app.flags platform.flags
compat.v2 api.v2
compat.v2.data api.v2.data_v2
compat.v2.data.experimental api.v2.data_v2.experimental_v2
compat.v2.nn api.v2.nn_v2
data.experimental api.data.data_experimental
audio api.shared.audio
config.optimizer config.rewriting_options
contrib.distributions.bijectors api.contrib.bijectors
config.threading config.threading_settings
errors base.errors
flags platform.flags
io.gfile platform.gfile_v2
keras.constraints library.keras.keras_constraints
keras.experimental library.keras.keras_experimental
keras.initializers library.keras.keras_initializers
keras.regularizers library.keras.keras_regularizers
keras.utils library.keras.keras_utils
layers.experimental library.layers.keras_style
logging platform.logging
nest base.nest
nn.rnn_cell api.rnn_cell
ops.kernels ops.framework.kernel_registry
ops.shape_functions ops.framework.shape_functions
python_io api.shared.python_io
queue api.shared.queue
resource_loader platform.resource_loader
rnn.rnn_cell api.rnn_cell
session.direct session.direct_session
shapes base.shapes
version base.version
"""
"""One line per public path: the path, then the path of the file."""

_PACKAGES = """
    distribute distribute.cluster_resolver distribute.experimental distributions feature_column
    keras keras.activations keras.applications keras.backend
    keras.callbacks keras.datasets keras.layers keras.losses keras.metrics keras.models
    keras.optimizers
    keras.optimizers.schedules keras.preprocessing layers lookup lookup.experimental losses
    metrics summary train train.experimental
"""
"""The public packages whose files are in the folder `library`.

Paths are relative to that folder.
"""

_OWN_PACKAGES = "config config.experimental"
"""Packages whose public path is the path of their folder."""

_APPLICATIONS = """
    densenet imagenet_utils inception_resnet_v2 inception_v3 mobilenet mobilenet_v2 nasnet
    resnet resnet50 resnet_v2 vgg16 vgg19 xception
"""
"""Public modules that are attributes of `keras.applications`, without files."""

_PREPROCESSING = "image sequence text"
"""Public modules that are attributes of `keras.preprocessing`, without files."""

_DATASETS = "boston_housing cifar10 cifar100 fashion_mnist imdb mnist reuters"
"""Public modules that are attributes of `keras.datasets`, without files."""

_ATTRIBUTES = [
    *(f"keras.applications.{name}" for name in _APPLICATIONS.split()),
    *(f"keras.preprocessing.{name}" for name in _PREPROCESSING.split()),
    *(f"keras.datasets.{name}" for name in _DATASETS.split()),
]

_BUILDING = """
    checks compatibility control_flow gradients graph_files trackable variable_scope variables
"""
_LIBRARY = """
    crf datasets distributions keras layers linear_operators lookup losses metrics rnn saved_models
    seq2seq summary testing train
"""

_OWN = (
    "ops.",
    "rnn.",
    "session.",
    "shapes",
)  # prefixes of public paths that gpugraph has and TensorFlow does not

MODULE_PATHS = (
    {path: f"api.{path}" for path in _API.split()}
    | {f"contrib.slim.{path}": f"library.contrib.slim_models.{path}" for path in _SLIM.split()}
    | dict(line.split() for line in _ELSEWHERE.strip().splitlines())
    | {path: f"library.{path}" for path in _PACKAGES.split()}
    | {path: f"library.{path}" for path in _ATTRIBUTES}
)
"""A dict from a public path to the path of the module's file. Modules whose two paths are equal are
omitted.

Both paths are relative to the package.
"""

TENSORFLOW_PATHS = {
    path: module_path
    for path, module_path in (MODULE_PATHS | {path: path for path in _OWN_PACKAGES.split()}).items()
    if not path.startswith(_OWN)
}
"""By path in TensorFlow, the path of the module's file in this package."""

_FOLDERS = {
    **{name: f"building.{name}" for name in _BUILDING.split()},
    **{name: f"library.{name}" for name in _LIBRARY.split()},
    "contrib_framework": "library.contrib.framework",
    "contrib_layers": "library.contrib.layers",
    "slim_models": "library.contrib.slim_models",
}
"""By former path, the present path of each folder that was moved.

Old pickles contain the former.
"""

_WHOLE = "compat.v1"
_PARENTS = {path.rpartition(".")[0] for path in MODULE_PATHS} | {"compat"}


def public_module(path: str) -> ModuleType:
    """Import and return the public module at `path`, which is relative to the package."""
    module_path = MODULE_PATHS.get(path, path)
    attribute = path.rpartition(".")[2] if path in _ATTRIBUTES else ""
    module_path = module_path.removesuffix(f".{attribute}")
    with one_import_at_a_time():
        module = import_module(f"{_PACKAGE}.{module_path}" if module_path else _PACKAGE)
    return getattr(module, attribute) if attribute else module


class _Modules(Mapping[str, ModuleType]):
    """A mapping from public paths to modules. A lookup imports the module.

    Args:
      prefix: the text before the public path in each key.
    """

    def __init__(self, paths: Iterable[str], prefix: str = "") -> None:
        self._paths = {prefix + path: path for path in paths}

    def __getitem__(self, name: str) -> ModuleType:
        return public_module(self._paths[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


PUBLIC_MODULES = _Modules(MODULE_PATHS, f"{_PACKAGE}.")
"""The modules whose public path differs from their file's path, by full public path."""

TENSORFLOW_MODULES = _Modules(TENSORFLOW_PATHS)
"""The modules that exist here and in TensorFlow, by their path in TensorFlow."""

_OWN_PATHS = {module_path: path for path, module_path in TENSORFLOW_PATHS.items()}
_additions: list[Callable[[str, ModuleType], None]] = []


def add_to_public_modules(function: Callable[[str, ModuleType], None]) -> None:
    """Call `function(path, module)` for each public module that also exists in TensorFlow.

    If a module is not imported yet, the function is called after its import.
    """
    _additions.append(function)
    for module_path, path in _OWN_PATHS.items():
        if module := sys.modules.get(f"{_PACKAGE}.{module_path}"):
            function(path, module)


class _PublicPaths(MetaPathFinder):
    """An importer that finds modules by their public paths.

    If a public module is imported by its file path, the functions that `add_to_public_modules` has
    registered are called after the import.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec for a public path, a former path, or the file path of a public module.

        Returns None for any other name.
        """
        package, _, rest = fullname.partition(".")
        if package != _PACKAGE:
            return None
        if rest in _OWN_PATHS:
            return _with_additions(PathFinder.find_spec(fullname, path, target))
        public = _canonical(rest)
        if public == rest and rest not in MODULE_PATHS:
            return None
        return spec_from_loader(fullname, _Known(public), is_package=public in _PARENTS)


def _with_additions(spec: ModuleSpec | None) -> ModuleSpec | None:
    if spec is not None and isinstance(spec.loader, SourceFileLoader):
        spec.loader = _PublicLoader(spec.loader.name, spec.loader.path)
    return spec


class _PublicLoader(SourceFileLoader):
    """The loader for a public module that is imported by its file path.

    After the import it calls the functions that `add_to_public_modules` has registered.
    """

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, then call the functions that `add_to_public_modules` has
        registered.
        """
        super().exec_module(module)
        path = _OWN_PATHS[module.__name__.removeprefix(f"{_PACKAGE}.")]
        for function in _additions:
            function(path, module)


def _canonical(path: str) -> str:
    """Return the path without a leading `compat.v1`. If its first folder is the former name of a
    moved folder, replace that name.
    """
    while path == _WHOLE or path.startswith(f"{_WHOLE}."):
        path = path[len(_WHOLE) + 1 :]
    first, dot, rest = path.partition(".")
    if first in _FOLDERS and path not in MODULE_PATHS:
        return f"{_FOLDERS[first]}{dot}{rest}"
    return path


class _Known(Loader):
    """A loader that returns a module that is already imported under another path."""

    def __init__(self, path: str) -> None:
        self._path = path

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the public module by its file path, keep its spec for `exec_module`, and return
        it.
        """
        module = public_module(self._path)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import system has overwritten with the spec of
        this path.
        """
        module.__spec__ = self._spec


sys.meta_path.insert(0, _PublicPaths())
