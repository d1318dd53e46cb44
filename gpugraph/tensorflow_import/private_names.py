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
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.scoped_names import (
    prepend_name_scope as prepend_name_scope,
    strip_name_scope as strip_name_scope,
)
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.device_names import DeviceSpec
from gpugraph.ops.sparse.sparse_tensor import SparseTensor
from gpugraph.train import AdamOptimizer, GradientDescentOptimizer, MomentumOptimizer
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


def _shape_tuple(tensor: Tensor) -> tuple[int | None, ...] | None:
    """`Tensor._shape_tuple()`: the sizes, None for those that are open; None without a rank."""
    return None if tensor.shape.sizes is None else tuple(tensor.shape.as_list())


def _as_node_def_input(tensor: Tensor) -> str:
    """`Tensor._as_node_def_input()`: how a NodeDef names it as an input."""
    return tensor.op.name + (f":{tensor.value_index}" if tensor.value_index else "")


def _control_outputs(op: Operation) -> list[Operation]:
    """`Operation._control_outputs`: what waits for the operation."""
    return [other for other in op.graph.get_operations() if op in other.control_inputs]


def _get_beta_accumulators(optimizer: AdamOptimizer) -> tuple[Any, ...]:
    """`AdamOptimizer._get_beta_accumulators()`: the variables beta1_power and beta2_power."""
    return tuple(optimizer._get_non_slot_variable(f"{name}_power") for name in ("beta1", "beta2"))


class _Setting:
    """A setting of an optimizer, or its tensor; subclasses may assign another value."""

    def __init__(self, room: str, name: str) -> None:
        self._room, self._name = room, name

    def __get__(self, optimizer: Any, owner: type) -> Any:
        return self if optimizer is None else getattr(optimizer, self._room)[self._name]


def _settings(text: str) -> dict[str, _Setting]:
    """The attributes `name: setting`, the tensors' among them in another room."""
    pairs = (entry.split("=") for entry in text.split())
    return {
        name: _Setting("_tensors" if name.endswith(("_t", "_tensor")) else "_settings", setting)
        for name, setting in pairs
    }


PRIVATE_ATTRIBUTES: dict[type, dict[str, Any]] = {
    AdamOptimizer: {
        "_get_beta_accumulators": _get_beta_accumulators,
        **_settings("_lr=learning_rate _beta1=beta1 _beta2=beta2 _epsilon=epsilon"),
        **_settings("_lr_t=learning_rate _beta1_t=beta1 _beta2_t=beta2 _epsilon_t=epsilon"),
    },
    GradientDescentOptimizer: _settings(
        "_learning_rate=learning_rate _learning_rate_tensor=learning_rate"
    ),
    MomentumOptimizer: _settings(
        "_learning_rate=learning_rate _learning_rate_tensor=learning_rate "
        "_momentum=momentum _momentum_tensor=momentum"
    ),
    Operation: {"_control_outputs": property(_control_outputs)},
    Tensor: {"_as_node_def_input": _as_node_def_input, "_shape_tuple": _shape_tuple},
    TensorShape: {"_dims": property(_dims), "_v2_behavior": False},
    Variable: {"_distribute_strategy": None},
    Graph: {"_apply_device_functions": _apply_device_functions},
}
"""For each class what programs read of it, by name."""

for _owner, _attributes in PRIVATE_ATTRIBUTES.items():
    for _name, _value in _attributes.items():
        setattr(_owner, _name, _value)
