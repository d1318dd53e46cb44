"""`tf.py_function`: a differentiable Python function whose tensor arguments have values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.building.function_calls.eager_values import EagerGraph
from gpugraph.building.gradients.backpropagation import gradients
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.py_func import eager_py_func
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def py_function(func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None) -> Any:
    """Add an op that calls `func` in each run with tensors that have values. Return the op's
    results.

    `func` receives a tensor for each of `inp`. It may read values (`x.numpy()`, `if x > 0:`) and
    use TensorFlow's functions, whose ops are computed when a value is read or returned. If `Tout`
    is a dtype, `func` returns one value. If `Tout` is a list of dtypes, `func` returns one value
    for each dtype. A returned None means zero. The gradient is computed from the ops in `func`.

    Returns a list of tensors if `Tout` is a list or tuple, one tensor if `Tout` is a dtype, and the
    operation if `Tout` is empty. Raises ValueError if `func` is not callable. A run raises the same
    errors as a run of `tf.py_func`.
    """
    if not callable(func):
        raise ValueError(
            f"Expected func to be callable. Received func={func} of type {type(func)}."
        )
    is_list = isinstance(Tout, (list, tuple))
    types = [as_dtype(dtype) for dtype in (Tout if is_list else [Tout])]
    inputs = [convert_to_tensor(value) for value in inp]
    outputs = _op(func, inputs, types, name)
    return outputs if is_list else outputs[0]


def _op(func: Any, inputs: Sequence[Tensor], types: Sequence[DType], name: str | None) -> Any:
    count = len(inputs)

    def forward(*values: Any) -> list[Any]:
        graph = EagerGraph()
        with graph.as_default():
            arguments = [graph.with_value(value) for value in values]
            results = _results(func(*arguments), types)
            return graph.values_of(results)

    def backward(*tensors: Tensor) -> list[Tensor]:
        arguments, grads = tensors[:count], tensors[count:]
        results = _results(func(*arguments), types)
        pairs = [pair for pair in zip(results, grads) if _has_gradient(pair[0])]
        input_grads = gradients(
            [result for result, _ in pairs], arguments, [grad for _, grad in pairs]
        )
        return [
            raw_ops.ZerosLike(argument) if grad is None else convert_to_tensor(grad)
            for grad, argument in zip(input_grads, arguments)
        ]

    def gradient(op: Any, *grads: Any) -> list[Any]:
        # a function of the same kind, so that it has a gradient in turn
        filled = [
            raw_ops.ZerosLike(output) if grad is None else grad
            for grad, output in zip(grads, op.outputs)
        ]
        input_types = [x.dtype.base_dtype for x in op.inputs]
        input_grads = _op(backward, [*op.inputs, *filled], input_types, None)
        return [
            grad if _has_gradient(tensor) else None for grad, tensor in zip(input_grads, op.inputs)
        ]

    return eager_py_func(forward, inputs, types, gradient, name)


def _has_gradient(tensor: Tensor) -> bool:
    return tensor.dtype.is_floating or tensor.dtype.is_complex


def _results(returned: Any, types: Sequence[DType]) -> list[Tensor]:
    """Return the results of the function as tensors of these dtypes."""
    if not types:
        return []
    values = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    if len(values) != len(types):
        raise ValueError(
            f"the function returns {len(values)} values, but expects to see {len(types)} values."
        )
    return [
        convert_to_tensor(0 if value is None else value, dtype)
        for value, dtype in zip(values, types)
    ]
