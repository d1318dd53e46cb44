"""An optimizer that scales the loss and skips steps whose gradients are not finite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.control_flow import cond
from gpugraph.building.variables import Variable
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.experimental.loss_scale import DynamicLossScale, loss_scale_of
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.control.group_and_no_op import group, no_op
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class MixedPrecisionLossScaleOptimizer(Optimizer):
    """An optimizer that trains as `opt` does, but differentiates the loss multiplied by
    `loss_scale`.

    The gradients are then divided by the scale. If the scale is dynamic and the gradients of a step
    are not all finite, the step does not change any variable, and does not increment the global
    step.

    The constructor raises ValueError if an argument has the wrong type.

    Args:
      opt: an Optimizer.
      loss_scale: a number, "dynamic" or a LossScale.
    """

    def __init__(self, opt: Optimizer, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {opt!r}')
        super().__init__(opt._use_locking, opt._name)
        self._optimizer = opt
        self._loss_scale = loss_scale_of(loss_scale)
        self._track_trackable(self._optimizer, "base_optimizer")
        self._track_trackable(self._loss_scale, "loss_scale")

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Variable]]:
        """Return pairs (gradient or None, variable). The gradients are the gradients of the
        unscaled loss.

        Raises the errors of `Optimizer.compute_gradients`.
        """
        scale = self._loss_scale()
        value = convert_to_tensor(loss() if callable(loss) else loss, name="loss")
        pairs = self._optimizer.compute_gradients(
            value * cast(scale, value.dtype), var_list, gate_gradients, aggregation_method,
            colocate_gradients_with_ops, grad_loss,
        )  # fmt: skip
        factor = 1.0 / scale
        return [(_scaled(grad, factor), variable) for grad, variable in pairs]

    def apply_gradients(
        self,
        grads_and_vars: Sequence[tuple[Any, Variable]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Operation:
        """Return an operation that applies the gradients and updates the scale.

        If all gradients are finite, or the scale is fixed, the operation changes the variables and
        increments the global step. Raises the errors of `Optimizer.apply_gradients`.
        """
        pairs = list(grads_and_vars)
        if not isinstance(self._loss_scale, DynamicLossScale):
            return self._optimizer.apply_gradients(pairs, global_step, name)
        whole = name or self.get_name()
        change_scale, is_finite = self._loss_scale.update([grad for grad, _ in pairs])

        def apply() -> Operation:
            return self._optimizer.apply_gradients(pairs, global_step, f"{whole}-wrapped")

        return group(cond(is_finite, apply, no_op), change_scale, name=whole)

    def get_slot_names(self) -> list[str]:
        """Return the names of the inner optimizer's slots."""
        return self._optimizer.get_slot_names()

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """Return the inner optimizer's slot of a variable, or None."""
        return self._optimizer.get_slot(var, name)

    def variables(self) -> list[Variable]:
        """Return the variables of the inner optimizer and of the scale."""
        return [*self._optimizer.variables(), *self._loss_scale._weights.values()]


def _scaled(grad: Any, factor: Tensor) -> Any:
    """Return a gradient multiplied by a scalar. If the gradient is None, return None."""
    if grad is None:
        return None
    if isinstance(grad, IndexedSlices):
        values = grad.values * cast(factor, grad.values.dtype)
        return IndexedSlices(values, grad.indices, grad.dense_shape)
    return grad * cast(factor, grad.dtype)
