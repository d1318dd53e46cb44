"""`Strategy`, the base class of strategies, which distribute a program's computation over replicas.

`Strategy` has the methods for programs. `StrategyExtended` has the methods for libraries, such as
layers, optimizers and metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, NoReturn

from gpugraph.base.dtypes import float32, int64
from gpugraph.building.replication.input_context import InputReplicationMode
from gpugraph.building.replication.reduce_op import ReduceOp, as_reduce_op
from gpugraph.building.replication.replica_contexts import (
    ContextEntry,
    current,
    entered,
    get_strategy,
    has_strategy,
    require_cross_replica,
    require_scope,
)
from gpugraph.building.replication.replicated_values import local_results
from gpugraph.building.replication.strategy_extended import StrategyExtended
from gpugraph.building.variable_scope import get_variable_scope, variable_scope
from gpugraph.building.variables.variable_creators import variable_creator_scope
from gpugraph.graph.client.default_graph_functions import device, get_default_graph
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.platform import logging


class Strategy:
    """The base class of strategies, which distribute computation over replicas.

    Variables that are created in `with strategy.scope()` belong to the strategy.

    Args:
      extended: the `StrategyExtended` that implements the strategy.
    """

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended
        self._scale_loss_for_estimator = False

    @contextmanager
    def _scale_loss_for_estimator_enabled(self) -> Iterator[None]:
        """Inside a `with` block, make optimizers divide their losses by the number of replicas."""
        self._scale_loss_for_estimator = True
        try:
            yield
        finally:
            self._scale_loss_for_estimator = False

    @property
    def extended(self) -> StrategyExtended:
        """The `StrategyExtended`, which has the methods for libraries."""
        return self._extended

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Make this strategy the current strategy. Variables that are created in the scope belong
        to this strategy.

        Raises RuntimeError inside the scope of another strategy, or in a replica context.
        """
        if has_strategy():
            require_cross_replica(self._extended)
            if current() is not None:
                yield self  # the scope is entered again
                return
        with ExitStack() as stack:
            stack.enter_context(entered(ContextEntry(self, None)))
            stack.enter_context(variable_creator_scope(self._create_variable))
            getter = None if self._extended._allow_variable_partition() else _without_partitioner
            stack.enter_context(variable_scope(get_variable_scope(), custom_getter=getter))
            if self._extended._default_device is not None:
                stack.enter_context(device(self._extended._default_device))
            yield self

    def _create_variable(self, next_creator: Callable[..., Any], **arguments: Any) -> Any:
        require_scope(self)
        arguments["use_resource"] = True
        variable = self._extended._create_variable(next_creator, **arguments)
        variable._distribute_strategy = self
        return variable

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Call `fn` once per replica, with the replica's components of the arguments. Return the
        results of all replicas.

        If the results of the replicas differ, the results become a per-replica value.
        `experimental_local_results` returns its components, and `reduce` returns their sum or mean.
        """
        with self.scope():
            return self._extended.call_for_each_replica(fn, args, kwargs)

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """Return the sum or mean of a value over all replicas, as one tensor.

        Args:
          axis: an axis of the components over which they are also reduced, or None. With an axis, a
            mean is the mean over all elements of all components, so longer components have more
            weight.
        """
        require_cross_replica(self._extended)
        operation = as_reduce_op(reduce_op)
        if axis is None:
            return self._extended._reduce(operation, value)

        def part(value: Any) -> tuple[Any, Any]:
            tensor = convert_to_tensor(value)
            total = raw_ops.Sum(tensor, axis)
            size = raw_ops.GatherV2(raw_ops.Shape(tensor, out_type=int64), axis, 0)
            return total, cast(size, total.dtype if total.dtype.is_floating else float32)

        total, count = self.experimental_run_v2(part, args=(value,))
        summed = self._extended._reduce(ReduceOp.SUM, total)
        if operation is ReduceOp.SUM:
            return summed
        return cast(summed, count_type(summed)) / self._extended._reduce(ReduceOp.SUM, count)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the components of a per-replica value as a tuple."""
        return self._extended._local_results(value)

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """Return the components of a per-replica value, as `experimental_local_results` does."""
        return self._extended._local_results(value)

    def group(self, value: Any, name: str | None = None) -> Any:
        """Return an operation that runs the operations of all replicas."""
        values = local_results(value)
        if len(values) != 1 or name is not None:
            return group(*values, name=name)
        [single] = values
        return single if hasattr(single, "type") else group(single)

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas over which gradients are aggregated."""
        return self._extended._num_replicas_in_sync

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """Return an iterator whose `get_next` divides each batch of a dataset among the replicas.

        To initialize the iterator, run the operations that its method `initialize()` returns.
        """
        return self._extended._make_dataset_iterator(dataset)

    def make_input_fn_iterator(
        self,
        input_fn: Callable[..., Any],
        replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
    ) -> Any:
        """Return an iterator over the result of `input_fn(InputContext)`, which is a dataset or a
        function.

        Each replica takes the next element of the dataset, or calls the function. Raises ValueError
        unless `replication_mode` is PER_WORKER.
        """
        if replication_mode != InputReplicationMode.PER_WORKER:
            raise ValueError(f"Input replication mode not supported: {replication_mode!r}")
        return self._extended._make_input_fn_iterator(input_fn, replication_mode)

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[Any]:
        """Inside a `with` block, create variables on the devices of `colocate_with_variable`.
        Deprecated: use `extended.colocate_vars_with`.
        """
        return self._extended.colocate_vars_with(colocate_with_variable)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Call `fn` once per replica. If there is an iterator, pass each call the replica's share
        of the iterator's next element.
        """
        with self.scope():
            args = () if input_iterator is None else (input_iterator.get_next(),)
            return self.experimental_run_v2(fn, args=args)

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        """Return a dataset whose iterators divide each batch among the replicas."""
        return self._extended._experimental_distribute_dataset(dataset)

    def experimental_distribute_datasets_from_function(self, dataset_fn: Any) -> Any:
        """Return the dataset that `dataset_fn(InputContext)` returns. Its iterators give each
        replica a separate element.
        """
        return self._extended._experimental_distribute_datasets_from_function(dataset_fn)

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """Return a dataset of the rows of a structure of arrays.

        Args:
          session: a session that stores the arrays in variables, so that the graph does not contain
            them.
        """
        return self._extended.experimental_make_numpy_dataset(numpy_input, session)

    def configure(
        self,
        session_config: Any = None,
        cluster_spec: Any = None,
        task_type: Any = None,
        task_id: Any = None,
    ) -> None:
        """Apply the cluster and the session configuration of an estimator."""
        self._extended._configure(session_config, cluster_spec, task_type, task_id)

    def update_config_proto(self, config_proto: Any) -> Any:
        """Return a copy of a session configuration with this strategy's settings."""
        return self._extended._update_config_proto(config_proto)

    def __copy__(self) -> NoReturn:
        raise RuntimeError("Must only deepcopy DistributionStrategy.")


def get_loss_reduction() -> ReduceOp:
    """Return the ReduceOp that combines the losses of the replicas: `ReduceOp.SUM`.

    If losses are scaled for an estimator, return `ReduceOp.MEAN`, unless the last loss function of
    `tf.losses` returned a sum.
    """
    if not get_strategy()._scale_loss_for_estimator:
        return ReduceOp.SUM
    last = getattr(get_default_graph(), "_last_loss_reduction", None)
    return ReduceOp.SUM if last in ("weighted_sum", "sum") else ReduceOp.MEAN


def count_type(total: Any) -> Any:
    """Return the dtype of the count by which `total` is divided to compute a mean."""
    return total.dtype if total.dtype.is_floating else float32


def _without_partitioner(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("partitioner") is not None:
        logging.warning("Partitioned variables are disabled when using current "
                        "tf.distribute.Strategy.")  # fmt: skip
        kwargs["partitioner"] = None
    return getter(*args, **kwargs)


def colocated(variable: Any) -> AbstractContextManager[Any]:
    """Inside a `with` block, create variables on the devices of `variable`, which is a variable or
    a tensor.

    In the scope of a strategy, a variable has copies on the devices of all replicas.
    """
    context = current()
    if context is None or context.strategy._extended is None:
        return variable.graph.colocate_with(variable.op)
    return context.strategy.extended.colocate_vars_with(variable)
