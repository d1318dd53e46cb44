"""Private functions of TensorFlow that programs for TensorFlow 1 use anyway.

Programs find them through `module_table`. Nothing in this package uses them.
"""

from __future__ import annotations

from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.graph.client.collection_protos import (
    register_proto_function as register_proto_function,
)
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.scoped_names import (
    prepend_name_scope as prepend_name_scope,
    strip_name_scope as strip_name_scope,
)
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.sparse.sparse_tensor import SparseTensor

# -- tensorflow.python.framework.ops

_TensorLike = (Tensor, IndexedSlices, SparseTensor)
"""The classes of tensors and composite tensors, for `isinstance`."""


def is_dense_tensor_like(t: object) -> bool:
    """Return whether `t` is a dense tensor or a variable. A SparseTensor, for example, is
    neither.
    """
    return isinstance(t, (Tensor, Variable))


def _as_graph_element(obj: Any) -> Any:
    """Return the tensor of a variable `obj`. Return None for any other object."""
    convert = getattr(obj, "_as_graph_element", None)
    return convert() if convert else None
