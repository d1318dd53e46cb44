"""Random wrong calls of public functions: plausible arguments, of which one or two are wild."""

from __future__ import annotations

import contextlib
import inspect
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import gpugraph as tf
from gpugraph.api.import_paths import TENSORFLOW_MODULES

from .argument_values import PLAUSIBLE, TENSORS, WILD, Maker

__all__ = ["public_functions", "random_call"]

_OTHERS = (
    "app compat config errors flags gfile io.gfile keras.applications keras.preprocessing logging "
    "resource_loader test contrib.slim.learning contrib.slim.nets saved_model.builder"
)
OTHER_FACES = _OTHERS.split()
"""Modules of which no function is called: of files, settings of the process, whole trainings."""

GLOBAL = (
    "InteractiveSession NoGradient NotDifferentiable RegisterGradient no_gradient write_file "
    "read_file register_kernel register_op register_tensor_conversion_function reset_default_graph "
    "clear_session set_epsilon set_floatx set_image_data_format set_learning_phase set_session "
    "manual_variable_initialization Server"
)
"""Names that change more than the graph: registries, files, stacks, settings of Keras, ports."""

INTERNAL = (
    "Attr Call Elementwise NodeDef OpDef Operation Reduction Session Sized Source Tensor "
    "UnconnectedGradients VariableAggregation VariableSynchronization"
)
"""Names that programs don't call, or Python's own: enums."""

_LEFT_OUT = {*GLOBAL.split(), *INTERNAL.split()}


def faces() -> Iterator[tuple[str, Any]]:
    """Yield each public module whose functions are called, and its path, and the root's is
    empty.
    """
    yield "", tf
    for path, module in TENSORFLOW_MODULES.items():
        if not any(path == other or path.startswith(f"{other}.") for other in OTHER_FACES):
            yield path, module


def public_functions() -> dict[str, Any]:
    """Return the functions and classes of the public modules, by their names."""
    functions: dict[int, tuple[str, Any]] = {}
    for path, face in faces():
        for name in dir(face):
            function = getattr(face, name)
            is_error = isinstance(function, type) and issubclass(function, BaseException)
            if name.startswith(("_", "enable_", "disable_")) or name in _LEFT_OUT or is_error:
                continue
            only_names = hasattr(face, "__path__") or face.__name__.startswith("gpugraph.api.")
            is_own = only_names or getattr(function, "__module__", None) == face.__name__
            is_own &= getattr(function, "__module__", None) not in ("typing", "abc")
            if is_own and callable(function) and not isinstance(function, types.ModuleType):
                functions.setdefault(id(function), (f"{path}.{name}".lstrip("."), function))
    return dict(sorted(functions.values(), key=lambda pair: pair[0]))


def random_call(
    chance: random.Random, name: str, function: Any
) -> tuple[str, Callable[[], tuple[str, Callable[[], Any]]]]:
    """Return the function's name, and a maker of its arguments: their text, and the call itself."""
    makers = _arguments(chance, function)

    def make() -> tuple[str, Callable[[], Any]]:
        arguments = {key: maker() for key, maker in makers.items()}
        text = ", ".join(f"{key}={_text(value)}" for key, value in arguments.items())
        return text, lambda: _called(function, arguments)

    return name, make


def _called(function: Any, arguments: dict[str, Any]) -> Any:
    """Call the function; an argument's lack of a public attribute is a TypeError.

    TensorFlow raises AttributeError where it accepts an object of any class, such as an optimizer,
    and gets one without its methods.
    """
    try:
        return function(**arguments)
    except AttributeError as error:
        is_private = error.name.startswith("_") and not error.name.endswith("__")
        if is_private or all(error.obj is not part for part in arguments.values()):
            raise
        raise TypeError(f"not the object that is asked for: {error}") from error


def _arguments(chance: random.Random, function: Any) -> dict[str, Maker]:
    """Return makers of the required arguments and of some optional ones; none, one or two are
    wild.
    """
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters: list[inspect.Parameter] = []
    with contextlib.suppress(TypeError, ValueError):  # a class that has no signature
        parameters += inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind not in kinds]
    wanted = [
        parameter.name
        for parameter in parameters
        if parameter.name in names
        and (parameter.default is parameter.empty or chance.random() < 0.2)
    ]
    makers = {name: chance.choice(PLAUSIBLE.get(name, TENSORS)) for name in wanted}
    for _ in range(chance.choice([0, 1, 1, 1, 2]) if names else 0):
        makers[chance.choice(names)] = chance.choice(WILD)
    return makers


def _text(value: Any) -> str:
    with contextlib.suppress(Exception):
        return " ".join(repr(value)[:80].split())
    return f"a {type(value).__name__}"
