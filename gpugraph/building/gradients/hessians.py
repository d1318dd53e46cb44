"""Hessians: second derivatives of scalars. A loop computes the Hessian row by row."""

from __future__ import annotations

from typing import Any

from gpugraph.building.control_flow import while_loop
from gpugraph.building.gradients.backpropagation import gradients
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.identity_and_shape import shape, size
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """Return the second derivatives of the sum of `ys` with respect to each of `xs` separately.

    Each result has the shape x.shape + x.shape. Raises LookupError if the first derivatives are
    computed by an op without a gradient. Raises ValueError if neither the ys nor their first
    derivatives depend on an x. `name` has no effect, as in TensorFlow.

    >>> x = tf.placeholder(tf.float32, [2])
    >>> session.run(tf.hessians(tf.reduce_sum(x ** 3), x), {x: [1, 2]})
    [array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)]
    """
    del name
    listed = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    sources = [x.handle if hasattr(x, "handle") else convert_to_tensor(x) for x in listed]
    options: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    grads = gradients(ys, sources, **options)
    values = [convert_to_tensor(x) for x in listed]
    return [_hessian(*triple, options) for triple in zip(grads, sources, values)]


def _hessian(first: Any, x: Tensor, value: Tensor, options: dict[str, Any]) -> Tensor:
    """Return the Hessian at `x`, of shape x.shape + x.shape.

    Args:
      first: the gradient at `x`. Each of its elements is differentiated.
      value: the value of `x`.
    """
    if first is None:
        raise ValueError(f"There is no Hessian at {x.name}: nothing in ys depends on it")
    flat = reshape(first, [-1])
    count = size(value)

    def row(index: Tensor, rows: TensorArray) -> tuple[Any, TensorArray]:
        second = gradients(flat[index], x, **options)[0]
        if second is None:
            raise ValueError(
                f"None values not supported: the gradient at {x.name} does not depend on it, so "
                "there is no Hessian"
            )
        return index + 1, rows.write(index, convert_to_tensor(second))

    rows = TensorArray(value.dtype.base_dtype, count)
    _, filled = while_loop(lambda index, _: index < count, row, [constant(0), rows])
    sizes = shape(value)
    return reshape(filled.stack(), concat([sizes, sizes], 0))
