"""`tf.contrib.distribute`: the strategies under their older names."""

from gpugraph.building import replication as _replication
from gpugraph.building.replication import (
    ReplicaContext as ReplicaContext,
    get_cross_replica_context as get_cross_replica_context,
    get_loss_reduction as get_loss_reduction,
    get_replica_context as get_replica_context,
    get_strategy as get_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
    require_replica_context as require_replica_context,
)
from gpugraph.library.distribute.contrib_strategies import (
    CollectiveAllReduceStrategy as CollectiveAllReduceStrategy,
    MirroredStrategy as MirroredStrategy,
    ParameterServerStrategy as ParameterServerStrategy,
)
from gpugraph.library.distribute.cross_device_ops import (
    AllReduceCrossDeviceOps as AllReduceCrossDeviceOps,
    CrossDeviceOps as CrossDeviceOps,
    MultiWorkerAllReduce as MultiWorkerAllReduce,
)
from gpugraph.library.distribute.distribute_config import (
    DistributeConfig as DistributeConfig,
    run_standard_tensorflow_server as run_standard_tensorflow_server,
)
from gpugraph.library.distribute.one_device_strategy import (
    OneDeviceStrategy as OneDeviceStrategy,
)
from gpugraph.library.distribute.training_steps import (
    Monitor as Monitor,
    StandardInputStep as StandardInputStep,
    StandardSingleLossStep as StandardSingleLossStep,
    Step as Step,
)

DistributionStrategy = _replication.Strategy
get_distribution_strategy = _replication.get_strategy
has_distribution_strategy = _replication.has_strategy
