"""Strategies that distribute training over devices and processes: `tf.distribute`.

`mirrored_strategy` copies variables to all devices, `one_device_strategy` uses a single device,
`parameter_strategies` keep variables on one device or on parameter servers, and
`multi_worker_strategy` copies variables to the workers of a cluster. `replica_threads` calls a
function for each replica, `cross_device_ops` adds values over devices, `distributed_variables` has
the variables, `distributed_input` divides batches, and `cluster_resolvers` find the cluster.
"""

from typing import TYPE_CHECKING

from gpugraph.base.deferred_names import deferred_names

if TYPE_CHECKING:
    from gpugraph.building.replication import (
        ReduceOp as ReduceOp,
        ReplicaContext as ReplicaContext,
        Strategy as Strategy,
        StrategyExtended as StrategyExtended,
        experimental_set_strategy as experimental_set_strategy,
        get_loss_reduction as get_loss_reduction,
        get_replica_context as get_replica_context,
        get_strategy as get_strategy,
        has_strategy as has_strategy,
        in_cross_replica_context as in_cross_replica_context,
    )
    from gpugraph.cluster import Server as Server
    from gpugraph.library.distribute import (
        cluster_resolver as cluster_resolver,
        experimental as experimental,
    )
    from gpugraph.library.distribute.cross_device_ops import (
        CrossDeviceOps as CrossDeviceOps,
        HierarchicalCopyAllReduce as HierarchicalCopyAllReduce,
        NcclAllReduce as NcclAllReduce,
        ReductionToOneDevice as ReductionToOneDevice,
    )
    from gpugraph.library.distribute.distributed_input import (
        InputContext as InputContext,
        InputReplicationMode as InputReplicationMode,
    )
    from gpugraph.library.distribute.mirrored_strategy import MirroredStrategy as MirroredStrategy
    from gpugraph.library.distribute.one_device_strategy import (
        OneDeviceStrategy as OneDeviceStrategy,
    )
else:
    __getattr__, __dir__, __all__ = deferred_names(__name__)
