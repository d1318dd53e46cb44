"""`tensorflow.python.distribute` without a strategy: one replica, on the devices of the graph.

Libraries ask for the current strategy to aggregate values; there is one replica, so a sum or a mean
over replicas is the value itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from gpugraph.base.nest import map_structure
from gpugraph.platform import logging


class ReduceOp(Enum):
    """How values of replicas are combined."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> ReduceOp:
        """Return the operation for a variable's aggregation; ValueError if there is none."""
        name = getattr(aggregation, "name", str(aggregation))
        if name not in ("SUM", "MEAN"):
            raise ValueError(f"Could not convert from `tf.VariableAggregation` {aggregation} to")
        return ReduceOp[name]


class StrategyExtended:
    """The further methods of the default strategy."""

    def __init__(self) -> None:
        self.worker_devices = self.parameter_devices = ()
        self.should_checkpoint = self.should_save_summary = True
        self.experimental_between_graph = False
        self.experimental_should_init = True

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None
    ) -> Any:
        """Return `fn(*args, **kwargs)`."""
        return fn(*args, **(kwargs or {}))

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any = None) -> Any:
        """Return the value."""
        return value

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """Return the values."""
        return [value for value, _ in value_destination_pairs]

    def broadcast_to(self, tensor: Any, destinations: Any = None) -> Any:
        """Return the tensor."""
        return tensor

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Any = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Return `fn(var, *args, **kwargs)`."""
        return fn(var, *args, **(kwargs or {}))

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Any = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Return `fn(*args, **kwargs)`."""
        return fn(*args, **(kwargs or {}))

    def non_slot_devices(self, var_list: Any) -> Any:
        """Return the first variable, beside which others are created."""
        return min(var_list, key=lambda variable: variable.name)

    def read_var(self, v: Any) -> Any:
        """Return the variable."""
        return v

    def value_container(self, value: Any) -> Any:
        """Return the value."""
        return value

    @contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """Do nothing."""
        yield


class Strategy:
    """The default strategy, with one replica."""

    def __init__(self, extended: Any = None) -> None:
        self.extended = extended or StrategyExtended()
        self.num_replicas_in_sync = 1

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Do nothing: this strategy is always current."""
        yield self

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None
    ) -> Any:
        """Return `fn(*args, **kwargs)`."""
        return fn(*args, **(kwargs or {}))

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None) -> Any:
        """Return the value."""
        return value

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the value alone in a tuple."""
        return (value,)

    unwrap = experimental_local_results


class ReplicaContext:
    """The only replica of the default strategy."""

    def __init__(self, strategy: Any = None, replica_id_in_sync_group: Any = 0) -> None:
        self.strategy = strategy or _STRATEGY
        self.replica_id_in_sync_group = replica_id_in_sync_group
        self.num_replicas_in_sync = 1
        self.devices: tuple[str, ...] = ("",)

    def __enter__(self) -> ReplicaContext:
        return self

    def __exit__(self, *error: Any) -> None: ...

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Return `merge_fn(strategy, *args, **kwargs)`."""
        return merge_fn(self.strategy, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """Return the value, or the structure of values."""
        return map_structure(lambda item: item, value)


_STRATEGY = Strategy()
_REPLICA = ReplicaContext(_STRATEGY)


def get_strategy() -> Strategy:
    """Return the default strategy."""
    return _STRATEGY


def has_strategy() -> bool:
    """Return False: the strategy is the default one."""
    return False


def get_replica_context() -> ReplicaContext:
    """Return the only replica."""
    return _REPLICA


def get_cross_replica_context() -> None:
    """Return None: code runs in the only replica."""


def in_cross_replica_context() -> bool:
    """Return False: code runs in the only replica."""
    return False


def get_loss_reduction() -> ReduceOp:
    """Return how losses of replicas are combined: their mean."""
    return ReduceOp.MEAN


# -- tensorflow.python.distribute.estimator_training


def init_run_config(config: Any, tf_config: dict[str, Any]) -> None:
    """Read the cluster of `TF_CONFIG` into a RunConfig of estimators."""
    distribute = config._experimental_distribute
    if config._train_distribute or config._eval_distribute or distribute:
        raise NotImplementedError(
            "RunConfig(train_distribute=...): there are no strategies: leave it out, and give the "
            "cluster with parameter servers in TF_CONFIG"
        )
    config._distribute_coordinator_mode = None
    config._init_distributed_setting_from_environment_var(tf_config)
    config._maybe_overwrite_session_config_for_distributed_training()
    logging.info("Not using Distribute Coordinator.")


def should_run_distribute_coordinator(config: Any) -> bool:
    """Return False: workers start their sessions themselves."""
    return False
