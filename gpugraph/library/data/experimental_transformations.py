"""The transformations of `tf.data.experimental`: functions that return one for `Dataset.apply`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import bool as bool_type, int64
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.library.data import data_nest
from gpugraph.library.data.dataset_base import DatasetSpec, int64_tensor, seed_tensors
from gpugraph.library.data.dataset_transformations import static_batch_size
from gpugraph.library.data.element_structure import (
    are_compatible,
    batched,
    flat_attrs,
    normalize_element,
    to_tensor_list,
    type_spec_from_value,
)
from gpugraph.library.data.reduced_states import stateful_function
from gpugraph.library.data.structured_function import StructuredFunction
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.sparse.sparse_tensor_spec import SparseTensorSpec

Transformation = Callable[[Any], Any]


def unbatch() -> Transformation:
    """Return the transformation to the rows of elements."""
    return lambda dataset: dataset.unbatch()


def enumerate_dataset(start: Any = 0) -> Transformation:
    """Return the transformation to pairs of a number and an element."""
    return lambda dataset: dataset.enumerate(start)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """Return the transformation to several epochs of elements, each in random order."""

    def apply(dataset: Any) -> Any:
        size = int64_tensor(buffer_size, "buffer_size")
        number = int64_tensor(-1 if count is None else count, "count")
        seeds = seed_tensors(seed)
        variant_tensor = raw_ops.ShuffleAndRepeatDataset(
            dataset._variant_tensor, size, *seeds, number, **dataset._flat_structure
        )
        return dataset._same(variant_tensor)

    return apply


def map_and_batch(
    map_func: Callable[..., Any], batch_size: Any, num_parallel_batches: Any = None,
    drop_remainder: Any = False, num_parallel_calls: Any = None,
) -> Transformation:  # fmt: skip
    """Return the transformation to batches of a function's results.

    ValueError if both `num_parallel_batches` and `num_parallel_calls` are set.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive."
        )

    def apply(dataset: Any) -> Any:
        function = dataset._function(map_func, "tf.data.experimental.map_and_batch()")
        size = int64_tensor(batch_size, "batch_size")
        calls = num_parallel_calls
        if calls is None:
            calls = 1 if num_parallel_batches is None else num_parallel_batches * batch_size
        numbers = size, int64_tensor(calls, "num_parallel_calls")
        drop = convert_to_tensor(drop_remainder, dtype=bool_type, name="drop_remainder")
        spec = batched(function.spec, static_batch_size(size, drop))
        variant_tensor = raw_ops.MapAndBatchDataset(
            dataset._variant_tensor, function.captured, *numbers, drop, f=function.function,
            preserve_cardinality=True, **flat_attrs(spec),
        )  # fmt: skip
        return dataset._of(variant_tensor, spec, [dataset])

    return apply


map_and_batch_with_legacy_function = map_and_batch


def parallel_interleave(
    map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1, sloppy: Any = False,
    buffer_output_elements: Any = None, prefetch_input_elements: Any = None,
) -> Transformation:  # fmt: skip
    """Return the transformation to the elements of datasets that a function returns, side by side.

    sloppy: whether the order may differ from run to run; here it is always the same.
    """

    def apply(dataset: Any) -> Any:
        function = dataset._nested(map_func, "tf.data.experimental.parallel_interleave()", "")
        buffered = 2 * block_length if buffer_output_elements is None else buffer_output_elements
        ahead = 2 * cycle_length if prefetch_input_elements is None else prefetch_input_elements
        spec = function.spec.element_spec
        variant_tensor = raw_ops.ParallelInterleaveDataset(
            dataset._variant_tensor,
            function.captured,
            int64_tensor(cycle_length, "cycle_length"),
            int64_tensor(block_length, "block_length"),
            convert_to_tensor(sloppy, dtype=bool_type, name="sloppy"),
            int64_tensor(buffered, "buffer_output_elements"),
            int64_tensor(ahead, "prefetch_input_elements"),
            f=function.function,
            **flat_attrs(spec),
        )
        return dataset._of(variant_tensor, spec, [dataset])

    return apply


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Transformation:
    """Return the transformation to batches of elements of different shapes, as sparse tensors."""

    def apply(dataset: Any) -> Any:
        types = data_nest.flatten(dataset.element_spec)
        if len(types) != 1 or not isinstance(types[0], TensorSpec):
            raise TypeError(
                "DenseToSparseDataset requires an input whose elements have a single component, "
                f"whereas the input has {dataset.element_spec!r}."
            )
        shape = as_shape(row_shape)
        sizes = [-1 if size is None else size for size in shape.sizes or ()]
        spec = SparseTensorSpec(TensorShape([None]).concatenate(shape), types[0].dtype)
        variant_tensor = raw_ops.DenseToSparseBatchDataset(
            dataset._variant_tensor, int64_tensor(batch_size, "batch_size"),
            convert_to_tensor(np.array(sizes, np.int64), name="row_shape"), **flat_attrs(spec),
        )  # fmt: skip
        return dataset._of(variant_tensor, spec, [dataset])

    return apply


def dense_to_ragged_batch(
    batch_size: Any, drop_remainder: Any = False, row_splits_dtype: Any = int64
) -> Transformation:
    """Raise NotImplementedError: there are no ragged tensors."""
    raise NotImplementedError(
        "There are no ragged tensors: use tf.data.experimental.dense_to_sparse_batch or "
        f"Dataset.padded_batch({batch_size}, ...)"
    )


def ignore_errors() -> Transformation:
    """Return the transformation that omits elements which can't be computed."""
    return lambda dataset: dataset._same(
        raw_ops.IgnoreErrorsDataset(dataset._variant_tensor, **dataset._flat_structure)
    )


def unique() -> Transformation:
    """Return the transformation that omits elements which have come before."""

    def apply(dataset: Any) -> Any:
        names = [one.dtype.name for one in data_nest.flatten(dataset.element_spec)]
        if names not in (["int32"], ["int64"], ["string"]):
            raise TypeError(
                "`tf.data.experimental.unique()` only supports inputs with a single component of "
                f"dtype int32, int64 or string; the dtypes are {', '.join(names)}."
            )
        return dataset._same(
            raw_ops.UniqueDataset(dataset._variant_tensor, **dataset._flat_structure)
        )

    return apply


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Return the transformation to the elements before the first for which a function is false."""

    def apply(dataset: Any) -> Any:
        function = dataset._function(predicate, "tf.data.experimental.take_while()")
        if not are_compatible(function.spec, TensorSpec([], bool_type)):
            raise ValueError(
                "`predicate` return type must be convertible to a scalar boolean tensor. Was "
                f"{function.spec}."
            )
        variant_tensor = raw_ops.TakeWhileDataset(
            dataset._variant_tensor, function.captured, predicate=function.function,
            **dataset._flat_structure,
        )  # fmt: skip
        return dataset._same(variant_tensor)

    return apply


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """Return the transformation to the outputs of a function of a state and an element.

    scan_func: returns the next state and the output.
    """

    def apply(dataset: Any) -> Any:
        initial = normalize_element(initial_state)

        def checked(state: Any, element: Any) -> Any:
            results = scan_func(state, element)
            if not isinstance(results, (tuple, list)) or len(results) != 2:
                raise TypeError(
                    "The scan function must return a pair comprising the new state and the output "
                    "value."
                )
            return tuple(results)

        function, state = stateful_function(
            checked, type_spec_from_value(initial), dataset.element_spec,
            "tf.data.experimental.scan()", lambda spec: spec[0],
        )  # fmt: skip
        spec = function.spec[1]
        variant_tensor = raw_ops.ScanDataset(
            dataset._variant_tensor, to_tensor_list(state, initial), function.captured,
            f=function.function, preserve_cardinality=True, **flat_attrs(spec),
        )  # fmt: skip
        return dataset._of(variant_tensor, spec, [dataset])

    return apply


def assert_cardinality(expected_cardinality: Any) -> Transformation:
    """Return the transformation that declares the number of elements, which a run checks."""

    def apply(dataset: Any) -> Any:
        number = int64_tensor(expected_cardinality, "expected_cardinality")
        return dataset._same(
            raw_ops.AssertCardinalityDataset(
                dataset._variant_tensor, number, **dataset._flat_structure
            )
        )

    return apply


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Return the transformation that has elements on another device: its consumers fetch them."""
    del target_device, source_device
    return lambda dataset: dataset._same(dataset._variant_tensor)


def prefetch_to_device(device: str, buffer_size: Any = None) -> Transformation:
    """Return the transformation that reads elements ahead for a device."""
    del device
    return lambda dataset: dataset.prefetch(buffer_size)


def group_by_window(
    key_func: Callable[..., Any], reduce_func: Callable[..., Any], window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:  # fmt: skip
    """Return the transformation to datasets made of groups of elements with equal keys.

    key_func: returns a scalar of int64. reduce_func: returns a dataset for a key and a dataset of
    its elements. ValueError unless one of the sizes is set.
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
    """Return the functions as the attrs of an op."""
    return {name: part.function for name, part in parts.items()}


def _int64_function(
    function: Callable[..., Any], method: str, spec: Any, name: str
) -> StructuredFunction:
    traced = StructuredFunction(function, method, spec)
    if not are_compatible(traced.spec, TensorSpec([], int64)):
        raise ValueError(f"`{name}` must return a single tf.int64 tensor. Got {traced.spec}.")
    return traced


class Reducer:
    """The functions of `group_by_reducer`: first state, next state, and result of a key."""

    def __init__(
        self, init_func: Callable[..., Any], reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:  # fmt: skip
        self._init_func = init_func
        self._reduce_func = reduce_func
        self._finalize_func = finalize_func

    @property
    def init_func(self) -> Callable[..., Any]:
        """The function of a key that returns the first state."""
        return self._init_func

    @property
    def reduce_func(self) -> Callable[..., Any]:
        """The function of a state and an element that returns the next state."""
        return self._reduce_func

    @property
    def finalize_func(self) -> Callable[..., Any]:
        """The function of the last state that returns the result."""
        return self._finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """Return the transformation to a result for each key, in ascending order."""

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
    """Return the transformation to padded batches of elements of similar lengths.

    ValueError unless there is one batch size more than boundaries.
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
    """Return padded shapes with the boundary of a bucket in place of unknown sizes."""
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
