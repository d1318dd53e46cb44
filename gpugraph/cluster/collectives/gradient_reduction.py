"""Averaging of gradients over several workers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.ops.collectives.collective_ops import all_reduce
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def all_reduce_gradients(
    grads_and_vars: Iterable[tuple[Any, Any]],
    group_size: int,
    group_key: int = 1,
    first_instance_key: int = 0,
) -> list[tuple[Any, Any]]:
    """Return the means of the gradients of all workers, for `Optimizer.apply_gradients`.

    Each gradient is reduced separately, as soon as it is available. With
    `RewriterConfig.scoped_allocator_optimization`, small gradients are reduced together
    (`docs/cluster.md`). Raises ValueError if there are fewer than two workers, or if a gradient has
    no device.

    Args:
      grads_and_vars: the result of `Optimizer.compute_gradients`. A gradient of None stays None,
        and IndexedSlices become dense.
      group_size: the number of workers, each of which builds the same graph.
      group_key: an integer that identifies the group of workers.
      first_instance_key: the instance key of the first gradient. Each further gradient gets the
        next integer.
    """
    means: list[tuple[Any, Any]] = []
    for number, (gradient, variable) in enumerate(grads_and_vars):
        mean = gradient
        if gradient is not None:
            dense = convert_to_tensor(gradient)
            instance = first_instance_key + number
            mean = all_reduce(dense, group_size, group_key, instance, "Add", "Div")
            mean.set_shape(dense.shape)
        means.append((mean, variable))
    return means
