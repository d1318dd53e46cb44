"""The transformations that exist only in `tf.contrib.data`.

Most functions return a transformation, which is an argument for `Dataset.apply`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import int64
from gpugraph.library.data import data_nest
from gpugraph.library.data.data_options import Options
from gpugraph.library.data.dataset_queries import get_single_element
from gpugraph.library.data.experimental_transformations import Transformation, parallel_interleave
from gpugraph.library.data.grouped_datasets import Reducer, group_by_reducer
from gpugraph.library.data.table_datasets import make_batched_features_dataset
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def assert_element_shape(expected_shapes: Any) -> Transformation:
    """Return a transformation that sets the static shapes of the elements' components.

    The transformation raises ValueError if a component's static shape is incompatible. If a shape
    is known only in a run and differs, the run raises InvalidArgumentError.
    """

    def check(*element: Any) -> Any:
        value = element[0] if len(element) == 1 else element
        shapes = data_nest.flatten_up_to(value, expected_shapes)
        leaves = []
        for tensor, shape in zip(data_nest.flatten(value), shapes):
            if not tensor.shape.is_compatible_with(shape):
                raise ValueError(
                    f"Component has shape {tensor.shape}, which is not compatible with {shape}"
                )
            checked = raw_ops.EnsureShape(tensor, shape=shape)
            leaves.append(checked)
        return data_nest.pack_sequence_as(value, leaves)

    return lambda dataset: dataset.map(check)


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """Return a transformation that stacks exactly `batch_size` elements into one batch."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """Return a transformation that pads exactly `batch_size` elements and stacks them into one
    batch.
    """
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def sliding_window_batch(
    window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1
) -> Transformation:
    """Return a transformation that stacks `window_size` successive elements into one batch.

    Raises ValueError if both `stride` and its newer name `window_shift` are set.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = stride if stride is not None else 1 if window_shift is None else window_shift

    def apply(dataset: Any) -> Any:
        windows = dataset.window(window_size, shift, window_stride, drop_remainder=True)

        def stacked(*parts: Any) -> Any:
            nested = parts[0] if len(parts) == 1 else parts
            return type(dataset).zip(nested).batch(window_size)

        return windows.flat_map(stacked)

    return apply


def sloppy_interleave(
    map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1
) -> Transformation:
    """Return the transformation `parallel_interleave`. Unlike in TensorFlow, the order is the same
    in every run.
    """
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


def reduce_dataset(dataset: Any, reducer: Reducer) -> Any:
    """Return the result of reducing all elements with `reducer`, as tensors."""
    return get_single_element(
        dataset.apply(group_by_reducer(lambda *_: convert_to_tensor(0, dtype=int64), reducer))
    )


def read_batch_features(
    file_pattern: Any, batch_size: Any, features: Any, reader: Any = None, reader_args: Any = None,
    randomize_input: bool = True, num_epochs: Any = None, capacity: int = 10000,
) -> Any:  # fmt: skip
    """Return the next batch of `make_batched_features_dataset`, as tensors.

    Args:
      randomize_input: whether to shuffle, with a buffer of `capacity` elements.
    """
    dataset = make_batched_features_dataset(
        file_pattern, batch_size, features, reader=reader, reader_args=reader_args,
        shuffle=randomize_input, num_epochs=num_epochs, shuffle_buffer_size=capacity,
    )  # fmt: skip
    return dataset.make_one_shot_iterator().get_next()


def set_stats_aggregator(
    stats_aggregator: Any, prefix: str = "", counter_prefix: str = ""
) -> Transformation:
    """Return a transformation that stores a statistics aggregator in a dataset's options."""

    def apply(dataset: Any) -> Any:
        options = Options()
        options.experimental_stats.aggregator = stats_aggregator
        options.experimental_stats.prefix = prefix
        options.experimental_stats.counter_prefix = counter_prefix
        return dataset.with_options(options)

    return apply
