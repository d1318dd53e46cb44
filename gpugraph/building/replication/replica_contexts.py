"""The current strategy and replica: one stack of contexts per graph and thread.

There are three kinds of context. In the default context, the program has entered no strategy, and
the current strategy is a default one with a single replica. `strategy.scope()` enters a
cross-replica context, in which a program builds ops for all replicas. A function that a strategy
calls for each replica runs in a replica context. `ScopeState.replication` holds the stack, so a new
thread starts in the default context.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from gpugraph.graph.client.default_graph_functions import get_default_graph


class ContextEntry(NamedTuple):
    """One entry of the stack.

    Args:
      replica_context: the replica's context, or None in a cross-replica context.
    """

    strategy: Any
    replica_context: Any

    @property
    def is_cross_replica(self) -> bool:
        """Whether this is a cross-replica context, in which ops are built for all replicas."""
        return self.replica_context is None


DEFAULT: list[Any] = []
"""The default strategy, once `default_strategy` is imported."""


def current() -> ContextEntry | None:
    """Return the innermost context of the default graph in this thread. In the default context,
    return None.
    """
    stack = get_default_graph()._scope.replication
    return stack[-1] if stack else None


@contextmanager
def entered(context: ContextEntry) -> Iterator[None]:
    """Make `context` the replica context or cross-replica context of this thread, in the default
    graph, within a `with` block.
    """
    state = get_default_graph()._scope
    old = state.replication
    state.replication = (*old, context)
    try:
        yield
    finally:
        state.replication = old


def has_strategy() -> bool:
    """Return whether the current strategy is not the default strategy."""
    return get_strategy() is not DEFAULT[0]


def get_strategy() -> Any:
    """Return the current strategy. Outside of all scopes, the current strategy is the default
    strategy, which has a single replica.
    """
    context = current()
    return DEFAULT[0] if context is None else context.strategy


def get_replica_context() -> Any:
    """Return the context of the replica for which ops are currently built.

    In a cross-replica context, return None. The context inside `strategy.scope()` is a
    cross-replica context, except in functions that the strategy calls for each replica.
    """
    context = current()
    return DEFAULT[0].extended._replica_context if context is None else context.replica_context


def current_replica() -> Any:
    """Return the context of the current replica if a strategy is calling a function for it.
    Otherwise return None.
    """
    return get_replica_context() if has_strategy() else None


def get_cross_replica_context() -> Any:
    """Return the strategy if ops are currently built for all replicas. Otherwise return None."""
    context = current()
    return context.strategy if context is not None and context.is_cross_replica else None


def in_cross_replica_context() -> bool:
    """Return whether ops are currently built for all replicas.

    In the default context, return False.
    """
    return get_cross_replica_context() is not None


def require_replica_context(replica_ctx: Any) -> None:
    """Raise RuntimeError unless `replica_ctx` is the current context."""
    mine = get_replica_context()
    if mine is None:
        raise RuntimeError("Need to be inside `call_for_each_replica()`")
    if mine is replica_ctx:
        return
    if mine.strategy is replica_ctx.strategy:
        raise RuntimeError("Mismatching ReplicaContext.")
    raise RuntimeError(
        f"Mismatching tf.distribute.Strategy objects: {mine.strategy} is not "
        f"{replica_ctx.strategy}."
    )


def require_cross_replica(extended: Any) -> None:
    """Raise RuntimeError unless the current context is the strategy's cross-replica context or the
    default context.
    """
    context = current()
    if context is None:
        return
    strategy = extended._container_strategy()
    if context.strategy is not strategy:
        wrong_scope(strategy)
    if not context.is_cross_replica:
        raise RuntimeError(
            "Method requires being in cross-replica context, use get_replica_context().merge_call()"
        )


def require_scope(strategy: Any) -> None:
    """Raise RuntimeError unless `strategy` is the current strategy."""
    if get_strategy() is not strategy:
        wrong_scope(strategy)


def wrong_scope(strategy: Any) -> None:
    """Raise the RuntimeError for the use of a strategy that is not the current one."""
    if not has_strategy():
        raise RuntimeError(f'Need to be inside "with strategy.scope()" for {strategy}')
    raise RuntimeError(
        f"Mixing different tf.distribute.Strategy objects: {get_strategy()} is not {strategy}"
    )


def experimental_set_strategy(strategy: Any) -> None:
    """Make `strategy` the current strategy for the default graph in this thread, until the next
    call. None restores the default strategy.

    Raises RuntimeError inside `with strategy.scope()`.
    """
    graph: Any = get_default_graph()
    scope = getattr(graph, "_global_distribute_strategy_scope", None)
    if scope is not None:
        graph._global_distribute_strategy_scope = None
        scope.__exit__(None, None, None)
    if has_strategy():
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    if strategy is not None:
        scope = strategy.scope()
        scope.__enter__()
        graph._global_distribute_strategy_scope = scope
