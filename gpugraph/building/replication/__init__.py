"""Replication: strategies, which build a computation for several replicas, and the contexts that
are active while it is built.

`replica_contexts` holds the current strategy. `strategy` and `strategy_extended` define the base
classes. `default_strategy` has a single replica and is current outside of all scopes.
`replicated_values` defines values with a component per replica. Concrete strategies are in
`library/distribute`.
"""

from gpugraph.building.replication.default_strategy import DefaultStrategy as DefaultStrategy
from gpugraph.building.replication.reduce_op import ReduceOp as ReduceOp
from gpugraph.building.replication.replica_context import ReplicaContext as ReplicaContext
from gpugraph.building.replication.replica_contexts import (
    current_replica as current_replica,
    experimental_set_strategy as experimental_set_strategy,
    get_cross_replica_context as get_cross_replica_context,
    get_replica_context as get_replica_context,
    get_strategy as get_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
    require_replica_context as require_replica_context,
)
from gpugraph.building.replication.strategy import (
    Strategy as Strategy,
    colocated as colocated,
    get_loss_reduction as get_loss_reduction,
)
from gpugraph.building.replication.strategy_extended import StrategyExtended as StrategyExtended
