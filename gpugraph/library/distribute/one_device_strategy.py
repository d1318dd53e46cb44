"""`OneDeviceStrategy`: a single replica on one device, to test a distributed program without
several devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.building.replication import Strategy, StrategyExtended
from gpugraph.building.replication.replicated_values import container_of
from gpugraph.building.replication.update_devices import updating
from gpugraph.graph.client.default_graph_functions import device
from gpugraph.library.distribute.device_lists import canonical_device
from gpugraph.library.distribute.distributed_input import DistributesInput


class OneDeviceStrategy(Strategy):
    """Places variables and computation on one device.

    Args:
      device: the name of the device, such as "/gpu:0".
    """

    def __init__(self, device: str) -> None:
        super().__init__(OneDeviceExtended(self, device))


class OneDeviceExtended(DistributesInput, StrategyExtended):
    """The implementation of OneDeviceStrategy: one replica on one device."""

    def __init__(self, container_strategy: Any, name: str) -> None:
        super().__init__(container_strategy)
        self._device = canonical_device(name)

    @property
    def _num_replicas_in_sync(self) -> int:
        return 1

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The device of the replica."""
        return (self._device,)

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Return the device of the replica."""
        return (self._device,)

    def _create_variable(self, next_creator: Callable[..., Any], **arguments: Any) -> Any:
        with device(self._device):
            return next_creator(**arguments)

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """Inside the block, create variables on the strategy's device."""
        return device(self._device)

    def value_container(self, value: Any) -> Any:
        """Return `value` itself, because each variable has only one copy."""
        return container_of(value)

    def _call_for_each_replica(self, fn: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        with device(self._device), self._replica_context:
            return fn(*args, **kwargs)

    def _update(self, var: Any, fn: Any, args: tuple[Any, ...], kwargs: Any, group: bool) -> Any:
        return self._update_non_slot(var, fn, (var, *args), kwargs, group)

    def _update_non_slot(
        self, where: Any, fn: Any, args: tuple[Any, ...], kwargs: Any, group: bool
    ) -> Any:
        with device(self._device), updating(0):
            return self._update_result(fn(*args, **kwargs), group)
