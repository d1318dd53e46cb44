"""`MultiWorkerMirroredStrategy`: synchronous training on the devices of several processes.

Each worker builds a graph with its own copies of the variables. A worker receives the initial
values of the variables from the chief. Each gradient is summed over the worker's devices, then over
the workers with a collective op. So all copies stay equal.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from itertools import count
from typing import Any

from gpugraph.building.replication import Strategy
from gpugraph.building.replication.reduce_op import ReduceOp
from gpugraph.building.replication.replicated_values import DistributedValues
from gpugraph.config import RewriterConfig
from gpugraph.graph.client.default_graph_functions import device, get_default_graph
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.library.distribute.cluster_resolvers import TFConfigClusterResolver
from gpugraph.library.distribute.cluster_tasks import Task
from gpugraph.library.distribute.cross_device_ops import (
    CrossDeviceOps,
    ReductionToOneDevice,
    devices_of,
    mirrored,
)
from gpugraph.library.distribute.device_lists import all_local_devices
from gpugraph.library.distribute.distributed_variables import DistributedVariable
from gpugraph.library.distribute.mirrored_strategy import MirroredExtended, create_copies
from gpugraph.ops.collectives.collective_ops import (
    all_gather,
    all_reduce,
    broadcast_recv,
    broadcast_send,
)
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_GROUP_KEY = 1


class CollectiveCommunication(enum.Enum):
    """The method by which workers exchange gradients. The value has no effect, because this package
    has only its own exchanges.
    """

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class MultiWorkerMirroredStrategy(Strategy):
    """Synchronous training on all workers of a cluster.

    Args:
      communication: a `CollectiveCommunication`.
      cluster_resolver: the resolver of the cluster and of this task; by default a
        `TFConfigClusterResolver`. If there is no cluster, the strategy behaves like a
        `MirroredStrategy`.
    """

    def __init__(
        self,
        communication: CollectiveCommunication = CollectiveCommunication.AUTO,
        cluster_resolver: Any = None,
    ) -> None:
        if not isinstance(communication, CollectiveCommunication):
            raise AssertionError(f"communication must be a CollectiveCommunication, not "
                                 f"{communication!r}")  # fmt: skip
        resolver = cluster_resolver or TFConfigClusterResolver()
        super().__init__(MultiWorkerExtended(self, resolver))


class MultiWorkerExtended(MirroredExtended):
    """The implementation of MultiWorkerMirroredStrategy. Each device of each worker has copies of
    the variables.
    """

    def __init__(self, container_strategy: Any, resolver: Any) -> None:
        spec = resolver.cluster_spec()
        self._task = task = Task(resolver) if spec is not None and spec.as_dict() else None
        devices = all_local_devices() if task is None else task.devices()
        if task is not None and not task.num_workers:
            raise ValueError("No `worker`, `chief` or `evaluator` tasks can be found in "
                             "`cluster_spec`.")  # fmt: skip
        self._num_workers = 1 if task is None else task.num_workers
        ops: CrossDeviceOps | None = None
        if self._num_workers > 1:
            ops = _CollectiveReduction(self._num_workers)
        super().__init__(container_strategy, devices, ops)
        if task is not None:
            self._default_device = task.device

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self._devices) * self._num_workers

    def _create_variable(self, next_creator: Callable[..., Any], **arguments: Any) -> Any:
        if self._num_workers > 1:
            initial = arguments["initial_value"]
            dtype, name = arguments.get("dtype"), self._devices[0]
            arguments["initial_value"] = lambda: self._initial(initial, dtype, name)
        return create_copies(self._container_strategy(), self._devices, next_creator, arguments)

    def _initial(self, initial: Any, dtype: Any, name: str) -> Any:
        """Return the initial value of a variable, which the chief computes and sends to the other
        workers.
        """
        assert self._task is not None
        with device(name):
            value = identity(convert_to_tensor(initial() if callable(initial) else initial, dtype))
            arguments = (value.shape, value.dtype, self._num_workers, _GROUP_KEY, _next_key())
            if not self._task.is_chief:
                return broadcast_recv(*arguments)
            sent = broadcast_send(value, *arguments)
            with get_default_graph().control_dependencies([sent]):
                return identity(value)

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        is_plain = not isinstance(value, (DistributedValues, DistributedVariable))
        if self._num_workers > 1 and is_plain:  # the value of this worker's only replica
            return self._cross_device_ops.reduce(reduce_op, value, destinations)
        return super()._reduce_to(reduce_op, value, destinations)

    # -- the cluster

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each worker builds a separate graph. The property is always True."""
        return True

    @property
    def experimental_should_init(self) -> bool:
        """Whether this task initializes variables. The property is always True, because each task
        initializes its own copies.
        """
        return True

    @property
    def should_checkpoint(self) -> bool:
        """Whether this task saves checkpoints. Only the chief saves them."""
        return self._task is None or self._task.is_chief

    @property
    def should_save_summary(self) -> bool:
        """Whether this task saves summaries. Only the chief saves them."""
        return self.should_checkpoint

    def _update_config_proto(self, config_proto: Any) -> Any:
        updated = super()._update_config_proto(config_proto)
        if self._task is not None:
            updated.isolate_session_state = True
            updated.experimental.collective_group_leader = self._task.leader()
            del updated.device_filters[:]
            updated.device_filters.append(self._task.device)
            rewrites = updated.graph_options.rewrite_options
            rewrites.scoped_allocator_optimization = RewriterConfig.ON  # buckets of gradients
            del rewrites.scoped_allocator_opts.enable_op[:]
            rewrites.scoped_allocator_opts.enable_op.append("CollectiveReduce")
        return updated


def _next_key() -> int:
    """Return the number of the graph's next collective.

    All workers assign the same numbers, because they build the same graph.
    """
    graph: Any = get_default_graph()
    keys = getattr(graph, "_collective_keys", None)
    if keys is None:
        keys = graph._collective_keys = count(1)
    return int(next(keys))


class _CollectiveReduction(ReductionToOneDevice):
    """Cross-device operations that sum over the devices of a worker, then over the workers."""

    def __init__(self, num_workers: int) -> None:
        super().__init__()
        self._num_workers = num_workers

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any
    ) -> Any:
        """Reduce the components of `per_replica_value`, and return the result on the devices of
        `destinations`.
        """
        devices = devices_of(destinations)
        local = super().reduce_implementation(reduce_op, per_replica_value, list(devices[:1]))
        with device(devices[0]):
            total = self._over_workers(reduce_op, local)
        return mirrored(total, devices, devices[0])

    def _over_workers(self, reduce_op: ReduceOp, value: Any) -> Any:
        size, final = self._num_workers, "Div" if reduce_op is ReduceOp.MEAN else "Id"
        if not isinstance(value, IndexedSlices):
            return all_reduce(value, size, _GROUP_KEY, _next_key(), "Add", final)
        rows = all_gather(value.values, size, _GROUP_KEY, _next_key())
        indices = all_gather(value.indices, size, _GROUP_KEY, _next_key())
        if reduce_op is ReduceOp.MEAN:
            rows = rows / size
        return IndexedSlices(rows, indices, value.dense_shape)
