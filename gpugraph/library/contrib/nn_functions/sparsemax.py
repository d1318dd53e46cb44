"""Sparsemax, the projection of logits onto the probability simplex, and its loss.

In contrast to softmax, many of the probabilities are 0. Source: Martins and Astudillo, 2016
(arXiv:1602.02068).
"""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.elementwise.arithmetic_functions import maximum
from gpugraph.ops.elementwise.comparison_and_select import greater, where
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.top_k import top_k
from gpugraph.ops.reductions.ranges_and_running_sums import cumsum, range as numbers
from gpugraph.ops.reductions.reduction_functions import reduce_max, reduce_mean, reduce_sum


def sparsemax(logits: Any, name: str | None = None) -> Tensor:
    """Return the probabilities [batch, classes] that are nearest to `logits`. Many of them are
    0.
    """
    with name_scope(name, "sparsemax"):
        z = convert_to_tensor(logits, name="logits")
        z = z - reduce_max(z, 1, keepdims=True)
        ordered, _ = top_k(z, k=shape(z)[1])
        sums = cumsum(ordered, axis=1)
        k = cast(numbers(1, shape(z)[1] + 1), z.dtype)
        support = cast(greater(1 + k * ordered, sums), z.dtype)
        size = reduce_sum(support, 1, keepdims=True)
        total = reduce_sum(support * ordered, 1, keepdims=True)
        return maximum(z - (total - 1) / size, cast(0, z.dtype))


def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> Tensor:
    """Return the loss [batch] of logits.

    Args:
      sparsemax: the sparsemax of `logits`.
      labels: the correct probabilities.
    """
    with name_scope(name, "sparsemax_loss"):
        z = convert_to_tensor(logits, name="logits")
        values_read = convert_to_tensor(sparsemax, name="sparsemax")
        wanted = convert_to_tensor(labels, z.dtype, name="labels")
        z = z - reduce_mean(z, 1, keepdims=True)
        parts = where(
            greater(values_read, 0), values_read * (z - 0.5 * values_read), zeros_like(values_read)
        )
        return reduce_sum(parts + wanted * (0.5 * wanted - z), 1)
