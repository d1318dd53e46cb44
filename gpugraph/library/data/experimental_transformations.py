"""The transformations of `tf.data.experimental`. Each function returns an argument for
`Dataset.apply`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.dtypes import bool as bool_type, int64
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.library.data import data_nest
from gpugraph.library.data.dataset_base import int64_tensor, seed_tensors
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
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.sparse.sparse_tensor_spec import SparseTensorSpec

Transformation = Callable[[Any], Any]


def unbatch() -> Transformation:
    """Return a transformation into a dataset with one element for each row of the elements."""
    return lambda dataset: dataset.unbatch()


def enumerate_dataset(start: Any = 0) -> Transformation:
    """Return a transformation into a dataset of pairs (number, element)."""
    return lambda dataset: dataset.enumerate(start)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """Return a transformation that repeats the elements `count` times, each time in a new random
    order.
    """

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
    """Return a transformation into a dataset of batches of the results of `map_func`.

    Raises ValueError if both `num_parallel_batches` and `num_parallel_calls` are set.
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
    """Return a transformation that interleaves the elements of the datasets that `map_func`
    returns.

    Args:
      sloppy: has no effect. In TensorFlow, `sloppy` allows orders that differ between runs. In this
        package, the order is always the same.
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
    """Return a transformation that combines elements of different shapes into batches, which are
    sparse tensors.
    """

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
    """Raise NotImplementedError, because this package has no ragged tensors."""
    raise NotImplementedError(
        "There are no ragged tensors: use tf.data.experimental.dense_to_sparse_batch or "
        f"Dataset.padded_batch({batch_size}, ...)"
    )


def ignore_errors() -> Transformation:
    """Return a transformation that omits elements whose computation raises an error."""
    return lambda dataset: dataset._same(
        raw_ops.IgnoreErrorsDataset(dataset._variant_tensor, **dataset._flat_structure)
    )


def unique() -> Transformation:
    """Return a transformation that omits each element that equals an earlier element."""

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
    """Return a transformation that ends the dataset before the first element for which `predicate`
    is false.
    """

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
    """Return a transformation into a dataset of the outputs of `scan_func`.

    Args:
      scan_func: a function that receives the state and an element, and returns the next state and
        an output.
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
    """Return a transformation that declares the number of elements. A run checks the number."""

    def apply(dataset: Any) -> Any:
        number = int64_tensor(expected_cardinality, "expected_cardinality")
        return dataset._same(
            raw_ops.AssertCardinalityDataset(
                dataset._variant_tensor, number, **dataset._flat_structure
            )
        )

    return apply


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Return a transformation that does not change the dataset.

    In TensorFlow, the transformation copies the elements to a device. Here, the ops that use the
    elements copy them.
    """
    del target_device, source_device
    return lambda dataset: dataset._same(dataset._variant_tensor)


def prefetch_to_device(device: str, buffer_size: Any = None) -> Transformation:
    """Return a transformation that computes elements in advance. `device` has no effect."""
    del device
    return lambda dataset: dataset.prefetch(buffer_size)
