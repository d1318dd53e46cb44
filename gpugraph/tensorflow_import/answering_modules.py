"""The module objects that programs import under TensorFlow's names, and the finders that create
them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from gpugraph.tensorflow_import.left_out import instead_of, refusal_at_call
from gpugraph.tensorflow_import.missing_names import MissingName, MissingNames, advice, shown
from gpugraph.tensorflow_import.module_table import VERSION
from gpugraph.tensorflow_import.old_keras import keras_1_arguments
from gpugraph.tensorflow_import.old_keras.module_table_of_keras import KERAS
from gpugraph.tensorflow_import.tensorflow_names import (
    ModulePath,
    canonical,
    find,
    is_module,
    names,
)

ROOT = "tensorflow"

_IMPORT_SYSTEM = (str(Path(__file__).resolve()), "<frozen importlib")


class TensorFlowModule(ModuleType):
    """A module with a TensorFlow name. Its attributes are looked up on first access."""

    def __init__(self, finder: TensorFlowFinder, path: str) -> None:
        super().__init__(full_name(path), f"TensorFlow's `{full_name(path)}`, from gpugraph.")
        self.__dict__.update(_finder=finder, _path=path)

    def __getattr__(self, name: str) -> Any:
        finder, path = self.__dict__["_finder"], self.__dict__["_path"]
        if name == "__all__":
            return dir(self)
        try:
            value = find(path, name)
        except AttributeError:
            raise finder.missing_attribute(path, name) from None
        if isinstance(value, ModulePath):
            value = finder.module(value.path)
        return self.__dict__.setdefault(name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute. An imported submodule that would hide a function of the same name is
        ignored.
        """
        if isinstance(value, TensorFlowModule) and not isinstance(
            find(self.__dict__["_path"], name), ModulePath
        ):
            return
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return names(self.__dict__["_path"])

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} from gpugraph>"


_DISTRIBUTIONS = ("tensorflow", "tensorflow-gpu", "tensorflow_gpu")


class _TensorFlowDistribution(Distribution):
    """The package metadata from which programs read TensorFlow's version."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        """Return the text of the file METADATA. Return None for any other file."""
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {VERSION}\n"

    def locate_file(self, path: Any) -> Path:
        """Return the path of a file in the folder that contains this package."""
        return Path(__file__).parent / path


class _Refusal:
    """The error text for a missing name.

    The search for similar names runs only when the text is read.
    """

    def __init__(self, path: str, name: str) -> None:
        self._module = full_name(path)
        self._asked = MissingName.here(f"{path}.{name}" if path else name)

    def __str__(self) -> str:
        name = self._asked.path.rpartition(".")[2]
        return f"module '{self._module}' has no attribute '{name}': {_absence(self._asked)}"

    __repr__ = __str__


def _absence(asked: MissingName) -> str:
    """Return the part of an error text with the code that used a missing name, and with similar
    names.
    """
    return f"gpugraph has no {shown(asked.path)} (used by {asked.place}){advice(asked.path)}"


def _importing_functions() -> set[str]:
    """Return the names of the functions of the import system that are among the callers."""
    functions = set()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_IMPORT_SYSTEM):
        functions.add(frame.f_code.co_name)
        frame = frame.f_back
    return functions


class TensorFlowFinder(MetaPathFinder, Loader):
    """The importer of `tensorflow` and the modules below it.

    `missing` records the names that programs looked up and that gpugraph does not have.
    """

    def __init__(self) -> None:
        self.missing = MissingNames()
        self._modules: dict[str, TensorFlowModule] = {}
        self._lock = threading.Lock()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a TensorFlow module. Return None for any other module, and for modules
        that TensorFlow does not have.

        A module that this package refuses can still be imported. Its names are placeholders.
        """
        root, _, rest = fullname.partition(".")
        if root != ROOT or rest.partition(".")[0] == KERAS:
            return None
        if is_module(rest) or refusal_at_call(canonical(rest)):
            return self._spec(rest)
        self.refuse(fullname, rest)
        return None

    def refuse(self, fullname: str, path: str) -> None:
        """Record a module as missing. If an import statement searches for it, raise
        ModuleNotFoundError or ImportError. The message contains the reason or similar names.
        """
        self.missing.add(path)
        if reason := instead_of(path):
            # The error has no `name`: a `from` import ignores an error whose `name` is the imported
            # module.
            raise ModuleNotFoundError(f"No module named '{fullname}': {reason}")
        callers = _importing_functions()
        text = _absence(MissingName.here(path))
        if "_handle_fromlist" in callers:
            parent, _, name = fullname.rpartition(".")
            raise ImportError(f"cannot import name '{name}' from '{parent}': {text}", name=parent)
        if "_find_and_load" in callers:
            raise ModuleNotFoundError(f"No module named '{fullname}': {text}", name=fullname)

    def _spec(self, path: str) -> ModuleSpec:
        return ModuleSpec(full_name(path), self, origin="gpugraph", is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of the spec. Every import of the same path returns the same object."""
        return self.module(spec.name.partition(".")[2])

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, because names are looked up on first access."""

    def find_distributions(self, context: Any = None) -> Iterator[Distribution]:
        """Yield the distribution `tensorflow` if `importlib.metadata` searches for it."""
        if getattr(context, "name", None) in _DISTRIBUTIONS:
            yield _TensorFlowDistribution(context.name)

    def module(self, path: str) -> TensorFlowModule:
        """Return the module `tensorflow.<path>`.

        While this finder is on `sys.meta_path`, the module is also added to `sys.modules`.
        """
        with self._lock:
            if path not in self._modules:
                module = TensorFlowModule(self, path)
                module.__spec__ = self._spec(path)
                module.__path__ = []
                self._modules[path] = module
            if self in sys.meta_path:
                sys.modules.setdefault(full_name(path), self._modules[path])
            return self._modules[path]

    def missing_attribute(self, path: str, name: str) -> AttributeError:
        """Return the AttributeError for a name that a module does not have.

        The name is recorded as missing, except for special names (`__x__`), which Python itself
        looks up.
        """
        if name.startswith("__") and name.endswith("__"):
            return AttributeError(f"module '{full_name(path)}' has no attribute '{name}'")
        self.missing.add(f"{path}.{name}" if path else name)
        return AttributeError(_Refusal(path, name))


class KerasFinder(MetaPathFinder, Loader):
    """The importer that imports `tf.keras` as `keras`, for environments in which Keras is not
    installed.

    It is the last finder, so that an installed Keras is used instead.
    """

    def __init__(self, finder: TensorFlowFinder) -> None:
        self._finder = finder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of Keras. Return None for the modules of an installed
        Keras.
        """
        root, _, rest = fullname.partition(".")
        if root != "keras" or (rest and not isinstance(sys.modules.get(root), TensorFlowModule)):
            return None
        ours = f"{KERAS}.{rest}" if rest else KERAS
        if not is_module(ours):
            self._finder.refuse(fullname, ours)
            return None
        return ModuleSpec(fullname, self, origin="gpugraph", is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a module whose names are looked up in `tf.keras` and in the names of Keras 2.2."""
        keras_1_arguments.accept()
        return self._finder.module(spec.name.replace("keras", KERAS, 1))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, because names are looked up on first access."""


def full_name(path: str) -> str:
    """Return the name by which programs import the module of a path."""
    if path == KERAS or path.startswith(f"{KERAS}."):
        return path.replace(KERAS, "keras", 1)
    return f"{ROOT}.{path}" if path else ROOT
