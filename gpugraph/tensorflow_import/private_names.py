"""Functions that TensorFlow keeps to itself and that programs of its time use all the same.

They are found through `module_table`. Nothing in this package uses any of them.
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
"""What a tensor is, for `isinstance`."""


def is_dense_tensor_like(t: object) -> bool:
    """Whether `t` is a tensor or a variable; none that has parts."""
    return isinstance(t, (Tensor, Variable))


def _as_graph_element(obj: Any) -> Any:
    """The tensor that a variable stands for; None for what stands for none."""
    convert = getattr(obj, "_as_graph_element", None)
    return convert() if convert else None
