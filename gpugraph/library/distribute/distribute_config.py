"""`DistributeConfig`, and a function that starts a server for a task of TF_CONFIG's cluster."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.cluster import Server
from gpugraph.library.distribute.cluster_resolvers import TFConfigClusterResolver


class DistributeConfig(NamedTuple):
    """The settings of an estimator's distributed training and evaluation.

    The settings are a strategy for training, a strategy for evaluation, and the addresses of a
    remote cluster.
    """

    train_distribute: Any = None
    eval_distribute: Any = None
    remote_cluster: Any = None


def run_standard_tensorflow_server(session_config: Any = None) -> Any:
    """Start a server for this process's task in the cluster of TF_CONFIG. Return the server.

    Raises ValueError if TF_CONFIG has no cluster, or if the cluster does not contain this task.
    """
    resolver = TFConfigClusterResolver()
    spec = resolver.cluster_spec()
    if not spec.as_dict():
        raise ValueError('"cluster" is not found in TF_CONFIG.')
    if resolver.task_type is None or resolver.task_id is None:
        raise ValueError('"task" is not found in TF_CONFIG.')
    return Server(
        spec, job_name=resolver.task_type, task_index=resolver.task_id, config=session_config
    )
