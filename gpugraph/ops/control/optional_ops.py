"""Optionals, which are scalar variant tensors. Each holds either a list of tensors or nothing.

In graphs of TensorFlow 2, the gradients of `If` and `Case` read values from inside the branches.
For each of these values, the op returns an optional. The branch that was executed stores its values
in its optionals, and the optionals of the other branches are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import scalar

_HOST = HostOnly("optionals are in host memory")
_NONE_HELD = "The given optional does not have a value."


@dataclass(frozen=True, slots=True, eq=False)
class OptionalValue:
    """The object in a variant tensor: a tuple of arrays, or None if the optional is empty."""

    arrays: tuple[Any, ...] | None

    def zero(self) -> OptionalValue:
        """Return an optional of zeros with the same dtypes and shapes. If this optional is empty,
        return it unchanged.
        """
        return self if self.arrays is None else OptionalValue(tuple(map(_zeros_like, self.arrays)))

    def __add__(self, other: OptionalValue) -> OptionalValue:
        """Return an optional of the elementwise sums, or an empty optional if both are empty.

        Raises InvalidArgumentError if only one of the two optionals is empty.
        """
        if self.arrays is None or other.arrays is None:
            if self.arrays is not None or other.arrays is not None:
                raise invalid_argument(
                    "Cannot add optionals because one has a value and the other doesn't."
                )
            return self
        return OptionalValue(tuple(a + b for a, b in zip(self.arrays, other.arrays, strict=True)))


def _zeros_like(array: Any) -> Any:
    """Return zeros of the shape and dtype of `array`.

    If `array` is a variant, return the zero of the object in it.
    """
    if array.dtype != object or not hasattr(array.item(0), "zero"):
        return np.zeros_like(array)
    zeros = np.empty(array.shape, object)
    zeros.fill(array.item(0).zero())
    return zeros


def _optional_in(array: Any) -> OptionalValue:
    held = array.item(0)
    if not isinstance(held, OptionalValue):
        raise invalid_argument("Input is not an optional.")
    return held


def _from_value(context: KernelContext, *arrays: Any) -> Callable[[], None]:
    *components, target = arrays
    return lambda: target.fill(OptionalValue(tuple(array.copy() for array in components)))


def _none(context: KernelContext, target: Any) -> Callable[[], None]:
    return lambda: target.fill(OptionalValue(None))


def _bind_has_value(context: KernelContext, source: Any, target: Any) -> Callable[[], None]:
    return lambda: target.fill(_optional_in(source).arrays is not None)


def _get_value(context: KernelContext, source: Any, *targets: Any) -> Callable[[], None]:
    types = tuple(context.attrs["output_types"])

    def run() -> None:
        arrays = _optional_in(source).arrays
        if arrays is None:
            raise invalid_argument(_NONE_HELD)
        if len(arrays) != len(types):
            raise invalid_argument(
                f"The given optional has {len(arrays)} components, expected {len(types)}."
            )
        for array, target, dtype in zip(arrays, targets, types):
            if array.dtype != target.dtype:
                raise invalid_argument(
                    f"The given optional has a component of {array.dtype}, expected {dtype.name}."
                )
            target[...] = array

    return run


def _infer_value(context: InferContext) -> Sequence[TensorShape]:
    held = context.value(0)
    if held is not None and (arrays := _optional_in(held).arrays) is not None:
        return [TensorShape.of(array.shape) for array in arrays]
    return list(context.attrs["output_shapes"])


def _value_gradient(operation: Any, *grads: Any) -> list[Any]:
    return [raw_ops.OptionalFromValue(list(grads))]


def _from_value_gradient(operation: Any, grad: Any) -> list[Any]:
    tensors = operation.inputs
    return list(
        raw_ops.OptionalGetValue(
            grad,
            output_types=[tensor.dtype for tensor in tensors],
            output_shapes=[tensor.shape for tensor in tensors],
        )
    )


_op = partial(op, infer=scalar, gpu=_HOST)

_op(
    "OptionalFromValue",
    inputs="components: Toutput_types",
    outputs="optional: variant",
    attrs={"Toutput_types": Attr("list(type)", minimum=1, required=True)},
    cpu=Call(make=_from_value, late=True, direct=True),
    memory=OpMemory(host_outputs=(0,)),
    grad=_from_value_gradient,
    doc="An optional that holds the inputs.",
)

_op(
    "OptionalNone",
    outputs="optional: variant",
    cpu=Call(make=_none, late=True, direct=True),
    memory=OpMemory(host_outputs=(0,)),
    grad=NO_GRADIENT,
    doc="An optional that holds nothing.",
)

_op(
    "OptionalHasValue",
    inputs="optional: variant",
    outputs="has_value: bool",
    cpu=Call(make=_bind_has_value, late=True, direct=True),
    memory=OpMemory(host_inputs=(0,)),
    grad=NO_GRADIENT,
    doc="Whether an optional holds tensors.",
)

_op(
    "OptionalGetValue",
    inputs="optional: variant",
    outputs="components: output_types",
    attrs={
        "output_types": Attr("list(type)", minimum=1, required=True),
        "output_shapes": Attr("list(shape)", minimum=1, required=True),
    },
    infer=_infer_value,
    cpu=Call(make=_get_value, late=True, direct=True),
    memory=OpMemory(host_inputs=(0,)),
    grad=_value_gradient,
    doc="The tensors of an optional. Raises InvalidArgumentError if it is empty.",
)
