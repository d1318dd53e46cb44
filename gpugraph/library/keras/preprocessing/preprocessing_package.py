"""The package keras-preprocessing, which TensorFlow 1.15 uses. The package is imported on first
use.

The package's iterators of batches become subclasses of `tf.keras.utils.Sequence`, because `fit`
uses the length of a Sequence. The defaults of `data_format` and `dtype` become Keras's defaults.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from gpugraph.base.named_function import named
from gpugraph.base.optional_packages import package_of_extra
from gpugraph.library.keras.backend.backend_config import floatx, image_data_format
from gpugraph.library.keras.inputs.sequence import Sequence

PACKAGE = "gpugraph.keras.preprocessing"
"""The public path of the modules, which pickles of their classes contain."""


class _Older(ModuleType):
    """A module with additional names that keras-preprocessing uses and that the installed version
    of the module lacks.
    """

    def __init__(self, module: Any, **lost: Any) -> None:
        super().__init__(module.__name__)
        vars(self).update(lost, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _mend(sequence: Any, transformations: Any) -> None:
    """Add names that NumPy 2 removed, and names that SciPy deprecates, to the modules that
    keras-preprocessing uses.
    """
    if not isinstance(sequence.np, _Older):
        sequence.np = _Older(np, unicode_=np.str_)
        if scipy := getattr(transformations, "ndimage", None):  # SciPy is optional
            transformations.ndimage = _Older(scipy, interpolation=scipy)


_SETTINGS: dict[str, Callable[[], str]] = {"data_format": image_data_format, "dtype": floatx}
_FLOWS = ("flow", "flow_from_directory", "flow_from_dataframe")


def name_of_package(module: str, name: str) -> Any:
    """Return a class or function of keras-preprocessing, adapted to `tf.keras.preprocessing`.

    If the package is missing, the returned object raises ModuleNotFoundError, but only when it is
    called. Therefore the names can be listed and imported in every installation.
    """
    try:
        modules = _modules()
    except ModuleNotFoundError as error:
        return _refusing(name, str(error))
    _mend(modules["sequence"], modules["image"].affine_transformations)
    value = getattr(modules[module], name)
    if inspect.isclass(value):
        return value if name == "Tokenizer" else _class_of_keras(value)
    return _with_settings(value) if module == "image" else value


def _modules() -> dict[str, Any]:
    """Import the modules of keras-preprocessing. Return a dict from names to modules.

    If the package is missing, raises ModuleNotFoundError, which names the extra to install.
    """
    users = "Functions of tf.keras.preprocessing"
    with package_of_extra("preprocessing", "keras-preprocessing", users):
        return {
            "image": importlib.import_module("keras_preprocessing.image"),
            "sequence": importlib.import_module("keras_preprocessing.sequence"),
            "text": importlib.import_module("keras_preprocessing.text"),
        }


def _refusing(name: str, reason: str) -> Any:
    """Return a class or function of this name that raises ModuleNotFoundError when it is called."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise ModuleNotFoundError(reason, name="keras_preprocessing")

    if name[0].isupper():
        return type(name, (), {"__init__": refuse, "__doc__": reason})
    return named(name, reason)(refuse)


_CLASSES: dict[Any, Any] = {}


def _class_of_keras(kind: Any) -> Any:
    """Return a subclass of a class of keras-preprocessing that has Keras's defaults. The subclass
    is created only once.

    The subclass of a class of batches is also a Sequence.
    """
    if kind not in _CLASSES:
        _CLASSES[kind] = _new_class(kind)
    return _CLASSES[kind]


def _new_class(kind: Any) -> Any:
    members: dict[str, Any] = {"__init__": _with_settings(kind.__init__)}
    members |= {name: _flow(getattr(kind, name)) for name in _FLOWS if hasattr(kind, name)}
    module = kind.__module__.split(".")[1]
    members |= {"__module__": f"{PACKAGE}.{module}", "__doc__": kind.__doc__}
    bases = [_class_of_keras(base) for base in kind.__bases__ if base.__name__ == "Iterator"]
    if not bases and hasattr(kind, "__getitem__"):
        bases = [Sequence]
    return type(kind.__name__, (kind, *bases), members)


def _with_settings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that None for `data_format` or `dtype` means Keras's default.

    The defaults are `image_data_format()` and `floatx()`.
    """
    signature = inspect.signature(function)
    names = [name for name in _SETTINGS if name in signature.parameters]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        for name in names:
            if bound.arguments.get(name) is None:
                bound.arguments[name] = _SETTINGS[name]()
        return function(*bound.args, **bound.kwargs)

    return call


def _flow(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that returns an iterator. The iterator's class becomes the class from
    `_class_of_keras`.
    """

    @functools.wraps(method)
    def flow(*args: Any, **kwargs: Any) -> Any:
        iterator = method(*args, **kwargs)
        iterator.__class__ = _class_of_keras(type(iterator))
        return iterator

    return flow
