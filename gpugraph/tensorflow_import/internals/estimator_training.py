"""`tensorflow.python.distribute.estimator_training`: strategies of an estimator's RunConfig."""

from __future__ import annotations

from typing import Any

from gpugraph.base.errors import UnimplementedError
from gpugraph.platform import logging


def init_run_config(config: Any, tf_config: dict[str, Any]) -> None:
    """Set the cluster of a RunConfig of estimators from `TF_CONFIG`.

    Raises UnimplementedError for a remote cluster of `experimental_distribute`.
    """
    distribute = config._experimental_distribute
    if distribute:
        if distribute.remote_cluster:
            raise UnimplementedError.of_no_node(
                "RunConfig(experimental_distribute=...): no program runs on a remote cluster's "
                "workers: start the program in each task, with TF_CONFIG"
            )
        config._train_distribute = config._train_distribute or distribute.train_distribute
        config._eval_distribute = config._eval_distribute or distribute.eval_distribute
    config._distribute_coordinator_mode = None
    config._init_distributed_setting_from_environment_var(tf_config)
    config._maybe_overwrite_session_config_for_distributed_training()
    logging.info("Not using Distribute Coordinator.")


def should_run_distribute_coordinator(config: Any) -> bool:
    """Return False: the workers start their sessions without a coordinator."""
    return False
