"""Clusters: servers that run parts of a graph over gRPC, for sessions in other processes.

    client     GrpcSession       sends a graph, then runs by the names of feeds, fetches, targets
                   |
    server     Master            assigns a run's operations to tasks, cuts the run into parts
                 |   |
    servers    Worker Worker     compile their parts into plans, run them, exchange tensors

A worker runs its part of a run in stages (`run_stages.py`). The first stage contains the operations
that need no tensor of another task. Each later stage contains operations that need tensors from
earlier stages. Before a stage starts, the stage waits for these tensors. A stage never needs a
tensor of a later stage, so a run of a cluster cannot deadlock with itself. `docs/cluster.md` is the
page for users.
"""

from __future__ import annotations

from gpugraph.cluster.client.grpc_session import (
    GrpcSession as GrpcSession,
    GrpcSessionFactory as GrpcSessionFactory,
)
from gpugraph.cluster.cluster_spec import ClusterSpec as ClusterSpec
from gpugraph.cluster.collectives.gradient_reduction import (
    all_reduce_gradients as all_reduce_gradients,
)
from gpugraph.cluster.grpc_server import Server as Server
from gpugraph.cluster.ray_actors import (
    RayCluster as RayCluster,
    RayTask as RayTask,
    ray_cluster as ray_cluster,
)
