"""Asynchronous optimizers. Each worker trains local variables. After a number of steps, it
exchanges values with the centers, which are variables that all workers share.

For each trainable variable of the program, a custom getter creates three variables: a local
variable, which is trained, its center, and a second local variable, the companion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.control_flow.cond import cond
from gpugraph.building.variable_scope.get_variable import get_variable
from gpugraph.building.variables import (
    Variable,
    global_variables_initializer,
    local_variables_initializer,
    trainable_variables,
    variable_creator_scope,
)
from gpugraph.graph.client.default_graph_functions import (
    add_to_collection,
    colocate_with,
    control_dependencies,
    device,
    get_default_graph,
)
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.contrib.optimizers.wrapping_optimizers import WrappingOptimizer
from gpugraph.library.train.hooks.session_run_hook import SessionRunHook
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.library.train.savers.saveable_objects import op_list_to_dict
from gpugraph.library.train.savers.saver import Saver
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.control.group_and_no_op import group, no_op
from gpugraph.ops.elementwise.arithmetic_functions import add_n
from gpugraph.ops.elementwise.comparison_and_select import equal
from gpugraph.ops.elementwise.division import floormod
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.queues.queue_classes import FIFOQueue
from gpugraph.ops.reductions.reduction_functions import l2_loss
from gpugraph.ops.state.reference_variable_ops import assign, assign_add

_CENTER = "global_center_variable"


class _CenterGetter:
    """Base class of the custom getters of `get_variable`.

    Args:
      worker_device: the device of the local variables.
    """

    _companion = ""
    """The prefix of the names of the second local variable of each trainable variable."""

    def __init__(self, worker_device: Any) -> None:
        self._worker_device = worker_device
        self._companions: dict[Any, Any] = {}
        self._global_map: dict[Any, Any] = {}

    def __call__(
        self, getter: Any, name: str, trainable: bool, collections: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Return the local variable `name`. Create it together with its center and its
        companion.
        """
        if not trainable:
            return self._get_plain(getter, name, collections, *args, **kwargs)
        local = [GraphKeys.LOCAL_VARIABLES]
        with device(self._worker_device):
            variable = getter(name, *args, trainable=True, collections=local, **kwargs)
        if kwargs["reuse"] is True:
            return variable
        settings: dict[str, Any] = {"trainable": False, **kwargs}
        every = [GraphKeys.GLOBAL_VARIABLES]
        center = getter(f"{_CENTER}/{name}", *args, collections=every, **settings)
        with device(self._worker_device):
            second = getter(f"{self._companion}/{name}", *args, collections=local, **settings)
        triples = [(variable, center, second)]
        if kwargs["partitioner"] is not None:
            triples = list(zip(variable, center, second))
        for key, center_part, second_part in triples:
            self._global_map[key], self._companions[key] = center_part, second_part
        return variable

    def _get_plain(
        self, getter: Any, name: str, collections: Any, *args: Any, **kwargs: Any
    ) -> Any:
        settings: dict[str, Any] = {"trainable": False, "collections": collections, **kwargs}
        if collections and GraphKeys.LOCAL_VARIABLES in collections:
            with device(self._worker_device):
                return getter(name, *args, **settings)
        return getter(name, *args, **settings)


class AGNCustomGetter(_CenterGetter):
    """A custom getter for `AGNOptimizer`. The companion holds the sum of the gradients."""

    _companion = "grad_variable"


class ElasticAverageCustomGetter(_CenterGetter):
    """A custom getter for `ElasticAverageOptimizer`. The companion holds the worker's copy of the
    center.
    """

    _companion = "local_center_variable"


class _CenterOptimizer(WrappingOptimizer):
    """Base class of optimizers with centers. The wrapped optimizer trains each worker's copies of
    the variables."""

    def __init__(
        self,
        opt: Optimizer,
        num_worker: int,
        getter: _CenterGetter,
        period: int,
        use_locking: bool,
        name: str,
    ) -> None:
        if not isinstance(getter, _CenterGetter):
            raise TypeError(
                "The custom getter must be an AGNCustomGetter or an ElasticAverageCustomGetter, "
                f"not {getter!r}"
            )
        super().__init__(opt, use_locking, name)
        self._num_worker, self._period = num_worker, period
        self._global_map, self._companions = getter._global_map, getter._companions
        self._local_step = get_variable(
            "local_step", initializer=0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )
        opt._prepare()

    def _if_time(self, after: Sequence[Any], update: Any) -> Any:
        """Return an operation that counts a local step. At the end of each period, it also runs the
        operation that `update` returns.
        """
        with control_dependencies(after):
            counted = assign_add(self._local_step, 1, name="local_step_update")
        with control_dependencies([counted]):
            is_time = equal(floormod(self._local_step, self._period), 0)
        return cond(is_time, update, no_op)

    def _initial(self) -> list[tuple[Any, Any, Any]]:
        """Return the local variable, the center and the companion of each trained variable."""
        triples = [
            (variable, self._global_map[variable], self._companions[variable])
            for variable in trainable_variables()
        ]
        if not triples:
            raise ValueError(
                "The lists of local_variables, global_center_variables and their companions "
                "should not be empty"
            )
        return triples

    def get_init_op(self, task_index: int) -> Any:
        """Return an operation that sets the local variables to the centers."""
        raise NotImplementedError

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> SessionRunHook:
        """Return a hook that sets the local variables to the centers at the start.

        Args:
          is_chief: whether the worker is the chief.
          task_index: the number of the worker.
        """
        return _InitialCenters(self, is_chief, task_index)


class _InitialCenters(SessionRunHook):
    """Sets the local variables to the centers when a session is created."""

    def __init__(self, optimizer: _CenterOptimizer, is_chief: bool, task_index: int) -> None:
        self._optimizer, self._is_chief, self._task_index = optimizer, is_chief, task_index

    def begin(self) -> None:
        """Add the operations to the graph."""
        self._local_init_op = local_variables_initializer()
        self._global_init_op = global_variables_initializer() if self._is_chief else None
        self._variable_init_op = self._optimizer.get_init_op(self._task_index)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Set the local variables."""
        del coord
        session.run(self._variable_init_op)


def _step(global_step: Any) -> list[Any]:
    if global_step is None:
        return []
    with colocate_with(global_step):
        return [assign_add(global_step, 1)]


class AGNOptimizer(_CenterOptimizer):
    """Accumulated gradient normalization (Hermans et al., 2017, arXiv:1710.02368).

    A worker trains its local variables with `optimizer`, and sums the gradients. At the end of each
    period, `optimizer` applies the mean gradients to the centers, and the worker copies the centers
    to its local variables.

    Args:
      custom_getter: the `AGNCustomGetter` that created the variables.
      communication_period: the number of steps in a period.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        num_worker: int,
        custom_getter: AGNCustomGetter,
        communication_period: int = 10,
        use_locking: bool = True,
        name: str = "AGNOptimizer",
    ) -> None:
        super().__init__(
            optimizer, num_worker, custom_getter, communication_period, use_locking, name
        )

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Return an operation that changes the local variables and, at the end of a period, the
        centers.
        """
        del name
        pairs = [(grad, var) for grad, var in grads_and_vars if grad is not None]

        def local_creator(next_creator: Any, **kwargs: Any) -> Any:
            listed = list(kwargs.get("collections") or [GraphKeys.LOCAL_VARIABLES])
            local = [GraphKeys.LOCAL_VARIABLES if key == GraphKeys.GLOBAL_VARIABLES else key
                     for key in listed]  # fmt: skip
            return next_creator(**{**kwargs, "collections": local})

        with variable_creator_scope(local_creator):
            applied = self._opt.apply_gradients(pairs)
        sums = [self._companions[var] for _, var in pairs]
        summed = [assign_add(total, grad) for total, (grad, _) in zip(sums, pairs)]
        centers = [self._global_map[var] for _, var in pairs]

        def exchange() -> Any:
            means = [assign(total, total / float(self._period)) for total in sums]
            with control_dependencies(means):
                moved = self._opt.apply_gradients(list(zip(sums, centers)))
            with control_dependencies([moved]):
                copied = [
                    assign(var, center.read_value()) for (_, var), center in zip(pairs, centers)
                ]
                cleared = [assign(total, zeros_like(total)) for total in sums]
                return group(*_step(global_step), *copied, *cleared)

        return self._if_time([applied, *summed], exchange)

    def get_init_op(self, task_index: int) -> Any:
        """Return an operation that sets the local variables to the centers, and the sums to 0."""
        del task_index
        triples = self._initial()
        copied = [assign(variable, center) for variable, center, _ in triples]
        return group(*copied, *(assign(total, zeros_like(total)) for _, _, total in triples))


class ElasticAverageOptimizer(_CenterOptimizer):
    """Elastic averaging (Zhang et al., 2015, arXiv:1412.6651).

    A worker trains its local variables with `opt`. At the end of each period, a local variable and
    its center move towards each other by a fraction of their difference.

    Args:
      ea_custom_getter: the `ElasticAverageCustomGetter` that created the variables.
      communication_period: the number of steps in a period.
      moving_rate: the fraction, by default 0.9 / communication_period / num_worker.
      rho: the factor of the loss that keeps local variables near the centers; by default the moving
        rate divided by the learning rate.
      synchronous: whether workers wait for each other at the start.
    """

    BETA = 0.9

    def __init__(
        self,
        opt: Any,
        num_worker: int,
        ea_custom_getter: ElasticAverageCustomGetter,
        communication_period: int = 10,
        moving_rate: float | None = None,
        rho: float | None = None,
        use_locking: bool = True,
        synchronous: bool = False,
        name: str = "ElasticAverageOptimizer",
    ) -> None:
        super().__init__(opt, num_worker, ea_custom_getter, communication_period, use_locking, name)
        self._synchronous = synchronous
        default = self.BETA / communication_period / num_worker
        self._moving_rate = default if moving_rate is None else moving_rate
        self._rho = self._moving_rate / opt._learning_rate if rho is None else rho

    def compute_gradients(self, loss: Any, var_list: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return the (gradient, variable) pairs of a loss: `loss` + rho / 2 times the squared
        differences between the variables and the worker's copies of the centers.
        """
        variables = list(var_list or trainable_variables())
        losses = [l2_loss(var - self._companions[var]) for var in variables]
        return self._opt.compute_gradients(
            loss + self._rho * add_n(losses), variables, *args, **kwargs
        )

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Return an operation that changes the local variables and, at the end of a period, the
        centers.
        """
        del name
        pairs = list(grads_and_vars)
        known = set(get_default_graph().get_collection_ref(GraphKeys.GLOBAL_VARIABLES))
        applied = self._opt.apply_gradients(pairs)
        _move_to_local(known)
        variables = [var for grad, var in pairs if grad is not None]

        def exchange() -> Any:
            centers = [self._global_map[var] for var in variables]
            copies = [self._companions[var] for var in variables]
            copied = [copy.assign(center) for copy, center in zip(copies, centers)]
            with control_dependencies(copied):
                differences = [var - copy for var, copy in zip(variables, copies)]
            moves = [self._moving_rate * difference for difference in differences]
            with control_dependencies(differences):
                local = [var.assign_sub(move) for var, move in zip(variables, moves)]
                moved = [center.assign_add(move) for center, move in zip(centers, moves)]
                return group(*local, *moved, *_step(global_step))

        return self._if_time([applied], exchange)

    def get_init_op(self, task_index: int) -> Any:
        """Return an operation that sets the local variables and the copies to the centers."""
        triples = self._initial()
        copied = [assign(variable, center) for variable, center, _ in triples]
        copied += [assign(copy, center) for _, center, copy in triples]
        return self._all_ready(task_index, copied) if self._synchronous else group(*copied)

    def _all_ready(self, task_index: int, after: Sequence[Any]) -> Any:
        """Return an operation that tells all other workers that this worker is ready, and waits
        until they are ready.
        """
        queues = [
            FIFOQueue(
                self._num_worker, ["bool"], shapes=[[]],
                shared_name=f"variable_init_sync_queue{number}",
            )
            for number in range(self._num_worker)
        ]  # fmt: skip
        with control_dependencies(after):
            messages = [
                queue.enqueue(constant(False))
                for number, queue in enumerate(queues)
                if number != task_index
            ]
        return group(*messages, queues[task_index].dequeue_many(len(queues) - 1))

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Saver:
        """Return a saver that writes the centers under the names of the trained variables.

        Raises RuntimeError if no variable has a center.
        """
        if not self._global_map:
            raise RuntimeError(
                "global_center_variable is empty, please make sure this is called after model "
                "created and ElasticAverageCustomGetter is used when declaring you model"
            )
        listed = trainable_variables() if var_list is None else var_list
        named = listed if isinstance(listed, dict) else op_list_to_dict(listed)
        centers = {var.op.name: center for var, center in self._global_map.items()}

        def swapped(value: Any) -> Any:
            if isinstance(value, list):
                return [self._global_map.get(part, part) for part in value]
            return centers.get(value.op.name, value)

        return Saver({key: swapped(value) for key, value in named.items()}, name=name, **kwargs)


def _move_to_local(known: set[Variable]) -> None:
    """Move the variables that are not in `known` from the collection GLOBAL_VARIABLES to
    LOCAL_VARIABLES.
    """
    collection = get_default_graph().get_collection_ref(GraphKeys.GLOBAL_VARIABLES)
    for variable in [variable for variable in collection if variable not in known]:
        collection.remove(variable)
        add_to_collection(GraphKeys.LOCAL_VARIABLES, variable)
