"""Conditions, loops, gradients and updates of variables, with Keras's names and arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import bool as bool_type
from gpugraph.building.control_flow import map_fold_scan
from gpugraph.building.control_flow.smart_cond import smart_cond
from gpugraph.building.gradients import backpropagation
from gpugraph.graph.client.default_graph_functions import name_scope as graph_name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.keras_variables import ndim
from gpugraph.library.keras.backend.learning_phase_scopes import learning_phase
from gpugraph.library.train.moving_averages import assign_moving_average
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones_like
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.arrays.tile_and_pad import tile
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.framework import identity_and_shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.state import reference_variable_ops

name_scope = graph_name_scope


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """Return `then_expression` where `condition` is true, else `else_expression`.

    Raises ValueError if the condition has more axes than the expressions.

    Args:
      condition: a scalar, or a tensor with all axes or the first axes of the expressions. For a
        scalar, only one branch runs. For any other tensor, both branches are computed, and the
        condition selects elements.
      then_expression, else_expression: tensors, or functions that return tensors.
    """
    condition = convert_to_tensor(condition)
    if condition.dtype.base_dtype != bool_type:
        condition = cast(condition, bool_type)
    if not ndim(condition):
        return smart_cond(condition, _function(then_expression), _function(else_expression))
    then, other = _function(then_expression)(), _function(else_expression)()
    return where(_like(condition, then), then, other)


def _function(expression: Any) -> Callable[[], Any]:
    return expression if callable(expression) else lambda: expression


def _like(condition: Tensor, expression: Any) -> Tensor:
    """Tile `condition` along the axes that only `expression` has.

    A vector, or a condition with the expression's rank, is returned unchanged, because `where`
    accepts it.
    """
    rank, wanted = int(ndim(condition) or 0), int(ndim(expression) or 0)
    if rank > wanted:
        raise ValueError(
            "Rank of `condition` should be less than or equal to rank of `then_expression` and "
            f"`else_expression`. ndim(condition)={rank}, ndim(then_expression)={wanted}"
        )
    if rank in (1, wanted):
        return condition
    sizes = identity_and_shape.shape(condition)
    longer = reshape(condition, concat([sizes, [1] * (wanted - rank)], 0))
    further = identity_and_shape.shape(expression)[rank:]
    return tile(longer, concat([ones_like(sizes), further], 0))


def in_train_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """Return `x` in the training phase, otherwise `alt`. `x` and `alt` are tensors, or functions
    that return tensors.

    Args:
      training: a bool, int or scalar tensor; by default the learning phase.
    """
    phase = learning_phase() if training is None else training
    if isinstance(phase, (bool, int)) and phase in (0, 1):
        chosen = x if phase else alt
        return chosen() if callable(chosen) else chosen
    return switch(phase, x, alt)


def in_test_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """Return `alt` in the training phase, otherwise `x`. See `in_train_phase`."""
    return in_train_phase(alt, x, training=training)


def map_fn(fn: Callable[..., Any], elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    """Apply `fn` to each slice of `elems` along the first axis, and stack the results.

    Args:
      dtype: the dtype of the results; by default the dtype of `elems`.
    """
    return map_fold_scan.map_fn(fn, elems, name=name, dtype=dtype)


def foldl(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None
) -> Any:
    """Reduce the slices along the first axis: accumulator = fn(accumulator, slice). Return the last
    accumulator.

    Args:
      initializer: the first accumulator; by default the first slice.
    """
    return map_fold_scan.foldl(fn, elems, initializer=initializer, name=name)


def foldr(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None
) -> Any:
    """Reduce the slices along the first axis, starting with the last: accumulator = fn(accumulator,
    slice).

    Return the last accumulator.

    Args:
      initializer: the first accumulator; by default the last slice.
    """
    return map_fold_scan.foldr(fn, elems, initializer=initializer, name=name)


def gradients(loss: Any, variables: Any) -> Any:
    """Return the gradients of `loss` with respect to `variables`, as a list."""
    return backpropagation.gradients(loss, variables)


def stop_gradient(variables: Any) -> Any:
    """Return `variables`, a tensor or a list of tensors. Gradients treat the result as a
    constant.
    """
    if isinstance(variables, (list, tuple)):
        return [identity_and_shape.stop_gradient(tensor) for tensor in variables]
    return identity_and_shape.stop_gradient(variables)


def update(x: Any, new_x: Any) -> Any:
    """Return an op that assigns the tensor `new_x` to the variable `x`."""
    return reference_variable_ops.assign(x, new_x)


def update_add(x: Any, increment: Any) -> Any:
    """Return an op that adds a tensor to the variable `x`."""
    return reference_variable_ops.assign_add(x, increment)


def update_sub(x: Any, decrement: Any) -> Any:
    """Return an op that subtracts a tensor from the variable `x`."""
    return reference_variable_ops.assign_sub(x, decrement)


def moving_average_update(x: Any, value: Any, momentum: Any) -> Any:
    """Return an op that sets the variable `x` to x * momentum + value * (1 - momentum).

    The average is corrected for its initial value of zero, as in
    `assign_moving_average(zero_debias=True)`.
    """
    return assign_moving_average(x, value, momentum, zero_debias=True)
