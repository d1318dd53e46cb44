"""Variables with a copy on the device of each replica.

The copies of a `MirroredVariable` are equal. An update in the cross-replica context changes all
copies. An update in a replica context first aggregates the values of all replicas. The copies of a
`SyncOnReadVariable` differ, because each replica changes its own copy independently. A read in the
cross-replica context aggregates the copies.

In a replica, an operation on a variable of either class uses the replica's own copy. Outside of
replicas, such an operation uses the first copy. A checkpoint stores one value for all copies, under
the name of the first copy.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.building.replication.reduce_op import ReduceOp
from gpugraph.building.replication.replica_contexts import get_replica_context, has_strategy
from gpugraph.building.replication.replicated_values import (
    Components,
    DistributedValues,
    PerReplica,
)
from gpugraph.building.replication.update_devices import update_replica
from gpugraph.building.variables import ResourceVariable
from gpugraph.building.variables.replication_modes import VariableAggregation
from gpugraph.graph.client.default_graph_functions import device, init_scope
from gpugraph.graph.client.default_stacks import session_for
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.savers.saveable_objects import SaveableObject, SaveSpec
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_NO_AGGREGATION = (
    "You must specify an aggregation method to update a MirroredVariable in Replica Context. You "
    "can do so by passing an explicit value for argument `aggregation` to tf.Variable(..), e.g. "
    "`tf.Variable(..., aggregation=tf.VariableAggregation.SUM)`. Or update it in the cross-replica "
    "context: `tf.distribute.get_replica_context().merge_call(...)`."
)


class DistributedVariable(Components, ResourceVariable):
    """A variable with one component per replica. In a replica, operations on the variable use that
    replica's component.
    """

    _is_distributed = True

    def __init__(self, strategy: Any, values: Sequence[Any], aggregation: Any) -> None:
        self._values = tuple(values)
        self._distribute_strategy = strategy
        self._aggregation = aggregation
        with init_scope():
            self._initializer = group(
                *[value.initializer for value in self._values],
                name=f"{values[0].op.name}/group_initializer/",
            )
        for value in self._values:
            value._distributed_container = weakref.ref(self)
            value._distribute_strategy = strategy

    def __getattr__(self, name: str) -> Any:
        if name == "_values":  # not yet initialized
            raise AttributeError(name)
        return getattr(self.get(), name)

    @property
    def distribute_strategy(self) -> Any:
        """The strategy that has created the variable."""
        return self._distribute_strategy

    def get(self, device: Any = None) -> Any:
        """Return the component of the current replica, or the component on `device`."""
        return self._values[self._number(device)]

    def _component(self) -> ResourceVariable:
        component: ResourceVariable = self.get()
        return component

    def _number(self, device: Any = None) -> int:
        if device is not None:
            return self.devices.index(device)
        context = get_replica_context()
        if context is not None and has_strategy():
            number: int = context._replica_id
            return number if len(self._values) > 1 else 0
        replica = update_replica()
        if replica is None:
            here = self._values[0].graph._scope.device
            return self.devices.index(here) if here in self.devices else 0
        return replica if len(self._values) > 1 else 0

    @property
    def name(self) -> str:
        """The name of the first component, which is the name of the variable in all replicas."""
        return self._values[0].name

    @property
    def _shared_name(self) -> str:
        shared: str = self._values[0]._shared_name
        return shared

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the message of the first component."""
        return self._values[0].to_proto(export_scope)

    @property
    def initializer(self) -> Operation:
        """The operation that initializes all components."""
        return self._initializer

    def _is_initialized(self) -> Tensor:
        return self._values[0]._is_initialized()

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return a bool scalar tensor: whether all components have a value."""
        *others, last = (value.is_initialized() for value in self._values)
        for other in others:
            last = raw_ops.LogicalAnd(last, other)
        return identity(last, name)

    def value(self) -> Tensor:
        """Return the value of the current replica's component."""
        return self.get().value()

    def read_value(self) -> Tensor:
        """Return the value of the current replica's component, from a new read op."""
        return self.get().read_value()

    def _as_graph_element(self) -> Tensor:
        return self.get()._as_graph_element()

    def load(self, value: Any, session: Any = None) -> None:
        """Assign a value to all components, in `session` or in the default session."""
        for component in self._values:
            component.load(value, session)

    def _in_copies(self, change: Callable[[Any], Any]) -> Any:
        """In a replica, return `change(copy)` for the replica's own copy. Elsewhere, call `change`
        for each copy.
        """
        context = get_replica_context()
        if (context is not None and has_strategy()) or update_replica() is not None:
            return change(self.get())
        return self._distribute_strategy.extended.update(self, change)

    def _change(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _saveable(self, name: str) -> SaveableObject:
        raise NotImplementedError


def _changing(method: str) -> Any:
    def change(self: DistributedVariable, *args: Any, **kwargs: Any) -> Any:
        return self._change(method, args, kwargs)

    change.__doc__ = f"Do `{method}` on the copies that the class states, as for a plain variable."
    return change


_CHANGES = ("assign", "assign_add", "assign_sub", "scatter_update", "scatter_add", "scatter_sub")
for _name in _CHANGES:
    setattr(DistributedVariable, _name, _changing(_name))


def _call(method: str) -> Callable[..., Any]:
    return lambda component, *args, **kwargs: getattr(component, method)(*args, **kwargs)


class MirroredVariable(DistributedVariable):
    """A variable whose components are equal."""

    _merges_changes = True

    def _change(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        context = get_replica_context()
        if context is None or not has_strategy():
            if update_replica() is not None:
                return _call(method)(self.get(), *args, **kwargs)
            return self._distribute_strategy.extended.update(self, _call(method), args, kwargs)
        if self._aggregation == VariableAggregation.NONE:
            raise ValueError(_NO_AGGREGATION)

        def merged(strategy: Any, value: Any, *rest: Any, **others: Any) -> Any:
            total = aggregated(strategy, value, self._aggregation, self)
            return strategy.extended.update(self, _call(method), (total, *rest), others)

        return context.merge_call(merged, args, kwargs)

    def load(self, value: Any, session: Any = None) -> None:
        """Assign a value to all components at once in `session`, or in the default session."""
        chosen = session or session_for(self._values[0].graph, None, "load a value")
        initial = self._values[0].initializer.inputs[1]  # the others' initial values copy it
        chosen.run(self._initializer, {initial: value})

    def _saveable(self, name: str) -> SaveableObject:
        return _MirroredSaveable(self, name)


class SyncOnReadVariable(DistributedVariable):
    """A variable whose components the replicas change independently. A read returns the aggregate
    of the components.
    """

    _shared_read: Tensor | None = None

    def _change(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        context = get_replica_context()
        if (context is not None and has_strategy()) or update_replica() is not None:
            return _call(method)(self.get(), *args, **kwargs)
        if method != "assign":
            if self._aggregation == VariableAggregation.SUM:
                raise ValueError(
                    f"SyncOnReadVariable does not support `{method}` in cross-replica context when "
                    "aggregation is set to `tf.VariableAggregation.SUM`."
                )
            changes = [_call(method)(value, *args, **kwargs) for value in self._values]
        else:
            value, rest = args[0], args[1:]
            changes = self._assigned(value, rest, kwargs)
        return group(*[getattr(change, "op", change) for change in changes])

    def _assigned(self, value: Any, rest: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        shares = self._shares(convert_to_tensor(value, self.dtype.base_dtype))
        results = []
        for component, share in zip(self._values, shares):
            with device(component.device):
                results.append(component.assign(identity(share), *rest, **kwargs))
        return results

    def _shares(self, tensor: Tensor) -> list[Tensor]:
        """Return the value to store in each component, so that the aggregate of the components of
        all workers is `tensor`.

        For a sum, each of the replicas in sync gets an equal share. The remainder of an integer
        goes to the first replica.
        """
        count = len(self._values)
        extended = self._distribute_strategy.extended
        total = max(count, extended._num_replicas_in_sync)
        if self._aggregation != VariableAggregation.SUM or total == 1:
            return [tensor] * count
        is_exact = tensor.dtype.is_floating or tensor.dtype.is_complex
        share = tensor / total if is_exact else tensor // total
        shares = [share] * count
        if not is_exact and not extended._first_replica():
            shares[0] = tensor - share * (total - 1)
        return shares

    def value(self) -> Tensor:
        """In a replica, return the value of the replica's own component. Elsewhere, return the
        aggregate.
        """
        context = get_replica_context()
        if (context is not None and has_strategy()) or update_replica() is not None:
            return super().value()
        return self._aggregate()

    read_value = value

    def _as_graph_element(self) -> Tensor:
        context = get_replica_context()
        if context is None or has_strategy():
            return self.value() if context is None else super()._as_graph_element()
        if self._shared_read is None:  # outside of any scope: programs read repeatedly, as in loops
            with init_scope():
                self._shared_read = self.value()
        return self._shared_read

    def _aggregate(self) -> Any:
        if self._aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
            return self._values[0].value()
        if self._aggregation == VariableAggregation.NONE and get_replica_context() is not None:
            return self._values[0].value()  # outside of all scopes
        try:
            operation = ReduceOp.from_variable_aggregation(self._aggregation)
        except ValueError as error:
            raise ValueError(
                f"{error}: the replicas' values of the variable '{self.name}' can't be read as one "
                "outside of the replicas. Create it with an `aggregation` (SUM, MEAN or "
                "ONLY_FIRST_REPLICA), or read it in a replica"
            ) from None
        values = PerReplica([value.value() for value in self._values])
        extended = self._distribute_strategy.extended
        return extended._reduce_to(operation, values, self._values[0].device)

    def _saveable(self, name: str) -> SaveableObject:
        return _SyncOnReadSaveable(self, name)


def aggregated(strategy: Any, value: Any, aggregation: Any, destinations: Any) -> Any:
    """Return the aggregate of the replicas' values, on the devices of `destinations`."""
    if aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
        first = value.values[0] if isinstance(value, DistributedValues) else value
        return strategy.extended.broadcast_to(first, destinations)
    operation = ReduceOp.from_variable_aggregation(aggregation)
    return strategy.extended.reduce_to(operation, value, destinations)


class _MirroredSaveable(SaveableObject):
    """The saveable object of a mirrored variable. The object saves the first component, and
    restores all components.
    """

    def __init__(self, variable: MirroredVariable, name: str) -> None:
        primary = variable.primary
        self._variable = variable
        spec = SaveSpec(primary.read_value, "", name, dtype=primary.dtype, device=primary.device)
        super().__init__(variable, [spec], name)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Return the operation that assigns the value to all components."""
        changes = []
        for component in self._variable.values:
            with device(component.device):
                value = identity(restored_tensors[0])
                changes.append(component.assign(value, read_value=False))
        return group(*changes)


class _SyncOnReadSaveable(SaveableObject):
    """The saveable object of a SyncOnReadVariable.

    The object saves the aggregate, and restores the components so that a read returns the saved
    value.
    """

    def __init__(self, variable: SyncOnReadVariable, name: str) -> None:
        self._variable = variable
        primary = variable.primary
        spec = SaveSpec(variable._aggregate, "", name, dtype=primary.dtype, device=primary.device)
        super().__init__(variable, [spec], name)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Return the operation that assigns values to the components so that their aggregate is the
        restored value.
        """
        changes = self._variable._assigned(restored_tensors[0], (), {"read_value": False})
        return group(*changes)
