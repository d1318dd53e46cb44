"""Functions that compute and compare the lengths of sequences."""

from __future__ import annotations

from collections.abc import Sequence

from gpugraph.base.dtypes import int64
from gpugraph.building.checks import assert_equal
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros
from gpugraph.ops.elementwise.unary_functions import ceil
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.segments.segment_functions import segment_max
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


def sequence_lengths(sp_tensor: SparseTensor, num_elements: int = 1) -> Tensor:
    """Return the number of steps of each sequence in a SparseTensor [batch, time, ...], int64.

    Args:
      num_elements: the number of positions along the second axis that make up one step.
    """
    with name_scope(None, "sequence_length") as scope:
        rows, columns = sp_tensor.indices[:, 0], sp_tensor.indices[:, 1]
        counts = segment_max(columns + ones_like(columns), segment_ids=rows)
        steps = cast(ceil(counts / num_elements), int64)
        missing = shape(sp_tensor)[:1] - shape(steps)[:1]
        return concat([steps, zeros(missing, dtype=steps.dtype)], axis=0, name=scope)


def equal_lengths(tensors: Sequence[Tensor]) -> Tensor:
    """Return the first of several tensors. If the tensors are not all equal, a run raises
    InvalidArgumentError.
    """
    with name_scope(None, "assert_all_equal", list(tensors)):
        first, *others = tensors
        if not others:
            return first
        with control_dependencies([assert_equal(first, other) for other in others]):
            return identity(first)
