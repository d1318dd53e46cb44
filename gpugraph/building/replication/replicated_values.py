"""Values with one component per replica: `PerReplica`, `Mirrored`, and structures of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpugraph.base import nest
from gpugraph.building.replication.device_maps import (
    DeviceMap as DeviceMap,
    LogicalDeviceSpec as LogicalDeviceSpec,
    ReplicaDeviceMap as ReplicaDeviceMap,
    SingleDeviceMap as SingleDeviceMap,
    WorkerDeviceMap as WorkerDeviceMap,
)
from gpugraph.building.replication.replica_contexts import get_replica_context
from gpugraph.building.replication.update_devices import update_replica
from gpugraph.building.variables.variable_collections import is_tensor
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import OPERATOR_NAMES
from gpugraph.graph.op_library import OPERATORS
from gpugraph.ops.framework.tensor_conversion import (
    convert_to_tensor,
    register_tensor_conversion_function,
)


class Components:
    """Base class of objects that have one component for each replica, in the order of the
    replicas.
    """

    _values: tuple[Any, ...]

    @property
    def values(self) -> tuple[Any, ...]:
        """The components, one for each replica."""
        return self._values

    @property
    def primary(self) -> Any:
        """The component of the first replica."""
        return self._values[0]

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of the components."""
        return tuple(value.device for value in self._values)

    @property
    def device_map(self) -> DeviceMap:
        """The map from replicas to the devices of the components."""
        return ReplicaDeviceMap(self.devices)

    @property
    def logical_device(self) -> int:
        """The index of the components' devices among the devices of a replica: 0, because each
        replica has one device.
        """
        return 0

    @property
    def is_tensor_like(self) -> bool:
        """Whether all components are tensors, or objects that become tensors."""
        return all(is_tensor(value) for value in self._values)

    def __str__(self) -> str:
        return self._text(str)

    def __repr__(self) -> str:
        return self._text(repr)

    def _text(self, text: Callable[[Any], str]) -> str:
        named = enumerate(zip(self.devices, self._values))
        lines = [f"  {number} {name}: {text(value)}" for number, (name, value) in named]
        return f"{type(self).__name__}:{{\n" + ",\n".join(lines) + "\n}"


class DistributedValues(Components):
    """One value per replica.

    Args:
      devices: the devices of the replicas. By default, each component is on the device of its
        replica.
    """

    def __init__(self, values: Sequence[Any], devices: Sequence[str] | None = None) -> None:
        self._values = tuple(values)
        self._devices = None if devices is None else tuple(devices)

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of the components."""
        if self._devices is not None:
            return self._devices
        return tuple(getattr(value, "device", "") for value in self._values)

    def get(self, device: Any = None) -> Any:
        """Return the component of the current replica or, if `device` is passed, the component on
        this device.

        Without `device` in a cross-replica context, return the component that is being updated, or
        the first component if there is no update. Raises ValueError if no component is on `device`.
        """
        if device is not None:
            return self.device_map.select_for_device(self._values, device)
        context = get_replica_context()
        if context is not None and len(self._values) > 1:
            return self._values[context._replica_id]
        return self._values[update_replica() or 0]


class PerReplica(DistributedValues):
    """Values that may differ between replicas, such as shares of a batch."""


class Mirrored(DistributedValues):
    """Equal values on the devices of all replicas.

    Code that runs for a replica uses that replica's component.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.get(), name)

    def __bool__(self) -> bool:
        return bool(self.get())

    def _as_graph_element(self) -> Any:
        value = self.get()
        convert = getattr(value, "_as_graph_element", None)
        return value if convert is None else convert()


def _operator(name: str) -> Callable[..., Any]:
    def operate(self: Mirrored, *others: Any) -> Any:
        return OPERATORS[name](convert_to_tensor(self.get()), *others)

    return operate


for _name in OPERATOR_NAMES:
    setattr(Mirrored, _name, _operator(_name))


def _as_tensor(
    value: DistributedValues, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    return convert_to_tensor(value.get(), dtype, name, as_ref=as_ref)


register_tensor_conversion_function(Mirrored, _as_tensor, 20)


def container_of(variable: Any) -> Any:
    """Return the distributed variable that has `variable` as a component. If there is none, return
    `variable`.
    """
    find = getattr(variable, "_distributed_container", None)
    container = find() if callable(find) else None
    return variable if container is None else container


_DIFFERENT = "the replicas return different structures"


def regroup(
    per_replica: Sequence[Any],
    wrap: type[DistributedValues] = PerReplica,
    devices: Sequence[str] | None = None,
) -> Any:
    """Combine one structure for each replica into one structure of per-replica values.

    Structures are lists, tuples, named tuples and mappings. If all replicas have the same object,
    the result contains the object itself. If the values are the components of a distributed
    variable, the result contains that variable.

    Raises AssertionError if the structures differ.

    Args:
      devices: the devices of the replicas.
    """
    first = per_replica[0]
    if isinstance(first, Mapping):
        keys = set(first)
        for other in per_replica[1:]:
            if not isinstance(other, Mapping):
                raise AssertionError(f"v[0]: {first!r}  v[i]: {other!r}\n{_DIFFERENT}")
            if set(other) != keys:
                raise AssertionError(f"v[0].keys: {keys}  v[i].keys: {set(other)}\n{_DIFFERENT}")
        kind: Any = type(first)
        return kind(
            (key, regroup([value[key] for value in per_replica], wrap, devices)) for key in first
        )
    if isinstance(first, (list, tuple)) and not isinstance(first, IndexedSlices):
        sequence = list if isinstance(first, list) else tuple
        for other in per_replica[1:]:
            if not isinstance(other, sequence):
                raise AssertionError(f"v[0]: {first!r}  v[i]: {other!r}\n{_DIFFERENT}")
            if len(other) != len(first):
                raise AssertionError(
                    f"len(v) == {len(other)}, len(v0) == {len(first)}, v: {other}, v0: {first}\n"
                    f"{_DIFFERENT}"
                )
        items = [regroup(value, wrap, devices) for value in zip(*per_replica)]
        return type(first)._make(items) if hasattr(first, "_make") else type(first)(items)
    if all(value is first for value in per_replica):
        return first
    container = container_of(first)
    if container is not first and all(container_of(value) is container for value in per_replica):
        return container
    return wrap(per_replica, devices)


def select_replica(number: int, structure: Any) -> Any:
    """Return the structure with each per-replica value replaced by the component of the replica
    with the index `number`.
    """
    return nest.map_structure(
        lambda value: value.values[number] if isinstance(value, DistributedValues) else value,
        structure,
    )


def local_results(value: Any) -> tuple[Any, ...]:
    """Return a tuple of the components of a per-replica value. For any other value, return a tuple
    with this value.
    """
    return value.values if hasattr(value, "values") and _is_distributed(value) else (value,)


def _is_distributed(value: Any) -> bool:
    return isinstance(value, DistributedValues) or getattr(value, "_is_distributed", False)
