"""Rejection resampling: drops elements so that the classes have a given distribution.

Let p be the distribution of classes in the dataset, t the desired distribution, and r = t / p. An
element of class i is accepted with probability (r_i - min r) / (max r - min r). With probability
min r, an element is accepted regardless of its class. So no more elements than necessary are
dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.dtypes import float32
from gpugraph.library.data.dataset_versions import DatasetV2
from gpugraph.library.data.experimental_transformations import scan
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.random_ops import random_uniform

_ESTIMATED_TOGETHER = 32
_SMOOTHING = 10


def resampled(
    dataset: Any,
    class_func: Callable[..., Any],
    target: Any,
    initial: Any,
    seed: Any,
    sample: Callable[..., Any],
) -> Any:
    """Return a dataset of pairs (class, element) in which the classes have the distribution
    `target`.

    Args:
      initial: the distribution of classes in `dataset`. If `initial` is None, the distribution is
        estimated.
      sample: the function `sample_from_datasets`.
    """
    target_dist = convert_to_tensor(target, name="target_dist")
    source = DatasetV2(dataset._variant_tensor, dataset.element_spec, [dataset])
    known: Any = None
    if initial is not None:
        initial_dist = convert_to_tensor(initial, name="initial_dist")
        acceptance, original = _acceptance(initial_dist, target_dist)
        known = constant_value(original)
        initial_dists = DatasetV2.from_tensors(initial_dist).repeat()
        acceptances = DatasetV2.from_tensors(acceptance).repeat()
        originals = DatasetV2.from_tensors(original).repeat()
    else:
        initial_dists = _estimates(target_dist, source.map(class_func))
        both = initial_dists.map(lambda dist: _acceptance(dist, target_dist))
        acceptances = both.map(lambda accepted, _: accepted)
        originals = both.map(lambda _, original: original)
    filtered = _accepted(source, acceptances, initial_dists, class_func, seed)

    def with_class(*element: Any) -> Any:
        return class_func(*element), element[0] if len(element) == 1 else element

    if known is not None and known == 1:
        return dataset._of(source.map(with_class)._variant_tensor, filtered.element_spec, [dataset])
    if known is None or known != 0:
        weights = originals.map(lambda original: [(original, 1.0 - original)])
        weights = weights.map(lambda pair: raw_ops.Pack(list(pair), axis=0))
        filtered = sample([source.map(with_class), filtered], weights=weights, seed=seed)
    return dataset._of(filtered._variant_tensor, filtered.element_spec, [dataset])


def _acceptance(initial: Any, target: Any) -> tuple[Any, Any]:
    """Return the probability of acceptance for each class, and the probability of acceptance
    regardless of the class.
    """
    tiny = np.finfo(initial.dtype.as_numpy_dtype).tiny
    ratio = target / (initial + tiny)
    axis = convert_to_tensor([0])
    largest, smallest = raw_ops.Max(ratio, axis), raw_ops.Min(ratio, axis)
    return (ratio - smallest) / (largest - smallest), smallest


def _estimates(target: Any, classes: Any) -> Any:
    """Return a dataset of estimated distributions of the classes. Each estimate uses the elements
    read so far.
    """
    count = target.shape[0].value if hasattr(target.shape[0], "value") else target.shape[0]
    first = raw_ops.Fill([count], convert_to_tensor(np.int64(_SMOOTHING)))

    def update(seen: Any, batch: Any) -> Any:
        hot = raw_ops.OneHot(batch, count, np.int64(1), np.int64(0))
        seen = seen + raw_ops.Sum(hot, convert_to_tensor([0]))
        numbers = raw_ops.Cast(seen, DstT=float32)
        dist = numbers / raw_ops.Sum(numbers, convert_to_tensor([0]))
        return seen, raw_ops.Tile(raw_ops.ExpandDims(dist, 0), [_ESTIMATED_TOGETHER, 1])

    return classes.batch(_ESTIMATED_TOGETHER).apply(scan(first, update)).unbatch()


def _accepted(
    source: Any, acceptances: Any, initial_dists: Any, class_func: Callable[..., Any], seed: Any
) -> Any:
    """Return a dataset of pairs (class, element) of the accepted elements."""
    acceptances = DatasetV2.zip((acceptances, initial_dists)).map(lambda accepted, _: accepted)

    def with_probability(accepted: Any, element: Any) -> Any:
        of_class = class_func(*element) if isinstance(element, tuple) else class_func(element)
        return of_class, raw_ops.GatherV2(accepted, of_class, 0), element

    candidates = DatasetV2.zip((acceptances, source)).map(with_probability)
    chosen = candidates.filter(
        lambda _, probability, __: random_uniform([], seed=seed) < probability
    )
    return chosen.map(lambda of_class, _, element: (of_class, element)).prefetch(3)
