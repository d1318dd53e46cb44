"""The default strategy: one replica, in effect outside of all scopes of strategies."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from gpugraph.building.replication.replica_contexts import DEFAULT, has_strategy
from gpugraph.building.replication.strategy import Strategy
from gpugraph.building.replication.strategy_extended import StrategyExtended


class DefaultStrategy(Strategy):
    """One replica, on the devices that the program requests."""

    def __init__(self) -> None:
        super().__init__(StrategyExtended(self))

    def scope(self) -> Any:
        """Return a context manager without effect. Raises RuntimeError inside the scope of another
        strategy.
        """
        if has_strategy():
            raise RuntimeError("Must not nest tf.distribute.Strategy scopes.")
        return nullcontext(self)


DEFAULT.append(DefaultStrategy())
