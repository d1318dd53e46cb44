"""The functions `compute_gradient` and `compute_gradient_error`, which compare gradients with
finite differences. The gradients and the finite differences are computed as Jacobians.

A Jacobian has a row for each number in x and a column for each number in y. Each complex number has
two rows or two columns, for its real and its imaginary part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.named_function import with_parameters_of
from gpugraph.building.gradients import gradients
from gpugraph.graph.client.default_stacks import session_stack
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.indexed_slices_to_tensor import dense
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import constant


def _session() -> Any:
    session = session_stack.top()
    if session is None:
        raise ValueError("There is no default session: use `with session.as_default():`")
    return session


def _numbers(array: Any) -> Any:
    """Return a real vector of an array's numbers. The vector is a view of the array.

    A complex number becomes two real numbers.
    """
    flat = array.reshape(-1)
    return flat.view(flat.real.dtype)


def _by_gradients(x: Tensor, y: Tensor, shapes: Any, value: Any, feeds: dict[Any, Any]) -> Any:
    (gradient,) = gradients(y, [x], identity(start := constant(1, y.dtype.base_dtype, shapes[1])))
    if gradient is None:
        raise ValueError(f"{y.name} has no gradient by {x.name}")
    slope = dense(gradient)
    one = np.zeros(shapes[1], y.dtype.as_numpy_dtype)
    jacobian = np.zeros((_numbers(value).size, _numbers(one).size), value.real.dtype)
    for column in range(jacobian.shape[1]):
        one[...] = 0
        _numbers(one)[column] = 1
        slopes = _session().run(slope, {**feeds, x: value, start: one})
        jacobian[:, column] = _numbers(np.asarray(slopes))
    return jacobian


def _by_differences(x: Any, y: Any, shapes: Any, value: Any, delta: float, feeds: Any) -> Any:
    moved = value.copy()
    numbers = _numbers(moved)
    size = int(np.prod(shapes[1])) * (2 if y.dtype.is_complex else 1)
    jacobian = np.zeros((numbers.size, size), value.real.dtype)
    for row in range(numbers.size):
        ends, before = [], numbers[row]
        for step in (delta, -delta):
            numbers[row] = before + step
            output = np.asarray(_session().run(y, {**feeds, x: moved}))
            ends.append(_numbers(output).astype(np.float64))
        numbers[row] = before
        jacobian[row] = (ends[0] - ends[1]) / (2 * delta)
    return jacobian


def _jacobians(
    x: Any, shape: Any, y: Any, y_shape: Any, value: Any, options: Any
) -> tuple[Any, Any]:
    delta, feeds = options
    kind = x.dtype.as_numpy_dtype
    if value is None:
        value = np.random.random_sample(shape)
    start = np.array(value, kind).reshape(shape)
    shapes = shape, y_shape
    other_feeds = {key: value for key, value in feeds.items() if key is not x}
    return (
        _by_gradients(x, y, shapes, start, other_feeds),
        _by_differences(x, y, shapes, start, delta, other_feeds),
    )


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """Return two Jacobians of y with respect to x. The first is computed from gradients, and the
    second from finite differences.

    The Jacobians are computed in the default session. Their shape is (number of elements of x,
    number of elements of y).

    Raises ValueError if there is no default session, or if y has no gradient with respect to x.

    Args:
      x, x_shape: a tensor and its shape, or a list of tensors and a list of their shapes. For
        lists, the result is a list with a pair of Jacobians for each tensor.
      x_init_value: the value of x. By default, it consists of random numbers in [0, 1).
      delta: the step of the finite differences.
      init_targets: an operation or a list of operations to run first.
      extra_feed_dict: a dict of additional feeds.
    """
    for target in _as_list(init_targets) if init_targets is not None else []:
        _session().run(target)
    options = delta, dict(extra_feed_dict or {})
    sizes = [int(size) for size in y_shape]
    if not isinstance(x, list):
        shape = [int(size) for size in x_shape]
        return _jacobians(x, shape, y, sizes, x_init_value, options)
    values = x_init_value if x_init_value is not None else [None] * len(x)
    return [
        _jacobians(source, [int(size) for size in shape], y, sizes, value, options)
        for source, shape, value in zip(x, x_shape, values, strict=True)
    ]


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]


@with_parameters_of(compute_gradient)
def compute_gradient_error(**arguments: Any) -> float:
    """Return the maximum absolute difference between the two Jacobians of `compute_gradient`."""
    jacobians = compute_gradient(**arguments)
    pairs = [jacobians] if isinstance(jacobians, tuple) else jacobians
    return max((float(np.abs(one - other).max(initial=0)) for one, other in pairs), default=0.0)
