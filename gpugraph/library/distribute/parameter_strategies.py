"""Strategies with one copy of each variable: `CentralStorageStrategy` and
`ParameterServerStrategy`.

In both strategies, the replicas compute on the devices of this process. Each variable is on one
device, such as the CPU or a device of a parameter server. Gradients are summed on the device of the
variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.building.replication import Strategy
from gpugraph.building.replication.reduce_op import ReduceOp
from gpugraph.building.replication.replicated_values import DistributedValues, Mirrored
from gpugraph.graph.client.default_graph_functions import colocate_with, device
from gpugraph.library.distribute.cluster_resolvers import TFConfigClusterResolver
from gpugraph.library.distribute.cluster_tasks import Task
from gpugraph.library.distribute.cross_device_ops import ReductionToOneDevice, devices_of
from gpugraph.library.distribute.device_lists import all_local_devices, canonical_devices
from gpugraph.library.distribute.distributed_variables import DistributedVariable
from gpugraph.library.distribute.mirrored_strategy import MirroredExtended, create_copies
from gpugraph.library.train.replica_devices import replica_device_setter


class CentralStorageStrategy(Strategy):
    """Trains on several devices of one process. The variables are on one of the devices.

    Args:
      compute_devices: the devices of the replicas. By default, all GPUs are used. If there are no
        GPUs, the CPU is used.
      parameter_device: the device of the variables. By default, the device is the device of the
        replica if there is only one replica, otherwise the CPU.
    """

    def __init__(
        self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None
    ) -> None:
        if compute_devices is None:
            devices = all_local_devices()
        else:
            devices = canonical_devices(compute_devices)
        if parameter_device is None:
            parameter_device = devices[0] if len(devices) == 1 else "/device:CPU:0"
        super().__init__(ParameterExtended(self, devices, (parameter_device,)))


class ParameterServerStrategy(Strategy):
    """Asynchronous training: each worker updates variables on the parameter servers of a cluster.

    Raises ValueError if the cluster has no `ps` tasks.

    Args:
      cluster_resolver: the resolver of the cluster and of this task; by default a
        `TFConfigClusterResolver`. If there is no cluster, the strategy behaves like a
        `CentralStorageStrategy`.
    """

    def __init__(self, cluster_resolver: Any = None) -> None:
        resolver = cluster_resolver or TFConfigClusterResolver()
        spec = resolver.cluster_spec()
        if spec is None or not spec.as_dict():
            devices = all_local_devices()
            home = devices if len(devices) == 1 else canonical_devices(["/device:CPU:0"])
            super().__init__(ParameterExtended(self, devices, home))
            return
        task = Task(resolver)
        if not task.count("ps"):
            raise ValueError("The cluster spec needs to have `ps` jobs.")
        servers = tuple(f"/job:ps/task:{number}" for number in range(task.count("ps")))
        super().__init__(ParameterExtended(self, task.devices(), servers, task))


class ParameterExtended(MirroredExtended):
    """The implementation of both strategies: replicas on devices of this process, and one copy of
    each variable.

    The copy of a variable is on one of the `parameter_devices`.

    Args:
      task: the task of this process, if the cluster's parameter servers hold the variables.
    """

    def __init__(
        self,
        container_strategy: Any,
        devices: Sequence[str],
        parameter_devices: Sequence[str],
        task: Task | None = None,
    ) -> None:
        super().__init__(container_strategy, devices, ReductionToOneDevice())
        self._parameter_devices, self._task = tuple(parameter_devices), task
        self._has_distributed_variables = len(devices) > 1
        self._default_device = None if task is None else task.device
        self._variable_device: Any = self._parameter_devices[0]
        if task is not None:
            self._variable_device = replica_device_setter(
                ps_tasks=task.count("ps"), worker_device=task.device, cluster=task.spec
            )

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that hold variables."""
        return self._parameter_devices

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Return the device of the first variable in alphabetical order of names."""
        return min(var_list, key=lambda variable: variable.name)

    def _create_variable(self, next_creator: Callable[..., Any], **arguments: Any) -> Any:
        place = self._variable_device
        if len(self._devices) > 1:
            strategy = self._container_strategy()
            return create_copies(strategy, (place,), next_creator, arguments, is_central=True)
        with device(None), device(place):
            return next_creator(**arguments)

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """Inside the block, create variables on the device of `colocate_with_variable`."""
        return colocate_with(colocate_with_variable.op)

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        if isinstance(value, DistributedVariable):
            value = value.values[0].value()
        elif isinstance(value, Mirrored):
            value = DistributedValues(value.values, value.devices)
        return super()._reduce_to(reduce_op, value, destinations)

    def _update_non_slot(
        self, where: Any, fn: Any, args: tuple[Any, ...], kwargs: Any, group: bool
    ) -> Any:
        return super()._update_non_slot(list(devices_of(where)), fn, args, kwargs, group)

    # -- the cluster

    def _first_replica(self) -> int | None:
        return 0 if self._task is None else None

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each worker builds a separate graph. The property is always True."""
        return True

    @property
    def experimental_should_init(self) -> bool:
        """Whether this task initializes variables. Only the chief initializes them."""
        return self._task is None or self._task.is_chief

    @property
    def should_checkpoint(self) -> bool:
        """Whether this task saves checkpoints. Only the chief saves them."""
        return self.experimental_should_init

    @property
    def should_save_summary(self) -> bool:
        """Whether this task saves summaries. Only the chief saves them."""
        return self.experimental_should_init

    def _update_config_proto(self, config_proto: Any) -> Any:
        updated = super()._update_config_proto(config_proto)
        if self._task is not None:
            updated.isolate_session_state = False
            del updated.device_filters[:]
            updated.device_filters.extend(self._task.device_filters(["ps"]))
        return updated
