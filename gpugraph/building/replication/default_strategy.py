"""The default strategy. It has one replica, and is the current strategy outside of the scopes of
all other strategies.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NoReturn

from gpugraph.building.replication.replica_contexts import DEFAULT, has_strategy
from gpugraph.building.replication.strategy import Strategy
from gpugraph.building.replication.strategy_extended import StrategyExtended
from gpugraph.graph.client.default_graph_functions import get_default_graph


class DefaultIterator:
    """An iterator over a dataset. Before the iterator is used, a program must run the operations of
    `initialize()`.
    """

    def __init__(self, dataset: Any) -> None:
        self._iterator = dataset.make_initializable_iterator()

    @property
    def initializer(self) -> Any:
        """The operation that initializes the iterator."""
        return self._iterator.initializer

    def get_next(self) -> Any:
        """Return the next element."""
        return self._iterator.get_next()

    def initialize(self) -> list[Any]:
        """Return the operations that initialize the iterator."""
        return [self._iterator.initializer]


class DefaultExtended(StrategyExtended):
    """The implementation of the default strategy: one replica, without a fixed device."""

    @property
    def _num_replicas_in_sync(self) -> int:
        return 1

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """Not defined. Reading this attribute raises RuntimeError, because the replica has no fixed
        device.
        """
        raise RuntimeError("worker_devices() method unsupported by default tf.distribute.Strategy.")

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """Not defined. Reading this attribute raises RuntimeError, because variables have no fixed
        device.
        """
        raise RuntimeError("parameter_devices() method unsupported by default "
                           "tf.distribute.Strategy.")  # fmt: skip

    def _devices_of_replica(self, number: int) -> tuple[str, ...]:
        return (get_default_graph()._scope.device or "/device:CPU:0",)

    def variable_created_in_scope(self, v: Any) -> bool:
        """Return whether the variable was created outside of the scopes of all other strategies."""
        return getattr(v, "_distribute_strategy", None) is None

    def _make_dataset_iterator(self, dataset: Any) -> DefaultIterator:
        return DefaultIterator(dataset)


class DefaultStrategy(Strategy):
    """The default strategy: a single replica, on the devices that the program requests."""

    def __init__(self) -> None:
        super().__init__(DefaultExtended(self))

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise RuntimeError("Should only create a single instance of "
                           "_DefaultDistributionStrategy")  # fmt: skip

    def scope(self) -> Any:
        """Return a context manager without effect. Raises RuntimeError inside the scope of another
        strategy.
        """
        if has_strategy():
            raise RuntimeError("Must not nest tf.distribute.Strategy scopes.")
        return nullcontext(self)


DEFAULT.append(DefaultStrategy())
