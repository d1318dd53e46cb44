"""`tensorflow.python.distribute.estimator_training`, which implements the strategies in an
estimator's RunConfig.

Each task of the cluster in `TF_CONFIG` runs the program. `train_and_evaluate` starts the task's
server. A worker then trains, the evaluator evaluates, and a parameter server serves variables.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from gpugraph.base.errors import UnimplementedError
from gpugraph.cluster.cluster_spec import ClusterSpec
from gpugraph.config.environment import value_of
from gpugraph.library.distribute.cluster_resolvers import SimpleClusterResolver
from gpugraph.library.distribute.cluster_tasks import Task
from gpugraph.library.distribute.distribute_config import run_standard_tensorflow_server
from gpugraph.library.train.monitored_sessions.worker_context import WorkerContext, entered_worker
from gpugraph.platform import logging

_INDEPENDENT_WORKER = "independent_worker"


def init_run_config(config: Any, tf_config: dict[str, Any]) -> None:
    """Set the cluster of a RunConfig of estimators from `TF_CONFIG`.

    Raises ValueError if both the config and its `experimental_distribute` set a strategy. Raises
    UnimplementedError if `experimental_distribute` has a remote cluster.
    """
    distribute = config._experimental_distribute
    if distribute:
        if distribute.remote_cluster:
            raise UnimplementedError.of_no_node(
                "RunConfig(experimental_distribute=...): no program runs on a remote cluster's "
                "workers: start the program in each task, with TF_CONFIG"
            )
        for name in ("train_distribute", "eval_distribute"):
            strategy = getattr(distribute, name)
            if strategy and getattr(config, f"_{name}"):
                raise ValueError(f"Either `{name}` or `experimental_distribute.{name}` can be set.")
            setattr(config, f"_{name}", strategy or getattr(config, f"_{name}"))
    cluster = ClusterSpec(tf_config.get("cluster", {}))
    if not cluster.as_dict() or "master" in cluster.jobs or not config._train_distribute:
        config._distribute_coordinator_mode = None
        config._init_distributed_setting_from_environment_var(tf_config)
        config._maybe_overwrite_session_config_for_distributed_training()
        logging.info("Not using Distribute Coordinator.")
        return
    config._init_distributed_setting_from_environment_var({})
    config._cluster_spec = cluster
    config._distribute_coordinator_mode = _INDEPENDENT_WORKER
    logging.info("RunConfig initialized for Distribute Coordinator with INDEPENDENT_WORKER mode")


def should_run_distribute_coordinator(config: Any) -> bool:
    """Return whether `train_and_evaluate` runs a task of a cluster and uses a strategy."""
    is_set = getattr(config, "_distribute_coordinator_mode", None) is not None
    return is_set and bool(config.cluster_spec.as_dict())


def train_and_evaluate(estimator: Any, train_spec: Any, eval_spec: Any, executor_cls: Any) -> None:
    """Run this process's task of the cluster, until training ends.

    A parameter server serves until something ends its process.
    """
    task, config = _task(), estimator.config
    if task.type == "evaluator":
        local = _local_estimator(estimator, task, "", config.eval_distribute)
        executor_cls(local, train_spec, eval_spec)._start_continuous_evaluation()
        return
    server = run_standard_tensorflow_server(config.session_config)
    if task.type == "ps":
        server.join()
    strategy = config.train_distribute
    strategy.configure(config.session_config, task.spec, task.type, task.id)
    local = _local_estimator(estimator, task, server.target, strategy)
    with entered_worker(WorkerContext(strategy, server.target, f"{task.type}_{task.id}")):
        local.train(train_spec.input_fn, max_steps=train_spec.max_steps, hooks=train_spec.hooks)


def estimator_train(estimator: Any, train_distributed_fn: Any, hooks: Any) -> None:
    """Raise ValueError, because `Estimator.train` trains in one process."""
    raise ValueError("Only `STANDALONE_CLIENT` mode is supported when you call `estimator.train`: "
                     "under TF_CONFIG's cluster, call tf.estimator.train_and_evaluate")  # fmt: skip


def estimator_evaluate(estimator: Any, evaluate_distributed_fn: Any, hooks: Any) -> None:
    """Raise ValueError, because `Estimator.evaluate` evaluates in one process."""
    raise ValueError("Only `STANDALONE_CLIENT` mode is supported when you call "
                     "`Estimator.evaluate`: under TF_CONFIG's cluster, call "
                     "tf.estimator.train_and_evaluate")  # fmt: skip


def _task() -> Task:
    config = json.loads(value_of("TF_CONFIG") or "{}")
    task = config.get("task", {})
    spec = ClusterSpec(config.get("cluster", {}))
    return Task(SimpleClusterResolver(spec, task_type=task.get("type"), task_id=task.get("index")))


def _local_estimator(estimator: Any, task: Task, master: str, strategy: Any) -> Any:
    """Return a copy of an estimator that runs as the task, without a coordinator."""
    local = copy.copy(estimator)
    config = local._config = copy.copy(estimator.config)
    is_evaluator = task.type == "evaluator"
    config._distribute_coordinator_mode = None
    config._cluster_spec = ClusterSpec({}) if is_evaluator else task.spec
    config._task_type, config._task_id = task.type, task.id
    config._master = config._evaluation_master = master
    config._is_chief = task.is_chief
    config._num_ps_replicas = 0 if is_evaluator else task.count("ps")
    config._num_worker_replicas = 0 if is_evaluator else task.num_workers
    config._global_id_in_cluster = None if is_evaluator else task.number
    if is_evaluator:
        config._eval_distribute = local._eval_distribution = strategy
    else:
        config._train_distribute = local._train_distribution = strategy
        local._session_config = strategy.update_config_proto(local._session_config)
    return local
