"""Transformations that group elements by a key or by their length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import int64
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.library.data import data_nest
from gpugraph.library.data.dataset_base import DatasetSpec
from gpugraph.library.data.element_structure import are_compatible, flat_attrs
from gpugraph.library.data.experimental_transformations import Transformation, dense_to_sparse_batch
from gpugraph.library.data.reduced_states import stateful_function
from gpugraph.library.data.structured_function import StructuredFunction
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def group_by_window(
    key_func: Callable[..., Any], reduce_func: Callable[..., Any], window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:  # fmt: skip
    """Return a transformation that groups elements with equal keys, and reduces each group to a
    dataset.

    The resulting dataset concatenates these datasets. Raises ValueError unless exactly one of
    `window_size` and `window_size_func` is passed.

    Args:
      key_func: a function that receives an element and returns an int64 scalar.
      reduce_func: a function that receives a key and a dataset of a group's elements, and returns a
        dataset.
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func.")
    size_func = window_size_func or (lambda _: convert_to_tensor(window_size, dtype=int64))

    def apply(dataset: Any) -> Any:
        method = "tf.data.experimental.group_by_window()"
        key = _int64_function(key_func, method, dataset.element_spec, "key_func")
        size = _int64_function(
            lambda number: convert_to_tensor(size_func(number), dtype=int64), method,
            TensorSpec([], int64), "window_size_func",
        )  # fmt: skip
        group = DatasetSpec(dataset.element_spec, version_2=dataset._is_v2)
        reduce = StructuredFunction(reduce_func, method, (TensorSpec([], int64), group))
        if not isinstance(reduce.spec, DatasetSpec):
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        spec = reduce.spec.element_spec
        parts: dict[str, Any] = {"key_func": key, "reduce_func": reduce, "window_size_func": size}
        variant_tensor = raw_ops.GroupByWindowDataset(
            dataset._variant_tensor, *(part.captured for part in parts.values()),
            **functions_of(parts), **flat_attrs(spec),
        )  # fmt: skip
        return dataset._of(variant_tensor, spec, [dataset])

    return apply


def functions_of(parts: dict[str, StructuredFunction]) -> dict[str, Any]:
    """Return the attrs of an op that calls these functions, and their captured inputs."""
    return {name: part.function for name, part in parts.items()}


def _int64_function(
    function: Callable[..., Any], method: str, spec: Any, name: str
) -> StructuredFunction:
    traced = StructuredFunction(function, method, spec)
    if not are_compatible(traced.spec, TensorSpec([], int64)):
        raise ValueError(f"`{name}` must return a single tf.int64 tensor. Got {traced.spec}.")
    return traced


class Reducer:
    """The three functions of `group_by_reducer`.

    The three functions compute the first state, the next state, and the result for a key.
    """

    def __init__(
        self, init_func: Callable[..., Any], reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:  # fmt: skip
        self._init_func = init_func
        self._reduce_func = reduce_func
        self._finalize_func = finalize_func

    @property
    def init_func(self) -> Callable[..., Any]:
        """The function that returns the first state, given a key."""
        return self._init_func

    @property
    def reduce_func(self) -> Callable[..., Any]:
        """The function that returns the next state, given a state and an element."""
        return self._reduce_func

    @property
    def finalize_func(self) -> Callable[..., Any]:
        """The function that returns the result, given the last state."""
        return self._finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """Return a transformation into a dataset with one result for each key, in ascending order of
    the keys.
    """

    def apply(dataset: Any) -> Any:
        method = "tf.data.experimental.group_by_reducer()"
        key = _int64_function(key_func, method, dataset.element_spec, "key_func")
        init = StructuredFunction(reducer.init_func, method, TensorSpec([], int64))
        reduce, state = stateful_function(
            reducer.reduce_func, init.spec, dataset.element_spec, method
        )
        finalize = StructuredFunction(reducer.finalize_func, method, state)
        parts: dict[str, Any] = {
            "key_func": key, "init_func": init, "reduce_func": reduce, "finalize_func": finalize,
        }  # fmt: skip
        variant_tensor = raw_ops.GroupByReducerDataset(
            dataset._variant_tensor, *(part.captured for part in parts.values()),
            **functions_of(parts), **flat_attrs(finalize.spec),
        )  # fmt: skip
        return dataset._of(variant_tensor, finalize.spec, [dataset])

    return apply


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any], bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int], padded_shapes: Any = None, padding_values: Any = None,
    pad_to_bucket_boundary: bool = False, no_padding: bool = False, drop_remainder: bool = False,
) -> Transformation:  # fmt: skip
    """Return a transformation into a dataset of padded batches of elements of similar length.

    Raises ValueError unless there is exactly one more batch size than there are boundaries.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    sizes = np.array(bucket_batch_sizes, np.int64)
    lower = np.array([np.iinfo(np.int32).min, *bucket_boundaries], np.int32)
    upper = np.array([*bucket_boundaries, np.iinfo(np.int32).max], np.int32)

    def bucket(*arguments: Any) -> Any:
        length = raw_ops.Cast(convert_to_tensor(element_length_func(*arguments)), DstT="int32")
        is_inside = raw_ops.LogicalAnd(
            raw_ops.LessEqual(convert_to_tensor(lower), length),
            raw_ops.Less(length, convert_to_tensor(upper)),
        )
        return raw_ops.Min(raw_ops.Where(is_inside), convert_to_tensor([0, 1]))

    def window_size(number: Any) -> Any:
        return raw_ops.GatherV2(convert_to_tensor(sizes), number, 0)

    def batch(number: Any, group: Any) -> Any:
        size = window_size(number)
        if no_padding:
            return group.apply(dense_to_sparse_batch(size, _single_shape(group)))
        shapes = padded_shapes
        if shapes is None:
            shapes = data_nest.map_structure(lambda one: one.shape, group.element_spec)
        if pad_to_bucket_boundary:
            shapes = _to_boundary(shapes, number, bucket_boundaries)
        return group.padded_batch(size, shapes, padding_values, drop_remainder=drop_remainder)

    return lambda dataset: dataset.apply(
        group_by_window(bucket, batch, window_size_func=window_size)
    )


def _single_shape(group: Any) -> TensorShape:
    shape: TensorShape = data_nest.flatten(group.element_spec)[0].shape
    return shape


def _to_boundary(shapes: Any, number: Any, boundaries: Sequence[int]) -> Any:
    """Return the padded shapes of bucket `number`. The bucket's boundary replaces unknown sizes."""
    check = raw_ops.Assert(
        raw_ops.Less(number, convert_to_tensor(len(boundaries), dtype=int64)),
        [convert_to_tensor(
            "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
        )],
    )  # fmt: skip
    with number.graph.control_dependencies([check]):
        table = raw_ops.Identity(convert_to_tensor(np.array(boundaries, np.int64)))
        boundary = raw_ops.Sub(raw_ops.GatherV2(table, number, 0), np.int64(1))

    def padded(shape: Any) -> Any:
        sizes = as_shape(shape).sizes or ()
        parts = [boundary if size is None else np.int64(size) for size in sizes]
        return raw_ops.Pack([convert_to_tensor(part, dtype=int64) for part in parts], axis=0)

    return data_nest.map_structure(padded, shapes)
