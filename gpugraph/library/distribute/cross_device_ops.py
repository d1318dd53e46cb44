"""Reductions and copies of values across the devices of replicas:
`tf.distribute.CrossDeviceOps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpugraph.building.replication.reduce_op import ReduceOp, as_reduce_op
from gpugraph.building.replication.replicated_values import DistributedValues, Mirrored
from gpugraph.graph.client.default_graph_functions import device
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.library.distribute.device_lists import canonical_device
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.elementwise.arithmetic_functions import add_n
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def devices_of(destinations: Any) -> tuple[str, ...]:
    """Return the devices of a destination. A destination is a value, a device name, or a list of
    device names.
    """
    if isinstance(destinations, str):
        return (canonical_device(destinations),)
    if isinstance(destinations, (list, tuple)):
        return tuple(canonical_device(name) for name in destinations)
    if hasattr(destinations, "devices"):
        return tuple(destinations.devices)
    return (destinations.device,)


class CrossDeviceOps:
    """Base class of the objects that reduce values over the devices of a strategy and copy values
    to devices.
    """

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """Return the sum or mean of the replicas' values, on the devices of `destinations`."""
        return self.reduce_implementation(as_reduce_op(reduce_op), per_replica_value, destinations)

    def batch_reduce(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """Return the results of `reduce` for a list of (value, destinations) pairs."""
        return self.batch_reduce_implementation(
            as_reduce_op(reduce_op), list(value_destination_pairs)
        )

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """Return copies of a tensor on the devices of `destinations`."""
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any
    ) -> Any:
        """Reduce one value. `reduce` calls this method, which subclasses define."""
        raise NotImplementedError("_reduce method must be implemented in descendants.")

    def batch_reduce_implementation(
        self, reduce_op: ReduceOp, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        """Reduce several values. The base class reduces the values one after another."""
        return [
            self.reduce_implementation(reduce_op, value, destinations)
            for value, destinations in value_destination_pairs
        ]

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """Return copies of a tensor on the devices of `destinations`."""
        return mirrored(tensor, devices_of(destinations))


class ReductionToOneDevice(CrossDeviceOps):
    """Adds up all values on one device, then copies the result to all other devices of the
    destinations.

    Args:
      reduce_to_device: the device that computes the sum; by default, the first of the destinations.
      accumulation_fn: the function that adds up a list of tensors; by default `tf.add_n`.
    """

    def __init__(self, reduce_to_device: Any = None, accumulation_fn: Any = None) -> None:
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = accumulation_fn or add_n

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any
    ) -> Any:
        """Reduce the components of `per_replica_value`, and return the result on the devices of
        `destinations`.
        """
        devices = devices_of(destinations)
        where = canonical_device(self.reduce_to_device or devices[0])
        with device(where):
            total = _total(reduce_op, _values(per_replica_value), self.accumulation_fn)
        return mirrored(total, devices, where)


class AllReduceCrossDeviceOps(ReductionToOneDevice):
    """All-reduce: after each reduction, all devices have the result.

    All devices belong to one process. So the sum is computed only once, on the first device, and is
    then copied.

    Args:
      all_reduce_alg, num_packs, agg_small_grads_max_bytes, agg_small_grads_max_group: have no
        effect.
    """

    def __init__(
        self,
        all_reduce_alg: str = "nccl",
        num_packs: int = 1,
        agg_small_grads_max_bytes: int = 0,
        agg_small_grads_max_group: int = 10,
    ) -> None:
        super().__init__()
        if num_packs < 0:
            raise ValueError(f"num_packs must be greater than or equal to zero, not {num_packs}")


class NcclAllReduce(AllReduceCrossDeviceOps):
    """All-reduce with this package's own copies between devices. TensorFlow calls NCCL instead."""

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__("nccl", num_packs)


class HierarchicalCopyAllReduce(AllReduceCrossDeviceOps):
    """All-reduce, computed in the same way as by `NcclAllReduce`."""

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__("hierarchical_copy", num_packs)


class AllReduceSpecTuple(NamedTuple):
    """The name of an algorithm, the number of shards, and the maximum size of its tensors."""

    alg: str
    shards: int = 1
    limit: int = -1


class MultiWorkerAllReduce(AllReduceCrossDeviceOps):
    """All-reduce over the devices of several workers in one graph. It is computed in the same way
    as in `NcclAllReduce`.

    Raises ValueError if the form of `all_reduce_spec` is not one of the forms below.

    Args:
      worker_devices, num_gpus_per_worker: have no effect.
      all_reduce_spec: the name of an algorithm, a tuple that begins with a name, or a list of
        tuples. It has no effect.
      num_packs, agg_small_grads_max_bytes, agg_small_grads_max_group: have no effect.
    """

    def __init__(
        self,
        worker_devices: Sequence[str],
        num_gpus_per_worker: int,
        all_reduce_spec: Any = ("pscpu/pscpu", 2, -1),
        num_packs: int = 0,
        agg_small_grads_max_bytes: int = 0,
        agg_small_grads_max_group: int = 10,
    ) -> None:
        super().__init__("nccl", num_packs, agg_small_grads_max_bytes, agg_small_grads_max_group)
        self._worker_devices, self._num_gpus_per_worker = worker_devices, num_gpus_per_worker
        specs = all_reduce_spec if isinstance(all_reduce_spec, list) else [all_reduce_spec]
        self._all_reduce_spec = [_spec(spec) for spec in specs]


def _spec(spec: Any) -> AllReduceSpecTuple:
    if isinstance(spec, str):
        return AllReduceSpecTuple(spec)
    if not isinstance(spec, tuple):
        raise ValueError(f"A tuple is expected for all-reduce spec: {spec!r}")
    if not 1 <= len(spec) <= 3:
        raise ValueError(f"Too many elements in the all-reduce spec tuple: {spec!r}")
    return AllReduceSpecTuple(*spec)


def _values(value: Any) -> tuple[Any, ...]:
    if isinstance(value, DistributedValues) or getattr(value, "_is_distributed", False):
        values: tuple[Any, ...] = value.values
        return values
    return (value,)


def _total(reduce_op: ReduceOp, values: Sequence[Any], add: Any) -> Any:
    if any(isinstance(value, IndexedSlices) for value in values):
        rows = concat([value.values for value in values], 0)
        indices = concat([value.indices for value in values], 0)
        if reduce_op is ReduceOp.MEAN:
            rows = rows / len(values)
        return IndexedSlices(rows, indices, values[0].dense_shape)
    tensors = [convert_to_tensor(value) for value in values]
    total = add(tensors) if len(tensors) > 1 else identity(tensors[0])
    return total / len(tensors) if reduce_op is ReduceOp.MEAN else total


def mirrored(value: Any, devices: Sequence[str], home: str | None = None) -> Any:
    """Return a value with a copy of a tensor, or of IndexedSlices, on each of these devices.

    For a single device, return the copy itself.

    Args:
      home: the device of the value, if it is known.
    """
    copies = []
    for name in devices:
        if name == home:
            copies.append(value)
            continue
        with device(name):
            copies.append(_copy(value))
    return Mirrored(copies) if len(copies) > 1 else copies[0]


def _copy(value: Any) -> Any:
    if not isinstance(value, IndexedSlices):
        return identity(convert_to_tensor(value))
    shape = value.dense_shape
    return IndexedSlices(
        identity(value.values), identity(value.indices), None if shape is None else identity(shape)
    )
