"""The package keras-preprocessing, which TensorFlow 1.15 uses. Imported on first use.

Its iterators become `tf.keras.utils.Sequence`s, which have a number of batches that `fit` can use.
The defaults of data formats and dtypes are Keras's.
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
"""The public path, by which pickles name the classes."""


class _Older(ModuleType):
    """A current module with the names that it has lost, for the package's own use."""

    def __init__(self, module: Any, **lost: Any) -> None:
        super().__init__(module.__name__)
        vars(self).update(lost, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _mend(sequence: Any, transformations: Any) -> None:
    """Give the package the names that NumPy 2 has removed and SciPy will remove."""
    if not isinstance(sequence.np, _Older):
        sequence.np = _Older(np, unicode_=np.str_)
        if scipy := getattr(transformations, "ndimage", None):  # optional
            transformations.ndimage = _Older(scipy, interpolation=scipy)


_SETTINGS: dict[str, Callable[[], str]] = {"data_format": image_data_format, "dtype": floatx}
_FLOWS = ("flow", "flow_from_directory", "flow_from_dataframe")


def name_of_package(module: str, name: str) -> Any:
    """Return a class or function of a module of the package, adapted to `tf.keras.preprocessing`.

    Without the package, return a class or function that raises ModuleNotFoundError when it is
    called. Therefore names can be listed, imported and looked up in every install.
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
    """Import the modules of the package.

    Raise ModuleNotFoundError, which names the extra to install, if it is missing.
    """
    users = "Functions of tf.keras.preprocessing"
    with package_of_extra("preprocessing", "keras-preprocessing", users):
        return {
            "image": importlib.import_module("keras_preprocessing.image"),
            "sequence": importlib.import_module("keras_preprocessing.sequence"),
            "text": importlib.import_module("keras_preprocessing.text"),
        }


def _refusing(name: str, reason: str) -> Any:
    """Return a class or function of this name whose call raises ModuleNotFoundError."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise ModuleNotFoundError(reason, name="keras_preprocessing")

    if name[0].isupper():
        return type(name, (), {"__init__": refuse, "__doc__": reason})
    return named(name, reason)(refuse)


_CLASSES: dict[Any, Any] = {}


def _class_of_keras(kind: Any) -> Any:
    """Return a class with Keras's settings; a class of batches becomes a Sequence."""
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
    """Wrap a function to use Keras's `data_format` and `dtype` as defaults and for None."""
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
    """Wrap a method so that the iterator that it returns has Keras's class."""

    @functools.wraps(method)
    def flow(*args: Any, **kwargs: Any) -> Any:
        iterator = method(*args, **kwargs)
        iterator.__class__ = _class_of_keras(type(iterator))
        return iterator

    return flow
