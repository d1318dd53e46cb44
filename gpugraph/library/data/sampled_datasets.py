"""Datasets whose elements are chosen at random, and datasets of random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import float32, float64, int64
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.library.data import data_nest
from gpugraph.library.data.dataset_base import DatasetBase, seed_tensors
from gpugraph.library.data.dataset_versions import DatasetV1, DatasetV2
from gpugraph.library.data.element_structure import flat_attrs, legacy_classes, legacy_types
from gpugraph.library.data.experimental_transformations import Transformation, scan
from gpugraph.library.data.resampling import resampled
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class RandomDatasetV2(DatasetV2):
    """An infinite dataset of random 32-bit numbers, as int64."""

    def __init__(self, seed: Any = None) -> None:
        spec = TensorSpec([], int64)
        super().__init__(raw_ops.RandomDataset(*seed_tensors(seed), **flat_attrs(spec)), spec)


class RandomDatasetV1(RandomDatasetV2, DatasetV1):
    """An infinite dataset of random 32-bit numbers, as int64."""


def Counter(start: Any = 0, step: Any = 1, dtype: Any = int64) -> Any:
    """Return an infinite dataset of numbers: start, start + step, and so on."""
    return _counter(DatasetV1, start, step, dtype)


def CounterV2(start: Any = 0, step: Any = 1, dtype: Any = int64) -> Any:
    """Return an infinite dataset of numbers: start, start + step, and so on. The dataset has API
    version 2.
    """
    return _counter(DatasetV2, start, step, dtype)


def _counter(kind: Any, start: Any, step: Any, dtype: Any) -> Any:
    first = convert_to_tensor(start, dtype=dtype, name="start")
    increment = convert_to_tensor(step, dtype=dtype, name="step")
    zeros = kind.from_tensors(0).repeat(None)
    return zeros.apply(scan(first, lambda state, _: (state + increment, state)))


def choose_from_datasets(datasets: Sequence[Any], choice_dataset: Any) -> Any:
    """Return a dataset that takes each element from one of several datasets.

    Args:
      choice_dataset: a dataset of indices. The next element of `choice_dataset` is the index of the
        dataset from which the next element is taken.
    """
    if choice_dataset.element_spec != TensorSpec([], int64):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return _directed(choice_dataset, datasets)


def _directed(selector: Any, datasets: Sequence[Any]) -> Any:
    spec = datasets[0].element_spec
    for number, other in enumerate(datasets[1:], 1):
        for what, of in (("types", legacy_types), ("classes", legacy_classes)):
            if of(other.element_spec) != of(spec):
                raise TypeError(
                    f"Datasets to choose from have different {what}: dataset {number} has "
                    f"{of(other.element_spec)}, the first {of(spec)}"
                )
        spec = data_nest.map_structure(
            lambda one, two: one.most_specific_compatible_type(two), spec, other.element_spec
        )
    variant = raw_ops.DirectedInterleaveDataset(
        selector._variant_tensor, [one._variant_tensor for one in datasets], **flat_attrs(spec)
    )
    return datasets[0]._of(variant, spec, list(datasets))


def sample_from_datasets(datasets: Sequence[Any], weights: Any = None, seed: Any = None) -> Any:
    """Return a dataset that takes each element from a dataset that is chosen at random.

    Raises TypeError if the weights have a wrong dtype, and ValueError if their number is wrong.

    Args:
      weights: the probabilities of the datasets: a list, a tensor, or a dataset of vectors. By
        default the probabilities are equal.
    """
    if isinstance(weights, DatasetBase):
        weights_dataset: Any = weights
        logits = weights_dataset.map(lambda values: raw_ops.Log(values, name="logits"))
        pairs = DatasetV2.zip((logits, _pairs(seed)))
        selector = pairs.map(_drawn)
        return _directed(selector, datasets)
    count = len(datasets)
    if weights is None:
        logits_tensor = convert_to_tensor(np.zeros([1, count], np.float32))
    else:
        tensor = convert_to_tensor(weights, name="weights")
        if tensor.dtype not in (float32, float64):
            raise TypeError(
                "`weights` must be convertible to a tensor of `tf.float32` or `tf.float64` "
                f"elements, but it is {tensor.dtype.name}."
            )
        if not tensor.shape.is_compatible_with([count]):
            raise ValueError("`weights` must be a vector of length `len(datasets)`.")
        logits_tensor = raw_ops.ExpandDims(raw_ops.Log(tensor, name="logits"), 0)
    if count == 1:
        return datasets[0]
    selector = _pairs(seed).map(lambda pair: _drawn(logits_tensor, pair))
    return _directed(selector, datasets)


def _pairs(seed: Any) -> Any:
    return RandomDatasetV2(seed).batch(2)


def _drawn(logits: Tensor, seed: Tensor) -> Tensor:
    """Return the index of a dataset, drawn at random with the probabilities softmax(logits)."""
    if logits.shape.rank == 1:
        logits = raw_ops.ExpandDims(logits, 0)
    drawn: Tensor = raw_ops.StatelessMultinomial(logits, 1, seed, output_dtype=int64)
    return raw_ops.Squeeze(drawn, axis=[0, 1])


def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Transformation:
    """Return a transformation into a dataset of pairs (class, element).

    The transformation drops elements so that the classes have the distribution `target_dist`.

    Args:
      class_func: a function that returns the class of an element, an int.
      initial_dist: the distribution of classes in the original dataset. By default this
        distribution is estimated from the elements read so far.
    """
    return lambda dataset: resampled(
        dataset, class_func, target_dist, initial_dist, seed, sample_from_datasets
    )
