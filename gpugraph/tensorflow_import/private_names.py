"""Names that TensorFlow keeps to itself and that programs of its time use all the same.

Functions are found through `module_table`. What is read of a class (`PRIVATE_ATTRIBUTES`) becomes
an attribute of it when this module is imported. Nothing in this package uses any of them.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dimensions import Dimension
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.collection_protos import (
    register_proto_function as register_proto_function,
)
from gpugraph.graph.client.graph_scopes import requested_device
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.scoped_names import (
    prepend_name_scope as prepend_name_scope,
    strip_name_scope as strip_name_scope,
)
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.device_names import DeviceSpec
from gpugraph.ops.sparse.sparse_tensor import SparseTensor
from gpugraph.variables import Variable

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


# -- attributes of classes


def _dims(shape: TensorShape) -> list[Dimension] | None:
    """`TensorShape._dims`: as `dims`."""
    return shape.dims


def _apply_device_functions(graph: Graph, op: Any) -> None:
    """`Graph._apply_device_functions`: gives `op` the device that the scopes ask for, if any.

    Programs find the device out by an object of their own that notes what it is given: a name by
    `_set_device_from_string`, or a DeviceSpec by `_set_device` where it has only that.
    """
    device = requested_device(op, graph._scope)
    if not device:
        return
    if hasattr(op, "_set_device_from_string"):
        op._set_device_from_string(device)
    else:
        op._set_device(DeviceSpec.from_string(device))


PRIVATE_ATTRIBUTES: dict[type, dict[str, Any]] = {
    TensorShape: {"_dims": property(_dims)},
    Graph: {"_apply_device_functions": _apply_device_functions},
}
"""For each class what programs read of it, by name."""

for _owner, _attributes in PRIVATE_ATTRIBUTES.items():
    for _name, _value in _attributes.items():
        setattr(_owner, _name, _value)
