"""Optimizers that wrap another optimizer.

MovingAverageOptimizer averages the variables, and VariableClippingOptimizer bounds their norm.
MultitaskOptimizerWrapper skips gradients of zeros, and DropStaleGradientOptimizer skips old
gradients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.building.control_flow.cond import cond
from gpugraph.building.variable_scope.get_variable import get_variable
from gpugraph.building.variables import Variable, global_variables
from gpugraph.graph.client.default_graph_functions import colocate_with, control_dependencies
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.summary.summary_functions import scalar
from gpugraph.library.train.global_step import get_global_step
from gpugraph.library.train.moving_averages import ExponentialMovingAverage
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.library.train.savers.saver import Saver
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.control.group_and_no_op import group, no_op
from gpugraph.ops.elementwise.comparison_and_select import equal, less_equal
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.random.variable_initializers import Zeros as zeros_initializer
from gpugraph.ops.reductions.clip_by_norm import clip_by_global_norm, clip_by_norm
from gpugraph.ops.reductions.composed_reductions import count_nonzero


class WrappingOptimizer(Optimizer):
    """Base class. The wrapped optimizer computes the gradients and owns the slots."""

    def __init__(self, opt: Optimizer, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Return (gradient, variable) pairs that the wrapped optimizer computes."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Return a slot of the wrapped optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """Return the names of the slots of the wrapped optimizer."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Variable]:
        """Return the variables of the wrapped optimizer."""
        return self._opt.variables()


class MovingAverageOptimizer(WrappingOptimizer):
    """Wraps the optimizer `opt` and keeps moving averages of the variables that it trains.

    The saver from `swapping_saver` writes the averages under the names of the variables.

    Args:
      sequential_update: whether the averages are updated after the variables. Otherwise the
        averages and the variables may be updated at the same time.
    """

    def __init__(
        self,
        opt: Optimizer,
        average_decay: Any = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(opt, False, "MovingAverage")
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._averages: dict[str, Any] | None = None
        self._sequential_update = sequential_update

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Return an operation that changes the variables and their averages."""
        pairs = list(grads_and_vars)
        train_op = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
        trained = [variable for grad, variable in pairs if grad is not None]
        with control_dependencies([train_op] if self._sequential_update else []):
            averaged = self._ema.apply(trained)
        self._averages = {variable.op.name: self._ema.average(variable) for variable in trained}
        return group(train_op, averaged, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Saver:
        """Return a Saver that writes the averages under the names of their variables.

        The variables themselves are saved under the names of their averages, so that no value is
        lost. Raises RuntimeError if neither `apply_gradients` nor `minimize` has been called.
        """
        if self._averages is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        if var_list is None:
            var_list = global_variables()
        if not isinstance(var_list, Mapping):
            var_list = {variable.op.name: variable for variable in var_list}
        swapped = dict(var_list)
        for key, variable in var_list.items():
            average = self._averages.get(key)
            if average is None:
                continue
            if average.op.name in swapped:
                swapped[key], swapped[average.op.name] = average, variable
            else:
                swapped[key] = average
        return Saver(swapped, name=name, **kwargs)


class VariableClippingOptimizer(WrappingOptimizer):
    """Wraps the optimizer `opt` and clips variables by their norm after each step.

    Args:
      vars_to_clip_dims: by variable, the dimensions over which norms are computed.
      colocate_clip_ops_with_vars: has no effect on values.
    """

    def __init__(
        self,
        opt: Optimizer,
        vars_to_clip_dims: Mapping[Variable, Sequence[int]],
        max_norm: float,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(opt, use_locking, name)
        self._dims = dict(vars_to_clip_dims)
        self._max_norm = max_norm
        self._colocate = colocate_clip_ops_with_vars

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Return an operation that changes the variables, and then clips them."""
        pairs = list(grads_and_vars)
        step = self._opt.apply_gradients(pairs, global_step=global_step)
        with control_dependencies([step]):
            clipped = [
                variable.assign(
                    clip_by_norm(variable.read_value(), self._max_norm, axes=self._dims[variable]),
                    self._use_locking,
                )
                for grad, variable in pairs
                if grad is not None and variable in self._dims
            ]
        return group(step, *clipped, name=name or self._name)


def clip_gradients_by_global_norm(
    gradients_variables: Sequence[tuple[Any, Variable]], clip_norm: float = 20.0
) -> list[tuple[Tensor | None, Variable]]:
    """Return (gradient, variable) pairs with the gradients clipped by their global norm."""
    gradients, variables = zip(*gradients_variables)
    clipped, _ = clip_by_global_norm(gradients, clip_norm)
    return list(zip(clipped, variables))


class MultitaskOptimizerWrapper:
    """Wraps an optimizer and skips the update of a variable whose gradient consists of zeros.

    So if a batch has no examples of one of several tasks, the slots of this task's variables keep
    their values. All attributes are taken from the wrapped optimizer. Raises TypeError if `opt` is
    not an Optimizer.
    """

    def __init__(self, opt: Optimizer) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError("Supplied optimizer must be an instance of tf.train.Optimizer")
        self._opt = opt
        for name in ("_apply_dense", "_apply_sparse"):
            setattr(opt, name, _unless_zero(getattr(opt, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)


def _unless_zero(apply: Any) -> Any:
    """Return a function that calls `apply` unless the gradient consists of zeros."""

    def apply_unless_zero(grad: Any, *args: Any) -> Any:
        def applied() -> Operation:
            with control_dependencies([apply(grad, *args)]):
                return no_op()

        values = grad.values if isinstance(grad, IndexedSlices) else grad
        return cond(equal(count_nonzero(values), 0), no_op, applied)

    return apply_unless_zero


class DropStaleGradientOptimizer(WrappingOptimizer):
    """Wraps an optimizer, and drops gradients that were computed too many global steps ago.

    The variable "stale_counter" counts the steps whose gradients were dropped. A summary shows the
    fraction of these steps.

    Args:
      staleness: the maximum number of global steps between the computation of gradients and their
        use.
    """

    def __init__(
        self,
        opt: Optimizer,
        staleness: int,
        use_locking: bool = False,
        name: str = "DropStaleGradient",
    ) -> None:
        super().__init__(opt, use_locking, name)
        self._staleness = staleness

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> Any:
        """Record the global step. Return the (gradient, variable) pairs of the wrapped
        optimizer.
        """
        with colocate_with(loss):
            self._local_step = get_global_step() + 0
        with control_dependencies([self._local_step]):
            return self._opt.compute_gradients(identity(loss), *args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Return a tensor. A run that computes this tensor updates the variables, unless the
        gradients are too old. Its value is the number of steps whose gradients were dropped so far.
        """
        pairs = list(grads_and_vars)
        with colocate_with(global_step):
            counter = get_variable(
                "stale_counter", [], initializer=zeros_initializer(), trainable=False
            )

        def accept() -> Tensor:
            applied = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
            with control_dependencies([applied]):
                return constant(0.0)

        gradients = [grad for grad, _ in pairs if grad is not None]
        with (
            control_dependencies([getattr(grad, "op", grad) for grad in gradients]),
            colocate_with(global_step),
        ):
            staleness = reshape(global_step - self._local_step, [])
        is_fresh = less_equal(staleness, cast(self._staleness, staleness.dtype))
        dropped = counter.assign_add(cond(is_fresh, accept, lambda: constant(1.0)))
        steps = cast(global_step + 1, "float32")
        scalar("Gradient staleness percentage", counter / steps)
        return dropped
