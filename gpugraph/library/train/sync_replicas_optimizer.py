"""`SyncReplicasOptimizer`, which averages the gradients of several workers before it updates the
variables.

Each worker adds its gradients to accumulators, and then waits for a token, which is the number of
its next step. A thread of the chief (a queue runner) takes the averages when the accumulators have
enough gradients of the current step. The thread then updates the variables, and puts tokens for the
next step into a queue, from which each worker takes one. Gradients of earlier steps are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.errors import CancelledError, OutOfRangeError
from gpugraph.building.variables import Variable, global_variables, report_uninitialized_variables
from gpugraph.graph.client.default_graph_functions import (
    colocate_with,
    control_dependencies,
    device,
)
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.coordination.queue_runner import QueueRunner
from gpugraph.library.train.hooks.session_run_hook import SessionRunHook
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.ops.arrays.constants_and_placeholders import fill
from gpugraph.ops.control.group_and_no_op import group, no_op
from gpugraph.ops.queues.accumulator_classes import (
    ConditionalAccumulator,
    SparseConditionalAccumulator,
    close_accumulator,
)
from gpugraph.ops.queues.queue_classes import FIFOQueue
from gpugraph.ops.state.reference_variable_ops import assign


class SyncReplicasOptimizer(Optimizer):
    """Averages the gradients of several workers. The optimizer `opt` then updates the variables
    with the averages.

    A program passes the hook of `make_session_run_hook` to its monitored session.

    Args:
      replicas_to_aggregate: the number of gradients that are averaged in a step.
      total_num_replicas: the number of workers, by default `replicas_to_aggregate`. If it is
        greater than `replicas_to_aggregate`, the gradients that arrive last in each step are
        dropped.
      variable_averages, variables_to_average: an ExponentialMovingAverage, and the variables to
        which each step applies it.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._replicas = replicas_to_aggregate
        self._total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        self._averages = variable_averages
        self._averaged = variables_to_average
        self._global_step: Any = None
        self._tokens: FIFOQueue | None = None
        self._chief_runner: QueueRunner | None = None
        self.local_step_init_op: Any = None
        self.chief_init_op: Any = None
        self.ready_for_local_init_op: Any = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Return the gradients of this worker, as computed by `opt`."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Return the train op, which adds the gradients to the accumulators and waits for the next
        step's token.

        Raises ValueError if there are no gradients or there is no global step.
        """
        pairs = list(grads_and_vars or ())
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        dtype = global_step.dtype.base_dtype
        local_step = Variable(
            0,
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
            dtype=dtype,
            name="sync_rep_local_step",
        )
        self.local_step_init_op = assign(local_step, global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        inits: list[Any] = [self.local_step_init_op]
        additions, averages, closes = [], [], []
        for gradient, variable in pairs:
            average = None
            if gradient is not None:
                add, average, init, close = self._accumulated(gradient, variable, local_step)
                additions.append(add)
                inits.append(init)
                closes.append(close)
            averages.append((average, variable))
        with device(global_step.device):  # where all workers find the queue
            update = self._opt.apply_gradients(averages, global_step)
            self._tokens = FIFOQueue(
                -1, dtype, shapes=(), name="sync_token_q", shared_name="sync_token_q"
            )
            with control_dependencies(additions):
                train_op = assign(local_step, self._tokens.dequeue())
            self._chief_runner = self._runner(update, self._tokens, closes)
        self.chief_init_op = group(*inits)
        return train_op

    def _accumulated(self, gradient: Any, variable: Any, step: Any) -> tuple[Any, ...]:
        """Create the accumulator of a gradient, and return four ops or tensors that work on it.

        In this order, they add `gradient`, take the average, set the accumulator's step to the
        global step, and close the accumulator.

        Args:
          step: the worker's local step.
        """
        name, shape = f"{variable.name}/grad_accum", variable.get_shape()
        with colocate_with(variable.op):
            if isinstance(gradient, IndexedSlices):
                rows = SparseConditionalAccumulator(gradient.dtype, shape, shared_name=name)
                accumulator: Any = rows
                add = rows.apply_indexed_slices_grad(gradient, local_step=step)
                average: Any = rows.take_indexed_slices_grad(self._replicas)
            else:
                accumulator = ConditionalAccumulator(gradient.dtype, shape, shared_name=name)
                add = accumulator.apply_grad(gradient, local_step=step)
                average = accumulator.take_grad(self._replicas)
            init = accumulator.set_global_step(self._global_step)
            return add, average, init, close_accumulator(accumulator)

    def _runner(self, update: Any, tokens: FIFOQueue, closes: Sequence[Operation]) -> QueueRunner:
        """Return the queue runner that updates the variables, step after step, in a thread of the
        chief.

        When the session stops, the accumulators are closed, which cancels the thread's wait for
        averages.
        """
        count = max(self._total, self._replicas)
        with control_dependencies([update]):
            step = self._global_step.read_value()
            sync = tokens.enqueue_many([fill([count], step)])
        if self._averages is not None:
            with control_dependencies([sync]):
                sync = self._averages.apply(self._averaged)
        dummy = FIFOQueue(1, "int32", shapes=(), name="dummy_queue", shared_name="dummy_queue")
        return QueueRunner(
            dummy,
            [sync],
            cancel_op=group(dummy.close(cancel_pending_enqueues=True), *closes),
            queue_closed_exception_types=(OutOfRangeError, CancelledError),
        )

    def get_chief_queue_runner(self) -> QueueRunner:
        """Return the queue runner that the chief starts. Raises ValueError if `apply_gradients` was
        not called.
        """
        if self._chief_runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Return the op that enqueues the first `num_tokens` tokens, by default
        `replicas_to_aggregate`.

        Raises ValueError if `apply_gradients` was not called, or if `num_tokens` is less than
        `replicas_to_aggregate` - `total_num_replicas`.
        """
        if self._tokens is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas - self._total
        if num_tokens == -1:
            num_tokens = self._replicas
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} "
                "(needed)"
            )
        if num_tokens <= 0:
            return no_op(name="no_op")
        return self._tokens.enqueue_many([fill([num_tokens], self._global_step)])

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Return a slot of `opt`."""
        return self._opt.get_slot(*args, **kwargs)

    def variables(self) -> list[Variable]:
        """Return the variables of `opt`."""
        return self._opt.variables()

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Return the names of `opt`'s slots."""
        return self._opt.get_slot_names(*args, **kwargs)

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """Return a hook for the worker's monitored session. The chief's hook also starts the queue
        runner.
        """
        return _SyncReplicasHook(self, is_chief, num_tokens)


class _SyncReplicasHook(SessionRunHook):
    """The hook of a worker. In each new session, it sets the local step to the global step.

    The chief's hook also sets the steps of the accumulators, enqueues the first tokens and starts
    the queue runner.
    """

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._sync_optimizer, self._is_chief, self._num_tokens = optimizer, is_chief, num_tokens
        self._init: Sequence[Any] = ()
        self._first_tokens: Any = None
        self._is_ready: Tensor | None = None

    def begin(self) -> None:
        """Create the ops that `after_create_session` runs. Raises ValueError if `apply_gradients`
        was not called.
        """
        optimizer = self._sync_optimizer
        if optimizer.chief_init_op is None:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        self._is_ready = optimizer.ready_for_local_init_op
        if self._is_chief:
            self._init = [optimizer.chief_init_op]
            self._first_tokens = optimizer.get_init_tokens_op(self._num_tokens)
        else:
            self._init = [optimizer.local_step_init_op]

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Run the ops of `begin`. Raises RuntimeError if global variables are not initialized."""
        missing = session.run(self._is_ready)
        if len(missing):
            names = ", ".join(name.decode() for name in missing)
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local init: "
                f"Variables not initialized: {names}"
            )
        session.run(self._init)
        if self._is_chief:
            session.run(self._first_tokens)
            runner = self._sync_optimizer.get_chief_queue_runner()
            runner.create_threads(session, coord=coord, daemon=True, start=True)
