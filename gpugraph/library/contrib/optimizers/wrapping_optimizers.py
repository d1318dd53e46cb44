"""Optimizers that wrap another optimizer.

MovingAverageOptimizer averages the variables, and VariableClippingOptimizer bounds their norm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.building.variables import Variable, global_variables
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.moving_averages import ExponentialMovingAverage
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.library.train.savers.saver import Saver
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.reductions.clip_by_norm import clip_by_global_norm, clip_by_norm


class _WrappingOptimizer(Optimizer):
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


class MovingAverageOptimizer(_WrappingOptimizer):
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


class VariableClippingOptimizer(_WrappingOptimizer):
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
