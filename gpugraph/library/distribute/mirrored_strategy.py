"""`MirroredStrategy`: each device is a replica and has its own copy of all variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from gpugraph.base import nest
from gpugraph.building.replication import Strategy, StrategyExtended
from gpugraph.building.replication.reduce_op import ReduceOp
from gpugraph.building.replication.replicated_values import (
    DistributedValues,
    Mirrored,
    container_of,
    local_results,
    regroup,
    select_replica,
)
from gpugraph.building.replication.update_devices import updating
from gpugraph.building.variables.replication_modes import (
    VariableSynchronization,
    checked_modes,
    trains,
)
from gpugraph.graph.client.default_graph_functions import device, get_default_graph, init_scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.distribute.cross_device_ops import (
    CrossDeviceOps,
    NcclAllReduce,
    ReductionToOneDevice,
    devices_of,
    mirrored,
)
from gpugraph.library.distribute.device_lists import all_local_devices, canonical_devices
from gpugraph.library.distribute.distributed_input import DistributesInput
from gpugraph.library.distribute.distributed_variables import (
    DistributedVariable,
    MirroredVariable,
    SyncOnReadVariable,
)
from gpugraph.library.distribute.replica_threads import call_for_each_replica
from gpugraph.ops.control.group_and_no_op import group as grouped
from gpugraph.ops.framework.identity_and_shape import identity


class MirroredStrategy(Strategy):
    """Trains on several devices of one process. Each device has a copy of the variables.

    Args:
      devices: the names of the devices. By default, all GPUs are used. If there are no GPUs, the
        CPU is used.
      cross_device_ops: the `CrossDeviceOps` that add up gradients over the devices.
    """

    def __init__(
        self, devices: Sequence[str] | None = None, cross_device_ops: CrossDeviceOps | None = None
    ) -> None:
        names = all_local_devices() if devices is None else canonical_devices(devices)
        super().__init__(MirroredExtended(self, names, cross_device_ops))


class MirroredExtended(DistributesInput, StrategyExtended):
    """The implementation of MirroredStrategy. Each device in `devices` is a replica and has a copy
    of each variable.
    """

    def __init__(
        self,
        container_strategy: Any,
        devices: Sequence[str],
        cross_device_ops: CrossDeviceOps | None = None,
    ) -> None:
        super().__init__(container_strategy)
        self._devices = tuple(devices)
        self._cross_device_ops = cross_device_ops or _default_ops(self._devices)

    _has_distributed_variables = True
    experimental_enable_get_next_as_optional = True
    """Whether iterators return empty parts for replicas without elements. Here they always do."""

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self._devices)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of the replicas."""
        return self._devices

    @property
    def worker_devices_by_replica(self) -> tuple[tuple[str, ...], ...]:
        """The devices of each replica."""
        return tuple((name,) for name in self._devices)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that hold variables. They are the devices of the replicas."""
        return self._devices

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Return the devices of all replicas."""
        return self._devices

    # -- variables

    def _create_variable(self, next_creator: Callable[..., Any], **arguments: Any) -> Any:
        return create_copies(self._container_strategy(), self._devices, next_creator, arguments)

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[Any]:
        """Inside the block, create variables on all devices, because `colocate_with_variable` has a
        copy on each of them.
        """
        return get_default_graph().device(None)

    def value_container(self, val: Any) -> Any:
        """Return the distributed variable of which `val` is a component. If there is none, return
        `val`.
        """
        return container_of(val)

    # -- replicas

    def _call_for_each_replica(self, fn: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        return call_for_each_replica(self._container_strategy(), self._devices, fn, args, kwargs)

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        if isinstance(value, (Mirrored, MirroredVariable)):
            if reduce_op is ReduceOp.MEAN:
                return value
            raise AssertionError(f"The copies of a mirrored value are equal, so they have no sum: "
                                 f"{value!r}")  # fmt: skip
        if isinstance(value, SyncOnReadVariable):
            value = DistributedValues([component.value() for component in value.values])
        if not isinstance(value, DistributedValues):
            return reduce_plain(reduce_op, value, destinations, len(self._devices))
        return self._cross_device_ops.reduce(reduce_op, value, destinations)

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        if isinstance(tensor, (float, int)):
            return tensor
        where = self._devices if destinations is None else devices_of(destinations)
        return self._cross_device_ops.broadcast(tensor, list(where))

    def _update(self, var: Any, fn: Any, args: tuple[Any, ...], kwargs: Any, group: bool) -> Any:
        if not getattr(var, "_is_distributed", False) and len(self._devices) > 1:
            raise AssertionError(
                f"{var} was not created in the scope of {self._container_strategy()}, so it has no "
                "copies to update: create the variable within `strategy.scope()`"
            )
        components = local_results(var)
        results = []
        for number, component in enumerate(components):
            own_args, own_kwargs = select_replica(number, args), select_replica(number, kwargs)
            name = f"update_{number}" if number else "update"
            graph = get_default_graph()
            with device(component.device), updating(number), graph.name_scope(name):
                results.append(fn(component, *own_args, **own_kwargs))
        return update_result(results, [component.device for component in components], group)

    def _update_non_slot(
        self, where: Any, fn: Any, args: tuple[Any, ...], kwargs: Any, group: bool
    ) -> Any:
        devices = devices_of(where)
        results = []
        for number, name in enumerate(devices):
            own_args, own_kwargs = select_replica(number, args), select_replica(number, kwargs)
            scope = f"update_{number}" if number else "update"
            graph = get_default_graph()
            with device(name), updating(number), graph.name_scope(scope):
                results.append(fn(*own_args, **own_kwargs))
        return update_result(results, devices, group)


def _default_ops(devices: Sequence[str]) -> CrossDeviceOps:
    is_gpus = len(devices) > 1 and all("device:GPU" in name for name in devices)
    return NcclAllReduce() if is_gpus else ReductionToOneDevice()


def reduce_plain(reduce_op: ReduceOp, value: Any, destinations: Any, count: int) -> Any:
    """Return the reduction of a value that is the same in all replicas.

    Raises ValueError for the sum of a number other than 0, and for the sum of a tensor over several
    replicas, because these are probably mistakes.
    """
    is_number = isinstance(value, (int, float))
    if is_number and value == 0:
        return 0
    if reduce_op is ReduceOp.MEAN:
        return value
    if is_number or count > 1:
        raise ValueError(
            f"A non-DistributedValues value {value} cannot be reduced with the given reduce op "
            f"ReduceOp.{reduce_op.name}."
        )
    return mirrored(value, devices_of(destinations))


def update_result(results: Sequence[Any], devices: Sequence[str], group: bool) -> Any:
    """Return the result of an update, given its results for the components of the variable.

    Args:
      group: if True, return one operation or tensors, each of which waits for the updates of all
        components. If False, return a structure in which each value is a tuple of the replicas'
        values.
    """
    if not group:
        return nest.map_structure(local_results, regroup(list(results), Mirrored))
    flat = [getattr(result, "op", result) for result in results if result is not None]
    done = grouped(*flat)
    if not all(hasattr(result, "value_index") or hasattr(result, "assign") for result in results):
        return done
    copies = []
    for name, result in zip(devices, results):
        with device(name), get_default_graph().control_dependencies([done]):
            copies.append(identity(result))
    return Mirrored(copies) if len(copies) > 1 else copies[0]


def create_copies(
    strategy: Any,
    devices: Sequence[str],
    next_creator: Callable[..., Any],
    arguments: dict[str, Any],
    is_central: bool = False,
) -> DistributedVariable:
    """Create a variable on each device. Return the distributed variable whose components are these
    variables.

    Only the distributed variable is added to the graph's collections. All copies have the initial
    value of the first copy.

    Args:
      is_central: whether all replicas use a single copy. If so, changes in replicas are always
        aggregated, even with the synchronization ON_READ.
    """
    name = arguments.get("name")
    synchronization, aggregation = checked_modes(
        arguments.get("synchronization"), arguments.get("aggregation"), name
    )
    if synchronization is VariableSynchronization.NONE:
        raise ValueError(f"`NONE` variable synchronization mode is not supported with `Mirrored` "
                         f"distribution strategy. Please change the `synchronization` for "
                         f"variable: {name}")  # fmt: skip
    is_on_read = synchronization is VariableSynchronization.ON_READ
    collections = arguments.pop("collections", None)
    keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    trainable = trains(arguments.get("trainable"), synchronization)
    if is_on_read and arguments.get("trainable"):
        raise ValueError("Synchronization value can be set to VariableSynchronization.ON_READ only "
                         "for non-trainable variables. You have specified trainable=True and "
                         "synchronization=VariableSynchronization.ON_READ.")  # fmt: skip
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
        keys.append(GraphKeys.TRAINABLE_VARIABLES)
    graph = get_default_graph()
    with init_scope(), graph.colocate_with(None, ignore_existing=True):
        values = _copies(devices, next_creator, {**arguments, "collections": []})
        for value in values:
            for collection in graph.collections:
                listed = graph.get_collection_ref(collection)
                listed[:] = [item for item in listed if item is not value]
        kind = SyncOnReadVariable if is_on_read and not is_central else MirroredVariable
        if not is_on_read and len(values) > 1:
            _note_copies(values)
        variable = kind(strategy, values, aggregation)
    graph.add_to_collections(keys, variable)
    return variable


def _copies(
    devices: Sequence[str], next_creator: Callable[..., Any], arguments: dict[str, Any]
) -> list[Any]:
    values: list[Any] = []
    for number, name in enumerate(devices):
        with device(name):
            if number:
                first = values[0]
                arguments = {
                    **arguments,
                    "name": f"{first.op.name}/replica_{number}/",
                    "initial_value": lambda first=first, name=name: _initial(first, name),
                }
            values.append(next_creator(**arguments))
    return values


def _note_copies(values: Sequence[Any]) -> None:
    """Record in the graph that these variables are always equal, so that on devices with a common
    memory they can share memory (`compile/rewriting/shared_copies.py`).
    """
    makers = [value.handle.op for value in values]
    for maker in makers:
        maker._set_attr("_copies", [other.attrs["shared_name"] for other in makers])
        maker._set_attr("_copy_devices", [other.device for other in makers])


def _initial(first: Any, name: str) -> Any:
    with device(name):
        return identity(first.initial_value)
