"""`StrategyExtended`: the methods of a strategy for libraries, and the methods that subclasses
define.

A subclass defines the devices, `_create_variable`, `_call_for_each_replica`, `_reduce_to`,
`_broadcast_to`, `_update` and `_update_non_slot`. The base class has a single replica, on the
devices that the program requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from gpugraph.base import nest
from gpugraph.building.replication.input_context import InputContext
from gpugraph.building.replication.reduce_op import ReduceOp, as_reduce_op
from gpugraph.building.replication.replica_context import ReplicaContext
from gpugraph.building.replication.replica_contexts import require_cross_replica
from gpugraph.building.replication.replicated_values import DistributedValues, local_results
from gpugraph.building.replication.update_devices import updating
from gpugraph.graph.client.default_graph_functions import colocate_with, get_default_graph
from gpugraph.ops.control.group_and_no_op import group as grouped


class StrategyExtended:
    """The methods of a strategy for libraries: `tf.distribute.StrategyExtended`."""

    _default_device: str | None = None
    _has_distributed_variables = False

    def __init__(self, container_strategy: Any) -> None:
        self._strategy = container_strategy
        self._replica_context = ReplicaContext(container_strategy, 0)

    def _container_strategy(self) -> Any:
        return self._strategy

    # -- devices

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self.worker_devices)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of the replicas."""
        return ("",)

    def _first_replica(self) -> int | None:
        return 0

    def _devices_of_replica(self, number: int) -> tuple[str, ...]:
        return (self.worker_devices[number],)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that hold variables."""
        return self.worker_devices

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Return the devices for those variables of an optimizer that do not belong to a single
        trained variable.
        """
        return min(var_list, key=lambda variable: variable.name)

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each worker builds a separate graph."""
        return False

    @property
    def experimental_should_init(self) -> bool:
        """Whether this process initializes variables."""
        return True

    @property
    def should_checkpoint(self) -> bool:
        """Whether this process saves checkpoints."""
        return True

    @property
    def should_save_summary(self) -> bool:
        """Whether this process saves summaries."""
        return True

    @property
    def experimental_require_static_shapes(self) -> bool:
        """Whether inputs must have static shapes."""
        return False

    # -- variables

    def _create_variable(self, next_creator: Callable[..., Any], **arguments: Any) -> Any:
        return next_creator(**arguments)

    def _allow_variable_partition(self) -> bool:
        return False

    def variable_created_in_scope(self, v: Any) -> bool:
        """Return whether the variable was created while this strategy was the current strategy."""
        return getattr(v, "_distribute_strategy", None) is self._container_strategy()

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[Any]:
        """Inside a `with` block, create variables on the devices of the variable
        `colocate_with_variable`.
        """
        return colocate_with(colocate_with_variable)

    def read_var(self, v: Any) -> Any:
        """Return the value of a variable as one value for all replicas. Call this method in a
        cross-replica context.
        """
        return v.value()

    def value_container(self, value: Any) -> Any:
        """Return the distributed variable that has `value` as a component. If there is none, return
        `value`.
        """
        return value

    # -- replicas

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Call `fn` once per replica, with the replica's components of the arguments.

        Returns one structure of per-replica values. Raises RuntimeError outside of the
        cross-replica context.
        """
        require_cross_replica(self)
        return self._call_for_each_replica(fn, tuple(args), kwargs or {})

    def _call_for_each_replica(self, fn: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        with self._replica_context:
            return fn(*args, **kwargs)

    def experimental_run_steps_on_iterator(
        self,
        fn: Callable[..., Any],
        iterator: Any,
        iterations: Any = 1,
        initial_loop_values: Any = None,
    ) -> Any:
        """Build a loop of several steps, and return its `MultiStepContext`. The context's `run_op`
        runs the loop. Its `last_step_outputs` are the outputs that the last step has set.

        Args:
          fn: the function of a step, called as `fn(context, inputs)` in the cross-replica context.
          iterator: the iterator from which each step takes the next element, as its inputs.
          iterations: the number of steps.
          initial_loop_values: initial values for the outputs of the last step.
        """
        require_cross_replica(self)
        with self._container_strategy().scope():
            return self._experimental_run_steps_on_iterator(
                fn, iterator, iterations, initial_loop_values
            )

    def _experimental_run_steps_on_iterator(
        self, fn: Callable[..., Any], iterator: Any, iterations: Any, initial_loop_values: Any
    ) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """Return the sum or mean of a per-replica value, on the devices of `destinations`.

        Args:
          destinations: a device name, or a value whose devices are used.
        """
        require_cross_replica(self)
        _require_one_place(destinations)
        return self._reduce_to(as_reduce_op(reduce_op), value, destinations)

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        del reduce_op, destinations
        return value

    def batch_reduce_to(
        self, reduce_op: Any, value_destination_pairs: Iterable[tuple[Any, Any]]
    ) -> list[Any]:
        """Return the results of `reduce_to` for a list of (value, destinations) pairs."""
        require_cross_replica(self)
        return self._batch_reduce_to(as_reduce_op(reduce_op), list(value_destination_pairs))

    def _batch_reduce_to(self, reduce_op: ReduceOp, pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        return [self._reduce_to(reduce_op, value, where) for value, where in pairs]

    def _reduce(self, reduce_op: ReduceOp, value: Any) -> Any:
        where = get_default_graph()._scope.device or self._default_device or "/device:CPU:0"
        return local_results(self.reduce_to(reduce_op, value, where))[0]

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """Return copies of a tensor on the devices of `destinations`.

        Raises AssertionError if `destinations` is None.
        """
        if destinations is None:
            raise AssertionError("broadcast_to needs a device, or a value with the devices")
        require_cross_replica(self)
        _require_one_place(destinations)
        return self._broadcast_to(tensor, destinations)

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        del destinations
        return tensor

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Call `fn(component, *args)` for each component of a variable, on the device of the
        component.

        If an argument is a per-replica value, each call receives the argument's component of the
        same replica. Returns an operation that runs all updates. If `group` is False, return the
        structure of the function's results, where each value is a tuple with one result per
        replica.
        """
        require_cross_replica(self)
        return self._update(var, fn, tuple(args), kwargs or {}, group)

    def _update(self, var: Any, fn: Any, args: tuple[Any, ...], kwargs: Any, group: bool) -> Any:
        with colocate_with(var), updating(0):
            return self._update_result(fn(var, *args, **kwargs), group)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Call `fn(*args)` on each device of `colocate_with`. Return the results in the same form
        as `update`.
        """
        require_cross_replica(self)
        return self._update_non_slot(colocate_with, fn, tuple(args), kwargs or {}, group)

    def _update_non_slot(
        self, where: Any, fn: Any, args: tuple[Any, ...], kwargs: Any, group: bool
    ) -> Any:
        with colocate_with(where), updating(0):
            return self._update_result(fn(*args, **kwargs), group)

    def _update_result(self, result: Any, group: bool) -> Any:
        """Return the result of the update of a single copy, in the form that `update` returns."""
        if not group:
            return nest.map_structure(self._local_results, result)
        return grouped(result) if _is_operation(result) else result

    # -- input

    def _local_results(self, value: Any) -> tuple[Any, ...]:
        return local_results(value)

    def _make_dataset_iterator(self, dataset: Any) -> Any:
        return dataset.make_initializable_iterator()

    def _experimental_distribute_dataset(self, dataset: Any) -> Any:
        return dataset

    def _make_input_fn_iterator(self, input_fn: Callable[..., Any], *mode: Any) -> Any:
        return self._make_dataset_iterator(input_fn(InputContext()))

    def _experimental_distribute_datasets_from_function(self, dataset_fn: Any) -> Any:
        return dataset_fn(InputContext())

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """Return a dataset of the rows of arrays, as `Strategy.experimental_make_numpy_dataset`
        does.
        """
        require_cross_replica(self)
        return self._experimental_make_numpy_dataset(numpy_input, session)

    def _experimental_make_numpy_dataset(self, numpy_input: Any, session: Any) -> Any:
        raise NotImplementedError("The default strategy keeps no arrays in variables: use "
                                  "tf.data.Dataset.from_tensor_slices")  # fmt: skip

    def _configure(
        self,
        session_config: Any = None,
        cluster_spec: Any = None,
        task_type: Any = None,
        task_id: Any = None,
    ) -> None:
        """Apply the cluster settings of an estimator. A strategy that runs in one process ignores
        the settings.
        """

    def _update_config_proto(self, config_proto: Any) -> Any:
        copied = type(config_proto)()
        copied.CopyFrom(config_proto)
        return copied


def _require_one_place(destinations: Any) -> None:
    if isinstance(destinations, (list, tuple)):
        raise AssertionError("destinations must be a device, or a value with the devices, not a "
                             f"list: {destinations}")  # fmt: skip


def _is_operation(result: Any) -> bool:
    return not isinstance(result, DistributedValues) and hasattr(result, "type")
