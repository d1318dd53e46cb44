"""The named objects that a saver saves: variables, partitions of variables, and a program's own
SaveableObjects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpugraph.base import nest
from gpugraph.base.dtypes import DType
from gpugraph.building.variables import PartitionedVariable, ResourceVariable, Variable
from gpugraph.graph.client.default_graph_functions import device, get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.device_names import DeviceSpec
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.state.reference_variable_ops import assign

_REFERENCES = ("Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp", "ReadVariableOp")


class SaveSpec:
    """One tensor of a SaveableObject, with its name in the checkpoint. If the tensor is a partition
    of a variable, `slice_spec` describes the slice of the whole variable.

    Args:
      tensor: a tensor, or a callable that creates it.
      dtype, device: the tensor's dtype and device. They are required if the tensor is a callable.
    """

    def __init__(
        self,
        tensor: Any,
        slice_spec: str,
        name: str,
        dtype: DType | None = None,
        device: str | None = None,
    ) -> None:
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        if callable(tensor) and (dtype is None or device is None):
            raise AssertionError("When passing a callable `tensor` to a SaveSpec, an explicit "
                                 "dtype and device must be provided.")  # fmt: skip
        self.dtype = tensor.dtype if dtype is None else dtype
        self.device = tensor.device if device is None else device

    @property
    def tensor(self) -> Any:
        """The tensor. If a callable was passed instead of a tensor, each access calls it, which
        creates a new tensor.
        """
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """An object whose tensors are saved and restored together. Programs derive classes from it.

    Args:
      op: the variable, or another operation that produces the saved values.
      specs: a `SaveSpec` for each tensor.
      name: the object's name in the checkpoint.
    """

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def device(self) -> str | None:
        """The device of the first tensor."""
        device: str | None = self.specs[0].device
        return device

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Return the operation that restores the object from one tensor for each `SaveSpec`.

        Args:
          restored_shapes: the shapes to which the tensors are reshaped. If None, they keep their
            shapes.
        """
        raise NotImplementedError("Calling an abstract method.")


class ReferenceVariableSaveable(SaveableObject):
    """A reference variable, or a partition of one."""

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        super().__init__(var, [SaveSpec(var, slice_spec, name, dtype=var.dtype)], name)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Return the Assign op that sets the variable to the restored value."""
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = reshape(value, restored_shapes[0])
        checks = restored_shapes is None and self.op.shape.is_fully_defined()
        return assign(self.op, value, validate_shape=checks)


class ResourceVariableSaveable(SaveableObject):
    """A resource variable, or a partition of one.

    Args:
      var: the variable, or the output of a ReadVariableOp that reads it.
    """

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        self._var_device, self._var_shape = var.device, var.shape
        if isinstance(var, Tensor):
            self.handle_op, tensor = var.op.inputs[0], var
        elif isinstance(var, ResourceVariable):
            self.handle_op, tensor = var.handle, _reader(var)  # type: ignore[assignment]
        else:
            raise ValueError(
                f"Saveable is neither a resource variable nor a read operation. Got: {var!r}"
            )
        specs = [SaveSpec(tensor, slice_spec, name, dtype=var.dtype, device=var.device)]
        super().__init__(var, specs, name)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Return the AssignVariableOp that sets the variable. Raises ValueError if the value's
        shape is not the variable's shape.
        """
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = reshape(value, restored_shapes[0])
        with device(self._var_device):
            value = identity(value)
            if not self._var_shape.is_compatible_with(value.shape):
                raise ValueError(
                    f"Received incompatible tensor with shape {value.shape} when attempting to "
                    f"restore variable with shape {self._var_shape} and name {self.name}."
                )
            return raw_ops.AssignVariableOp(self.handle_op, value)


def _reader(variable: Any) -> Callable[[], Any]:
    def read() -> Any:
        with device(variable.device):
            value = variable.read_value()
            with device("/device:CPU:0"):
                return identity(value)

    return read


def on_host(device_name: str) -> str:
    """Return the name of the CPU device in the same task as the device `device_name`."""
    spec = DeviceSpec.from_string(device_name or "")
    spec.device_type, spec.device_index = "CPU", 0
    return spec.to_string()


def all_saveable_objects(scope: str | None = None) -> list[Any]:
    """Return the global variables, and the items that programs add to SAVEABLE_OBJECTS."""
    graph = get_default_graph()
    keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.SAVEABLE_OBJECTS)
    return [item for key in keys for item in graph.get_collection(key, scope)]


def op_list_to_dict(op_list: Iterable[Any]) -> dict[str, Any]:
    """Return a dict of the variables and saveables in a list, by their names in a checkpoint.

    Partitions of a variable become a list under the name of the whole variable. Raises TypeError
    unless `op_list` is a list of variables, and ValueError if two variables have the same name.
    """
    if not isinstance(op_list, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {op_list!r}")
    named: dict[str, Any] = {}
    for item in sorted(nest.flatten(list(op_list)), key=_name_of):
        if isinstance(item, SaveableObject):
            named[item.name] = item
        elif hasattr(item, "_saveable"):  # a variable of a strategy, with several copies
            _enter(named, item._shared_name, item)
        elif isinstance(item, PartitionedVariable):
            _enter(named, item.name, item)
        elif isinstance(item, Variable) and item._save_slice_info:
            name = item._save_slice_info.full_name or ""
            parts = named.setdefault(name, [])
            if not isinstance(parts, list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {name}")
            parts.append(item)
        else:
            tensor = _variable_tensor(item)
            is_read = tensor.op.type == "ReadVariableOp"
            _enter(named, tensor.op.inputs[0].op.name if is_read else tensor.op.name, tensor)
    return named


def _enter(named: dict[str, Any], name: str, item: Any) -> None:
    if name in named:
        raise ValueError(f"At least two variables have the same name: {name}")
    named[name] = item


def _variable_tensor(item: Any) -> Any:
    """Return the reference of a reference variable, or a tensor that reads a resource variable.
    Raises TypeError if `item` is neither.
    """
    if isinstance(item, ResourceVariable):
        read = item.value() if item._snapshot is None else item._snapshot
        while read.op.type == "Identity":  # of a caching device
            read = read.op.inputs[0]
        return read
    if not isinstance(item, (Variable, Tensor)):
        raise TypeError(f"Variable to save is not a Variable: {item!r}")
    tensor = convert_to_tensor(item, as_ref=True) if isinstance(item, Tensor) else item._ref()
    if tensor.op.type not in _REFERENCES:
        raise TypeError(f"Variable to save is not a Variable: {item!r}")
    return tensor


def saveables_of(named: Mapping[str, Any]) -> list[SaveableObject]:
    """Return the saveables of a dict from names to variables. Raises ValueError if a variable
    occurs twice.
    """
    saveables: list[SaveableObject] = []
    seen: set[int] = set()
    for name in sorted(named, key=lambda name: (not isinstance(name, str), str(name))):
        for saveable in _saveables(named[name], name):
            if id(saveable.op) in seen:
                raise ValueError(
                    f"The same saveable will be restored with two names: {saveable.name}"
                )
            seen.add(id(saveable.op))
            saveables.append(saveable)
    return saveables


def _saveables(item: Any, name: Any) -> Iterator[SaveableObject]:
    if not isinstance(name, str):
        raise TypeError(
            f"names_to_saveables must be a dict mapping string names to variables: {name!r}"
        )
    if isinstance(item, SaveableObject):
        yield item
    elif hasattr(item, "_saveable"):
        yield item._saveable(name)
    elif isinstance(item, (list, tuple, PartitionedVariable)):
        yield from _parts(list(item), name)
    elif isinstance(item, (Variable, Tensor)):
        try:
            tensor = _variable_tensor(item)
        except TypeError:
            raise _no_variable(item) from None
        if tensor.op.type == "ReadVariableOp":
            yield ResourceVariableSaveable(tensor, "", name)
        else:
            yield ReferenceVariableSaveable(tensor, "", name)
    else:
        raise _no_variable(item)


def _no_variable(item: Any) -> TypeError:
    return TypeError(
        "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a "
        f"variable: {item!r}"
    )


def _parts(parts: list[Any], name: str) -> Iterator[SaveableObject]:
    """Yield a SaveableObject for each partition in a list. Raises ValueError if they belong to
    several variables.
    """
    full_name = None
    for part in parts:
        if isinstance(part, SaveableObject):
            yield part
            continue
        if not isinstance(part, Variable):
            raise ValueError(f"Slices must all be Variables: {part!r}")
        info = part._save_slice_info
        if not info:
            raise ValueError(f"Slices must all be slices: {part!r}")
        if full_name not in (None, info.full_name):
            raise ValueError(
                f"Slices must all be from the same tensor: {full_name} != {info.full_name}"
            )
        full_name = info.full_name
        is_resource = isinstance(part, ResourceVariable)
        kind = ResourceVariableSaveable if is_resource else ReferenceVariableSaveable
        yield kind(part, info.spec, name)


def _name_of(item: Any) -> str:
    name = getattr(item, "name", None)
    if not isinstance(name, str):
        raise TypeError(f"Variable to save is not a Variable: {item!r}")
    return name
