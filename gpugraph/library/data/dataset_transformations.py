"""The methods of datasets that return a transformed dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import bool as bool_type, int32, string
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.library.data import data_nest
from gpugraph.library.data.data_options import Options, merge_options
from gpugraph.library.data.dataset_base import DatasetBase, DatasetSpec, int64_tensor, seed_tensors
from gpugraph.library.data.element_structure import (
    are_compatible,
    batched,
    flat_attrs,
    flat_shapes,
    from_tensor_list,
    legacy_classes,
    legacy_types,
    normalize_element,
    to_tensor_list,
    type_spec_from_value,
    unbatched,
)
from gpugraph.library.data.padded_shapes import padded_shape, padding_values_of
from gpugraph.library.data.reduced_states import stateful_function
from gpugraph.library.data.structured_function import StructuredFunction
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_INT64_MAX = 2**63 - 1


class DatasetTransformations(DatasetBase):
    """A mixin with the methods that return a transformed dataset."""

    # -- choice and order

    def take(self, count: Any) -> Any:
        """Return a dataset of the first `count` elements, or of all elements if `count` is
        negative.
        """
        tensor = int64_tensor(count, "count")
        return self._same(raw_ops.TakeDataset(self._variant_tensor, tensor, **self._flat_structure))

    def skip(self, count: Any) -> Any:
        """Return a dataset without the first `count` elements. The dataset is empty if `count` is
        negative.
        """
        tensor = int64_tensor(count, "count")
        return self._same(raw_ops.SkipDataset(self._variant_tensor, tensor, **self._flat_structure))

    def repeat(self, count: Any = None) -> Any:
        """Return a dataset that repeats the elements `count` times. If `count` is None or -1, the
        dataset is infinite.
        """
        tensor = int64_tensor(-1 if count is None else count, "count")
        return self._same(
            raw_ops.RepeatDataset(self._variant_tensor, tensor, **self._flat_structure)
        )

    def shard(self, num_shards: Any, index: Any) -> Any:
        """Return a dataset of every `num_shards`-th element, starting with element `index`."""
        shards, number = int64_tensor(num_shards, "num_shards"), int64_tensor(index, "index")
        return self._same(
            raw_ops.ShardDataset(self._variant_tensor, shards, number, **self._flat_structure)
        )

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None
    ) -> Any:
        """Return a dataset of the elements in random order.

        Each element is chosen at random from a buffer of `buffer_size` elements.

        Args:
          reshuffle_each_iteration: whether each iteration has a different order, by default True.
        """
        size = int64_tensor(buffer_size, "buffer_size")
        seeds = seed_tensors(seed)
        reshuffles = reshuffle_each_iteration is None or reshuffle_each_iteration
        variant = raw_ops.ShuffleDataset(
            self._variant_tensor, size, *seeds, reshuffle_each_iteration=reshuffles,
            **self._flat_structure,
        )  # fmt: skip
        return self._same(variant)

    def concatenate(self, dataset: Any) -> Any:
        """Return a dataset of this dataset's elements, followed by the elements of `dataset`.

        Raises TypeError if the dtypes or classes differ.
        """
        if legacy_types(self.element_spec) != legacy_types(dataset.element_spec):
            raise TypeError(
                "Two datasets to concatenate have different types "
                f"{legacy_types(self.element_spec)} and {legacy_types(dataset.element_spec)}"
            )
        if legacy_classes(self.element_spec) != legacy_classes(dataset.element_spec):
            raise TypeError(
                "Two datasets to concatenate have different classes "
                f"{legacy_classes(self.element_spec)} and {legacy_classes(dataset.element_spec)}"
            )
        spec = data_nest.map_structure(
            lambda one, other: one.most_specific_compatible_type(other),
            self.element_spec,
            dataset.element_spec,
        )
        variant = raw_ops.ConcatenateDataset(
            self._variant_tensor, dataset._variant_tensor, **flat_attrs(spec)
        )
        return self._of(variant, spec, [self, dataset])

    def enumerate(self, start: Any = 0) -> Any:
        """Return a dataset of pairs (number, element). The first number is `start`."""
        return self.zip((self.range(start, _INT64_MAX), self))  # type: ignore[attr-defined]

    def prefetch(self, buffer_size: Any) -> Any:
        """Return a dataset of the same elements. A thread computes up to `buffer_size` elements in
        advance.
        """
        tensor = int64_tensor(-1 if buffer_size is None else buffer_size, "buffer_size")
        return self._same(
            raw_ops.PrefetchDataset(self._variant_tensor, tensor, **self._flat_structure)
        )

    def cache(self, filename: Any = "") -> Any:
        """Return a dataset of the same elements. The first iteration stores the elements, and later
        iterations read the stored elements.

        The elements are stored in the file `filename`, or in memory if `filename` is "".
        """
        tensor = convert_to_tensor(filename, dtype=string, name="filename")
        return self._same(
            raw_ops.CacheDataset(self._variant_tensor, tensor, **self._flat_structure)
        )

    # -- batches

    def batch(self, batch_size: Any, drop_remainder: Any = False) -> Any:
        """Return a dataset of batches: `batch_size` elements are stacked into one. The last batch
        may be smaller.

        Args:
          drop_remainder: whether to omit the last batch if the last batch has fewer elements.
        """
        size = int64_tensor(batch_size, "batch_size")
        drop = convert_to_tensor(drop_remainder, dtype=bool_type, name="drop_remainder")
        spec = batched(self.element_spec, static_batch_size(size, drop))
        variant = raw_ops.BatchDatasetV2(self._variant_tensor, size, drop, **flat_attrs(spec))
        return self._of(variant, spec, [self])

    def padded_batch(
        self, batch_size: Any, padded_shapes: Any = None, padding_values: Any = None,
        drop_remainder: Any = False,
    ) -> Any:  # fmt: skip
        """Return a dataset of batches: `batch_size` elements are padded to a common shape and
        stacked into one.

        Args:
          padded_shapes: the shapes after padding. A size of None or -1 means the maximum size in
            the batch.
        """
        if padded_shapes is None:
            padded_shapes = data_nest.map_structure(lambda one: one.shape, self.element_spec)
        size = int64_tensor(batch_size, "batch_size")
        drop = convert_to_tensor(drop_remainder, dtype=bool_type, name="drop_remainder")
        flat = data_nest.flatten_up_to(self.element_spec, padded_shapes)
        shapes = data_nest.flatten(self.element_spec)
        pairs = [padded_shape(shape, one.shape) for shape, one in zip(flat, shapes)]
        tensors, static = [tensor for tensor, _ in pairs], [known for _, known in pairs]
        values = padding_values_of(padding_values, self.element_spec)
        rows = static_batch_size(size, drop)
        specs = [
            TensorSpec(TensorShape([rows]).concatenate(shape), one.dtype)
            for shape, one in zip(static, shapes)
        ]
        spec = data_nest.pack_sequence_as(self.element_spec, specs)
        variant = raw_ops.PaddedBatchDatasetV2(
            self._variant_tensor, size, tensors, values, drop, output_shapes=flat_shapes(spec)
        )
        return self._of(variant, spec, [self])

    def unbatch(self) -> Any:
        """Return a dataset with one element for each row of this dataset's elements."""
        spec = unbatched(self.element_spec)
        variant = raw_ops.UnbatchDataset(self._variant_tensor, **flat_attrs(spec))
        return self._of(variant, spec, [self])

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False
    ) -> Any:
        """Return a dataset of windows. Each window is a dataset of `size` elements of this dataset.

        Args:
          shift: the number of elements between the starts of two windows, by default `size`.
          stride: the distance between two elements of a window.
          drop_remainder: whether to omit windows that have fewer than `size` elements because the
            dataset ends.
        """
        numbers = [
            int64_tensor(size, "size"),
            int64_tensor(size if shift is None else shift, "shift"),
            int64_tensor(stride, "stride"),
        ]
        drop = convert_to_tensor(drop_remainder, dtype=bool_type, name="drop_remainder")
        spec = data_nest.map_structure(
            lambda one: DatasetSpec(one, version_2=self._is_v2), self.element_spec
        )
        variant = raw_ops.WindowDataset(self._variant_tensor, *numbers, drop, **flat_attrs(spec))
        return self._of(variant, spec, [self])

    # -- functions

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> Any:
        """Return a dataset of the results of `map_func` for the elements, in their order."""
        return self._mapped(map_func, num_parallel_calls, keeps_number=self._is_v2)

    def _mapped(
        self, map_func: Callable[..., Any], num_parallel_calls: Any, keeps_number: bool
    ) -> Any:
        function = self._function(map_func, "Dataset.map()")
        rest = {**function.attrs, "f": function.function, "preserve_cardinality": keeps_number}
        if num_parallel_calls is None:
            variant = raw_ops.MapDataset(self._variant_tensor, function.captured, **rest)
        else:
            calls = convert_to_tensor(num_parallel_calls, dtype=int32, name="num_parallel_calls")
            variant = raw_ops.ParallelMapDataset(
                self._variant_tensor, function.captured, calls, **rest
            )
        return self._of(variant, function.spec, [self])

    def flat_map(self, map_func: Callable[..., Any]) -> Any:
        """Return a dataset that concatenates the datasets that `map_func` returns."""
        function = self._nested(map_func, "Dataset.flat_map()", "flat_map")
        variant = raw_ops.FlatMapDataset(
            self._variant_tensor, function.captured, f=function.function,
            **flat_attrs(function.spec.element_spec),
        )  # fmt: skip
        return self._of(variant, function.spec.element_spec, [self])

    def interleave(
        self, map_func: Callable[..., Any], cycle_length: Any = -1, block_length: Any = 1,
        num_parallel_calls: Any = None,
    ) -> Any:  # fmt: skip
        """Return a dataset that interleaves the elements of the datasets that `map_func` returns.

        Args:
          cycle_length: the number of datasets that are read alternately.
          block_length: the number of successive elements that are read from each dataset.
        """
        function = self._nested(map_func, "Dataset.interleave()", "interleave")
        numbers = [int64_tensor(cycle_length, "cycle_length")]
        numbers.append(int64_tensor(block_length, "block_length"))
        rest = {"f": function.function, **flat_attrs(function.spec.element_spec)}
        inputs = self._variant_tensor, function.captured
        if num_parallel_calls is None:
            variant = raw_ops.InterleaveDataset(*inputs, *numbers, **rest)
        else:
            calls = int64_tensor(num_parallel_calls, "num_parallel_calls")
            variant = raw_ops.ParallelInterleaveDatasetV2(*inputs, *numbers, calls, **rest)
        return self._of(variant, function.spec.element_spec, [self])

    def _nested(self, function: Callable[..., Any], method: str, name: str) -> StructuredFunction:
        """Return the traced `function`. Raises TypeError unless the function returns a dataset."""
        traced = self._function(function, method)
        if not isinstance(traced.spec, DatasetSpec):
            raise TypeError(f"`map_func` must return a `Dataset` object. Got {type(traced.spec)}")
        del name
        return traced

    def filter(self, predicate: Callable[..., Any]) -> Any:
        """Return a dataset of the elements for which `predicate` returns true."""
        function = self._function(predicate, "Dataset.filter()")
        if not are_compatible(function.spec, TensorSpec([], bool_type)):
            raise ValueError(
                "`predicate` return type must be convertible to a scalar boolean tensor. Was "
                f"{function.spec}."
            )
        variant = raw_ops.FilterDataset(
            self._variant_tensor, function.captured, predicate=function.function,
            **self._flat_structure,
        )  # fmt: skip
        return self._same(variant)

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """Return the final state of a reduction.

        The next state is `reduce_func(state, element)`.
        """
        initial = normalize_element(initial_state)
        function, spec = stateful_function(
            reduce_func, type_spec_from_value(initial), self.element_spec, "reduce()"
        )
        results = raw_ops.ReduceDataset(
            self._variant_tensor, to_tensor_list(spec, initial), function.captured,
            f=function.function, **flat_attrs(spec),
        )  # fmt: skip
        return from_tensor_list(spec, results)

    def apply(self, transformation_func: Callable[..., Any]) -> Any:
        """Return `transformation_func(self)`. Raises TypeError unless the result is a dataset."""
        dataset = transformation_func(self)
        if not isinstance(dataset, DatasetBase):
            raise TypeError(f"`transformation_func` must return a Dataset. Got {dataset}.")
        dataset._input_datasets = [self]
        return dataset

    def with_options(self, options: Options) -> Any:
        """Return a dataset of the same elements with these options. Raises ValueError if an option
        is already set to another value.
        """
        result = self._of(self._variant_tensor, self.element_spec, [self])
        result._options_attr = merge_options(result._options_attr, options)
        return result


def static_batch_size(size: Any, drop: Any) -> int | None:
    """Return the batch size if it is constant and no batch is smaller. Otherwise return None."""
    if constant_value(drop) is None or not constant_value(drop):
        return None
    known = constant_value(size)
    return None if known is None else int(known)
