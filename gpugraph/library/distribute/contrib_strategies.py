"""The strategies of `tf.contrib.distribute`: the strategies of `tf.distribute` with older
arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.replication import Strategy
from gpugraph.library.distribute.cross_device_ops import CrossDeviceOps
from gpugraph.library.distribute.device_lists import all_local_devices, canonical_devices
from gpugraph.library.distribute.mirrored_strategy import MirroredExtended
from gpugraph.library.distribute.multi_worker_strategy import (
    CollectiveCommunication,
    MultiWorkerMirroredStrategy,
)
from gpugraph.library.distribute.parameter_strategies import CentralStorageStrategy


class MirroredStrategy(Strategy):
    """Trains on several devices of one process. Each device has a copy of the variables.

    Raises ValueError if both `devices` and a number of GPUs are passed.

    Args:
      devices: the names of the devices.
      num_gpus, num_gpus_per_worker: the number of GPUs to use, instead of `devices`.
      auto_shard_dataset: has no effect, because each process reads the whole dataset.
    """

    def __init__(
        self,
        devices: Sequence[str] | None = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: CrossDeviceOps | None = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: CrossDeviceOps | None = None,
    ) -> None:
        del auto_shard_dataset
        if cross_device_ops is not None and cross_tower_ops is not None:
            raise AssertionError("Only one of cross_device_ops and cross_tower_ops may be given")
        if num_gpus is not None and num_gpus_per_worker is not None:
            raise ValueError("You cannot specify both `num_gpus` and `num_gpus_per_worker`.")
        count = num_gpus_per_worker if num_gpus is None else num_gpus
        if devices is not None and count is not None:
            raise ValueError("Must only specify one of `devices` and `num_gpus`.")
        names = all_local_devices(count) if devices is None else canonical_devices(devices)
        super().__init__(MirroredExtended(self, names, cross_device_ops or cross_tower_ops))


class CollectiveAllReduceStrategy(MultiWorkerMirroredStrategy):
    """Synchronous training on all workers of the cluster in TF_CONFIG.

    Args:
      num_gpus_per_worker: has no effect, because each worker uses all of its GPUs.
    """

    def __init__(
        self,
        num_gpus_per_worker: int = 0,
        communication: CollectiveCommunication = CollectiveCommunication.AUTO,
    ) -> None:
        del num_gpus_per_worker
        super().__init__(communication)


class ParameterServerStrategy(CentralStorageStrategy):
    """Trains on several devices of one process, with the variables on one of them.

    Args:
      num_gpus_per_worker: the number of GPUs to use.
    """

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        devices: Any = all_local_devices(num_gpus_per_worker) if num_gpus_per_worker else None
        super().__init__(devices or ["/device:CPU:0"])
