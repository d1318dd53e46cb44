"""The number of floating-point operations of an operation, from its type and static shapes.

The counts follow TensorFlow's statistics. A multiplication followed by an addition counts as two
operations. Ops without an entry, such as `Relu` and `Exp`, count as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from gpugraph.graph.client.operation import Operation

Function = Callable[[Any, Any], Any]


class OpStats:
    """A statistic of an operation: its type, such as "flops", and its value, which may be None."""

    def __init__(self, statistic_type: str, value: Any = None) -> None:
        self.statistic_type = statistic_type
        self.value = value

    def __iadd__(self, other: OpStats) -> OpStats:
        if other.statistic_type != self.statistic_type:
            raise ValueError(
                f"Can't add an OpStat of type {self.statistic_type} to one of "
                f"{other.statistic_type}."
            )
        if self.value is None:
            self.value = other.value
        elif other.value is not None:
            self.value += other.value
        return self


_registered: dict[tuple[str, str], Function] = {}


class RegisterStatistics:
    """A decorator that registers the function that computes a statistic of an op type. The function
    receives (graph, node) and returns an `OpStats`.

    Raises TypeError unless the op type is a string, and ValueError if the op type contains "_" or
    already has this statistic.
    """

    def __init__(self, op_type: str, statistic_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string.")
        if "," in op_type:
            raise TypeError("op_type must not contain a comma.")
        if not isinstance(statistic_type, str):
            raise TypeError("statistic_type must be a string.")
        self._key = op_type, statistic_type

    def __call__(self, function: Function) -> Function:
        if self._key in _registered:
            raise KeyError(f"Registering two statistics with name '{','.join(self._key)}'!")
        _registered[self._key] = function
        return function


def get_stats_for_node_def(graph: Any, node: Any, statistic_type: str) -> OpStats:
    """Return the statistic of a node of a graph. If there is none, its value is None."""
    function = _registered.get((node.op, statistic_type))
    if function is not None:
        return function(graph, node)
    if statistic_type == "flops" and node.op in _COUNTS:
        return OpStats("flops", float_operations(graph.get_operation_by_name(node.name)))
    return OpStats(statistic_type)


def float_operations(operation: Operation) -> int:
    """Return the number of floating-point operations of one execution. If a static shape that
    determines it is not known, return 0.
    """
    function = _registered.get((operation.type, "flops"))
    try:
        if function is not None:
            return int(function(operation.graph, operation.node_def).value or 0)
        return int(_COUNTS[operation.type](operation)) if operation.type in _COUNTS else 0
    except _UnknownShape:
        return 0


class _UnknownShape(Exception):
    """The error for a static shape that is not fully known."""


def _sizes(tensor: Any) -> list[int]:
    if not tensor.shape.is_fully_defined():
        raise _UnknownShape
    return tensor.shape.as_list()


def _inputs(operation: Operation, index: int = 0) -> int:
    """Return the number of elements of an input."""
    return prod(_sizes(operation.inputs[index]))


def _outputs(operation: Operation) -> int:
    """Return the number of elements of the output."""
    return prod(_sizes(operation.outputs[0]))


def _by_input(factor: int) -> Callable[[Operation], int]:
    return lambda operation: factor * _inputs(operation)


def _by_output(factor: int) -> Callable[[Operation], int]:
    return lambda operation: factor * _outputs(operation)


def _reduced(operation: Operation) -> int:
    return _inputs(operation) - _outputs(operation)


def _window(operation: Operation) -> int:
    """Return the number of elements of a pooling window."""
    if operation.node_def.attr["data_format"].s not in (b"NHWC", b""):
        raise ValueError("Only NHWC format is supported in flops computations")
    return prod(operation.get_attr("ksize"))


def _product(operation: Operation, transposed: str) -> int:
    first = _sizes(operation.inputs[0])
    inner = first[-2] if operation.get_attr(transposed) else first[-1]
    return 2 * inner * _outputs(operation)


def _convolution(operation: Operation) -> int:
    """Return the number of operations of a convolution with a filter of shape [..., inputs,
    outputs].
    """
    return 2 * _outputs(operation) * prod(_sizes(operation.inputs[1])[:-1])


def _per_stride(elements: list[int], filters: list[int], operation: Operation) -> float:
    """Return the number of operations of a gradient of a convolution."""
    strides = operation.get_attr("strides")
    return 2 * prod(elements) * prod(filters) / (elements[-1] * strides[1] * strides[2])


def _average_pool_gradient(operation: Operation) -> int:
    gradient = prod(_sizes(operation.inputs[1]))
    return 2 * _window(operation) * gradient


def _max_pool_gradient(operation: Operation) -> int:
    outputs = _inputs(operation, 1)
    return (_window(operation) + 1) * outputs


_COUNTS: dict[str, Callable[[Operation], float]] = {
    **dict.fromkeys(
        ("Reciprocal", "Square", "Log", "Neg", "AssignSub", "AssignAdd", "Mean"), _by_input(1)
    ),
    "Rsqrt": _by_input(2),
    "Softmax": _by_input(5),
    "L2Loss": lambda operation: 3 * _inputs(operation) - 1,
    **dict.fromkeys(
        (
            *("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "BiasAdd"),
            *("GreaterEqual", "Greater", "LessEqual", "Less", "Equal", "NotEqual"),
        ),
        _by_output(1),
    ),
    "RsqrtGrad": _by_output(4),
    "SquaredDifference": _by_output(2),
    **dict.fromkeys(("Sum", "ArgMax", "ArgMin", "BiasAddGrad"), _reduced),
    **dict.fromkeys(
        ("AvgPool", "MaxPool"), lambda operation: _window(operation) * _outputs(operation)
    ),
    "AvgPoolGrad": _average_pool_gradient,
    "MaxPoolGrad": _max_pool_gradient,
    "AddN": lambda operation: (len(operation.inputs) - 1) * _inputs(operation),
    "MatMul": lambda operation: _product(operation, "transpose_a"),
    **dict.fromkeys(
        ("BatchMatMul", "BatchMatMulV2"), lambda operation: _product(operation, "adj_x")
    ),
    **dict.fromkeys(("Conv2D", "Conv3D"), _convolution),
    **dict.fromkeys(
        ("DepthwiseConv2dNative", "Dilation2D"),
        lambda operation: 2 * _outputs(operation) * prod(_sizes(operation.inputs[1])[:2]),
    ),
    "Conv2DBackpropInput": lambda operation: _per_stride(
        _sizes(operation.outputs[0]), _sizes(operation.inputs[1]), operation
    ),
    "Conv2DBackpropFilter": lambda operation: _per_stride(
        _sizes(operation.inputs[0]), _sizes(operation.outputs[0]), operation
    ),
}
