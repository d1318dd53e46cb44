"""Functions that describe the elements of datasets. Programs called them before TensorFlow had the
class TypeSpec.
"""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.ops.sparse.sparse_tensor_spec import SparseTensorSpec
from gpugraph.ops.tensor_arrays.tensor_array_spec import TensorArraySpec


def TensorStructure(dtype: Any, shape: Any) -> TensorSpec:
    """Return the spec of a tensor."""
    return TensorSpec(shape, dtype)


def SparseTensorStructure(dtype: Any, shape: Any) -> SparseTensorSpec:
    """Return the spec of a sparse tensor."""
    return SparseTensorSpec(shape, dtype)


def TensorArrayStructure(
    dtype: Any, element_shape: Any, dynamic_size: bool, infer_shape: bool
) -> TensorArraySpec:
    """Return the spec of a TensorArray."""
    return TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)
