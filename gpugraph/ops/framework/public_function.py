"""Public functions that are generated from declarations of ops.

    negative: UnaryFunction = public_function(op("Neg", inputs="x: T", ...), "negative")

A generated function has the op's inputs and `name` as parameters, and the op's docstring. If a
public function also has attrs as parameters, or changes its arguments, it is written in Python next
to the declaration of its op.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from gpugraph.base.named_function import named
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.composite_tensors import of_values
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.op_signatures import example_of


class UnaryFunction(Protocol):
    """A function of one tensor, `x`."""

    def __call__(self, x: Any, name: str | None = None) -> Tensor:
        """Add the operation `name` to the graph of `x`."""


class BinaryFunction(Protocol):
    """A function of two tensors, `x` and `y`."""

    def __call__(self, x: Any, y: Any, name: str | None = None) -> Tensor:
        """Add the operation `name` to the graph of `x` and `y`."""


class InputFunction(Protocol):
    """A function of one tensor, `input`."""

    def __call__(self, input: Any, name: str | None = None) -> Tensor:
        """Add the operation `name` to the graph of `input`."""


class ImagesFunction(Protocol):
    """A function of one tensor, `images`."""

    def __call__(self, images: Any, name: str | None = None) -> Tensor:
        """Add the operation `name` to the graph of `images`."""


class FeaturesFunction(Protocol):
    """A function of one tensor, `features`."""

    def __call__(self, features: Any, name: str | None = None) -> Tensor:
        """Add the operation `name` to the graph of `features`."""


def public_function(op_function: OpFunction, name: str = "", sparse: bool = False) -> Any:
    """Return a Python function `name(<inputs of the op>, name=None)` that calls `op_function`.

    Args:
      name: the function's `__name__`, by default the op type in snake case.
      sparse: whether the function also accepts a SparseTensor. It then applies the op to the
        SparseTensor's values and returns a SparseTensor.
    """
    label = name or op_function.__name__
    inputs = ", ".join(arg.name for arg in op_function.op_def.inputs)
    source = f"lambda {inputs}, name=None: op_function._of(({inputs},), name)"
    file = Path(__file__).with_name(
        f"<{label}>"
    )  # in this package, because its frames are never the origin of an op
    function = eval(compile(source, str(file), "eval"), {"op_function": op_function})
    op_def = op_function.op_def
    function = _of_module(named(label, op_def.summary + example_of(op_def.name))(function))
    types = {arg.name: Any for arg in op_function.op_def.inputs}
    function.__annotations__ = {**types, "name": str | None, "return": Tensor}
    return of_values(function) if sparse else function


def scoped_function(op_function: OpFunction, name: str, doc: str) -> UnaryFunction:
    """Return a function of the parameters `x` and `name` that calls `op_function` in a name scope.
    Its `__name__` is `name`.
    """
    default = name

    @named(name, doc + example_of(op_function.op_def.name))
    def function(x: Any, name: str | None = None) -> Tensor:
        with op_scope(name, default, x):
            return op_function(x)

    return _of_module(function)


def _of_module(function: Any) -> Any:
    """Set the function's `__module__` to the module that is being imported."""
    function.__module__ = _importing_module(sys._getframe(1))
    return function


def _importing_module(frame: FrameType) -> str:
    """Return the name of the module that was being imported when this frame was created."""
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals["__name__"])
