"""Random wrong calls of public functions: plausible arguments, of which one or two are wild."""

from __future__ import annotations

import contextlib
import inspect
import random
import types
from collections.abc import Callable
from typing import Any

import gpugraph as tf

from .argument_values import PLAUSIBLE, TENSORS, WILD, Maker

__all__ = ["public_functions", "random_call"]

FACES = (
    tf, tf.bitwise, tf.debugging, tf.image, tf.initializers, tf.io, tf.layers, tf.linalg, tf.losses,
    tf.manip, tf.math, tf.metrics, tf.nn, tf.nn.rnn_cell, tf.quantization, tf.random, tf.sets,
    tf.signal, tf.sparse, tf.spectral, tf.strings, tf.train,
    tf.contrib.framework, tf.contrib.layers, tf.contrib.slim,
)  # fmt: skip

GLOBAL = (
    "InteractiveSession NoGradient NotDifferentiable RegisterGradient no_gradient write_file "
    "read_file register_kernel register_op register_tensor_conversion_function reset_default_graph"
)
"""What changes more than the graph: registries, files, stacks."""

INTERNAL = (
    "Attr Call Elementwise NodeDef OpDef Operation Reduction Session Sized Source Tensor "
    "UnconnectedGradients VariableAggregation VariableSynchronization"
)
"""What programs don't call, or Python's own: enums."""

_LEFT_OUT = {*GLOBAL.split(), *INTERNAL.split()}


def public_functions() -> dict[str, Any]:
    """The functions and classes of the public modules, by their names."""
    functions: dict[int, tuple[str, Any]] = {}
    for face in FACES:
        prefix = face.__name__.replace("gpugraph.api.", "").replace("gpugraph", "")
        for name, function in sorted(vars(face).items()):
            is_error = isinstance(function, type) and issubclass(function, BaseException)
            if name.startswith(("_", "enable_", "disable_")) or name in _LEFT_OUT or is_error:
                continue
            if callable(function) and not isinstance(function, types.ModuleType):
                functions.setdefault(id(function), (f"{prefix}.{name}".lstrip("."), function))
    return dict(sorted(functions.values()))


def random_call(
    chance: random.Random, name: str, function: Any
) -> tuple[str, Callable[[], tuple[str, Callable[[], Any]]]]:
    """The function's name, and what makes its arguments: their text, and the call itself."""
    makers = _arguments(chance, function)

    def make() -> tuple[str, Callable[[], Any]]:
        arguments = {key: maker() for key, maker in makers.items()}
        text = ", ".join(f"{key}={_text(value)}" for key, value in arguments.items())
        return text, lambda: function(**arguments)

    return name, make


def _arguments(chance: random.Random, function: Any) -> dict[str, Maker]:
    """Of what is required, and of some of what is not; none, one or two of them wild."""
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
