"""Average losses over a batch, and regularization losses, in programs with one replica."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.losses.loss_reduction import Reduction, compute_weighted_loss
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.elementwise.division import truediv
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.reduction_functions import reduce_sum


def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Tensor:
    """Return the sum of the examples' weighted losses, divided by the batch size, as a scalar.

    The result has the dtype of the losses. Raises ValueError if `per_example_loss` is a scalar.

    Args:
      per_example_loss: a tensor whose axis 0 is the examples.
      global_batch_size: by default the number of examples.
    """
    losses = convert_to_tensor(per_example_loss)
    dtype = losses.dtype.base_dtype
    if losses.shape.rank == 0:
        raise ValueError(
            "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1, "
            f"got: {losses}"
        )
    if sample_weight is not None:
        losses = compute_weighted_loss(
            losses, sample_weight, loss_collection=None, reduction=Reduction.NONE
        )
        losses = cast(losses, dtype)
    size = shape(losses)[0] if global_batch_size is None else global_batch_size
    return truediv(reduce_sum(losses), cast(size, dtype))


def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """Return the sum of regularization losses. The sum is not divided by a number of replicas."""
    return reduce_sum(convert_to_tensor(regularization_loss))
