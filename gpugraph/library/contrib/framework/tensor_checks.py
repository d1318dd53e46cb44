"""Checks of tensors and small functions of tensors that metrics and older programs use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.shapes import as_shape
from gpugraph.building.checks import assert_equal, assert_scalar as check_scalar
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train import assert_global_step, get_global_step
from gpugraph.ops.elementwise.arithmetic_functions import add_n
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.losses import loss_weights
from gpugraph.ops.reductions.reduction_functions import reduce_sum


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """Return the value as a tensor. Raises ValueError if its static shape is known not to be
    scalar.

    Args:
      message: the start of the error message.
    """
    with name_scope(name, "assert_scalar", [tensor]):
        return check_scalar(convert_to_tensor(tensor), message=message)


def assert_scalar_int(tensor: Any, name: str | None = None) -> Tensor:
    """Return the value as a tensor. Raises ValueError unless the tensor is an integer scalar."""
    with name_scope(name, "assert_scalar_int", [tensor]):
        source = convert_to_tensor(tensor)
        if not source.dtype.base_dtype.is_integer:
            raise ValueError(
                f"Expected integer type for {source.name}, received type: {source.dtype}."
            )
        return check_scalar(source)


def assert_or_get_global_step(graph: Graph | None = None, global_step_tensor: Any = None) -> Any:
    """Return `global_step_tensor` after a check. If `global_step_tensor` is None, return the global
    step of the graph.

    Raises TypeError if the tensor is not an integer.
    """
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor


def reduce_sum_n(tensors: Sequence[Any], name: str | None = None) -> Tensor:
    """Return the sum of all elements of all tensors, as a scalar. Raises ValueError for an empty
    list.
    """
    if not tensors:
        raise ValueError("No tensors provided.")
    with name_scope(name, "reduce_sum_n", tensors) as scope:
        sums = [reduce_sum(tensor) for tensor in tensors]
        return sums[0] if len(sums) == 1 else add_n(sums, name=scope)


def remove_squeezable_dimensions(
    predictions: Any, labels: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return (predictions, labels).

    If one of the two has an additional last axis of size 1, the axis is removed.
    """
    squeezed_labels, squeezed_predictions = loss_weights.remove_squeezable_dimensions(
        labels, predictions, name=name
    )
    return squeezed_predictions, squeezed_labels


def with_same_shape(expected_tensor: Any, tensor: Any) -> Tensor:
    """Return `tensor` after a check that it has the shape of `expected_tensor`. For the errors, see
    `with_shape`.
    """
    with name_scope("with_same_shape", values=[expected_tensor, tensor]):
        expected = convert_to_tensor(expected_tensor)
        static = expected.shape
        return with_shape(static if static.is_fully_defined() else shape(expected), tensor)


def with_shape(expected_shape: Any, tensor: Any) -> Tensor:
    """Return `tensor` after a check that its shape is `expected_shape`.

    Raises ValueError if the statically known parts of the two shapes contradict each other. If
    these parts do not decide whether the shapes are equal, each run checks the shape, and raises
    InvalidArgumentError if it differs. However, if `expected_shape` has unknown sizes, only the
    static shape of `tensor` is refined, and no run checks it.
    """
    source = convert_to_tensor(tensor)
    known = expected_shape
    if isinstance(expected_shape, Tensor):
        known = constant_value(expected_shape)
    graph = get_default_graph()
    if known is not None:
        wanted = as_shape(known)
        if not source.shape.is_compatible_with(wanted):
            raise ValueError(
                f"Tensor {source.name} is of shape {source.shape}, but {wanted} is expected"
            )
        if source.shape.is_fully_defined():
            return source
        if not wanted.is_fully_defined():
            source.set_shape(wanted)
            return source
        known = wanted.as_list()
    with name_scope("with_shape", values=[source]):
        target = expected_shape if known is None else known
        message = f"Tensor {source.name} is of another shape than is expected"
        check = assert_equal(shape(source), target, message=message)
        with graph.control_dependencies([check]):
            checked = identity(source)
    if known is not None:
        checked.set_shape(known)
    return checked
