"""The versions of libraries that need TensorFlow 2. If their import fails, the error names a
version that works.

The import is not prevented, because parts of some later versions work.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, NamedTuple


class LaterLibrary(NamedTuple):
    """A library's distribution, its first version that needs TensorFlow 2, and the version that
    works with gpugraph.
    """

    distribution: str
    first: tuple[int, ...]
    runs: str


_TABLE = """
adanet adanet 0.9 0.8.0
albert albert-tensorflow 2 1.1
autokeras autokeras 1 0.4.0
deepctr deepctr 0.9 0.8.2
edward2 edward2 0 edward==1.3.5
gpflow gpflow 2 1.5.1
keras keras 2.4 Keras==2.3.1
keras_bert keras-bert 0.90 0.89.0
keras_tuner keras-tuner 1.0.2 1.0.1
kerastuner keras-tuner 1.0.2 1.0.1
larq larq 0.10 0.9.4
ludwig ludwig 0.3 0.2.2
mesh_tensorflow mesh-tensorflow 0.2 0.1.19
neural_structured_learning neural-structured-learning 1.2 1.1.0
official tf-models-official 2 1.15.0
opennmt OpenNMT-tf 2 1.25.3
rasa rasa 2 1.10.0
segmentation_models segmentation-models 2 1.0.1
sonnet dm-sonnet 2 1.36
spektral spektral 0.2 0.1.2
stable_baselines3 stable-baselines3 0 stable-baselines==2.10.2
stellargraph stellargraph 0.9 0.8.4
t5 t5 0.6 0.5.0
tensorflow_addons tensorflow-addons 0 tf.contrib
tensorflow_compression tensorflow-compression 2 1.3
tensorflow_datasets tensorflow-datasets 2 1.3.2
tensorflow_estimator tensorflow-estimator 2 1.15.2
tensorflow_gan tensorflow-gan 2 1.0.0.dev0
tensorflow_hub tensorflow-hub 0.8 0.7.0
tensorflow_lattice tensorflow-lattice 2 0.9.9
tensorflow_model_analysis tensorflow-model-analysis 0.21 0.15.4
tensorflow_privacy tensorflow-privacy 0.5 0.2.2
tensorflow_probability tensorflow-probability 0.9 0.8.0
tensorflow_ranking tensorflow-ranking 0.3 0.2.3
tensorflow_transform tensorflow-transform 0.21 0.15.0
tensorforce tensorforce 0.6 0.5.5
tensorlayer tensorlayer 2 1.11.1
texar texar 1 0.2.4
tf_agents tf-agents 0.4 0.3.0
tf2onnx tf2onnx 1.9 1.8.5
tf_keras tf-keras 0 tf.keras
trfl trfl 1.2 1.1.0
"""
"""By module: the distribution, the first version for TensorFlow 2 (0: each), the one that runs."""


_CHECK = "_validate_tf_environment"
"""The function of tensorflow-probability that compares TensorFlow's version."""


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version. For "0.16.1.dev0", they are (0, 16, 1)."""
    numbers = []
    for part in version.split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _rows() -> dict[str, LaterLibrary]:
    rows = (line.split() for line in _TABLE.strip().splitlines())
    return {
        module: LaterLibrary(name, version_numbers(first), runs)
        for module, name, first, runs in rows
    }


LATER_LIBRARIES = _rows()
"""By module, the libraries with versions that need TensorFlow 2."""


def need_of_tensorflow_2(module: str) -> str:
    """Return a text that states that an installed library needs TensorFlow 2, and names the version
    that works. If it does not need TensorFlow 2, return "".
    """
    row = LATER_LIBRARIES.get(module)
    if row is None:
        return ""
    try:
        version = metadata.version(row.distribution)
    except metadata.PackageNotFoundError:
        return ""
    if version_numbers(version) < row.first:
        return ""
    runs = row.runs if row.runs.startswith("tf.") or "==" in row.runs else ""
    runs = runs or f"{row.distribution}=={row.runs}"
    how = "use" if runs.startswith("tf.") else "pip install --no-deps"
    return (
        f"{row.distribution} {version} needs TensorFlow 2, and gpugraph is TensorFlow 1; "
        f"what runs: {how} {runs}"
    )


class LaterLibraryFinder(MetaPathFinder):
    """The finder that wraps the loaders of the libraries in the table."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a library whose version needs TensorFlow 2. Return None for other
        modules.
        """
        if fullname not in LATER_LIBRARIES or not need_of_tensorflow_2(fullname):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _ExplainingLoader(spec.loader)
        return spec


class _ExplainingLoader(Loader):
    """A loader that explains why the execution of a module by another loader has failed."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module with the other loader."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module. If this raises an error, raise an ImportError that names the version
        that works.

        If the error is that a package other than TensorFlow is missing, the original error is
        raised.
        """
        try:
            self._loader.exec_module(module)
            if _CHECK in vars(module):  # otherwise the library calls it on first use
                vars(module)[_CHECK]("distributions")
        except (ImportError, AttributeError, TypeError, ValueError, RuntimeError) as error:
            missing = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
            if missing.partition(".")[0] not in ("", "tensorflow", module.__name__):
                raise
            sys.modules.pop(module.__name__, None)
            raise ImportError(
                f"{need_of_tensorflow_2(module.__name__)} ({error})", name=module.__name__
            ) from error
