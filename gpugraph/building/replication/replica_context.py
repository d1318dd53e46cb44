"""`ReplicaContext`: the properties and methods that are available to a function that a strategy
calls for each replica.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base import nest
from gpugraph.building.gradients import custom_gradient
from gpugraph.building.replication.reduce_op import as_reduce_op
from gpugraph.building.replication.replica_contexts import (
    ContextEntry,
    current,
    entered,
    require_replica_context,
)
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.ops.framework.tensor_conversion import constant


class ReplicaContext:
    """The context of one replica, inside a function that `experimental_run_v2` calls.

    Args:
      replica_id_in_sync_group: the index of the replica, counted from 0.
    """

    def __init__(self, strategy: Any, replica_id_in_sync_group: int) -> None:
        self._strategy = strategy
        self._replica_id = replica_id_in_sync_group
        self._entered: list[Any] = []

    def __enter__(self) -> ReplicaContext:
        context = entered(ContextEntry(self._strategy, self))
        context.__enter__()
        self._entered.append(context)
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Call `merge_fn(strategy, *args, **kwargs)` once for all replicas, in the cross-replica
        context, and return the result.

        The method waits until all replicas have called this method. Each argument of `merge_fn` has
        one component per replica: the argument that the replica has passed to the method. If the
        result has one component per replica, the component of this replica is returned.

        Raises RuntimeError unless this is the current context.
        """
        require_replica_context(self)
        return self._merge_call(merge_fn, tuple(args), kwargs or {})

    def _merge_call(self, merge_fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with entered(ContextEntry(self._strategy, None)):
            return merge_fn(self._strategy, *args, **kwargs)

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas over which gradients are aggregated."""
        count: int = self._strategy.num_replicas_in_sync
        return count

    @property
    def replica_id_in_sync_group(self) -> Any:
        """An int32 scalar: the index of this replica among the replicas of all workers, counted
        from 0. Outside of all strategies, it is the int 0.
        """
        require_replica_context(self)
        if current() is None:
            return 0
        first = self._strategy.extended._first_replica() or 0
        return constant(first + self._replica_id, name="replica_id_in_sync_group")

    @property
    def strategy(self) -> Any:
        """The strategy that has called the function of this replica."""
        return self._strategy

    @property
    def devices(self) -> tuple[str, ...]:
        """The names of the devices of this replica."""
        require_replica_context(self)
        devices: tuple[str, ...] = self._strategy.extended._devices_of_replica(self._replica_id)
        return devices

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """Return the sum or mean of `value` over all replicas. All replicas receive the same
        result.

        The gradient of this function is reduced in the same way.

        Args:
          reduce_op: a `tf.distribute.ReduceOp`, or "sum" or "mean".
          value: a tensor, or a nested structure of tensors.
        """
        reduce = as_reduce_op(reduce_op)

        def merged(strategy: Any, *values: Any) -> Any:
            return strategy.extended.batch_reduce_to(
                reduce, [(tensor, tensor) for tensor in values]
            )

        @custom_gradient
        def reduced(*values: Any) -> Any:
            def grad(*dy: Any) -> Any:
                return self.merge_call(merged, args=dy)

            return tuple(self.merge_call(merged, args=values)), grad

        flat = nest.flatten(value)
        if any(isinstance(tensor, IndexedSlices) for tensor in flat):
            result: Any = self.merge_call(merged, args=flat)
        else:
            result = reduced(*flat)
        return nest.pack_sequence_as(value, [*nest.flatten(result)])
