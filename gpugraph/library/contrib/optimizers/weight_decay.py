"""Optimizers with decoupled weight decay (Loshchilov and Hutter, 2017).

These optimizers shrink weights separately from the gradient step.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.graph.client.default_graph_functions import control_dependencies, get_default_graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.optimizers.adam import AdamOptimizer
from gpugraph.library.train.optimizers.gradient_descent import MomentumOptimizer
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class DecoupledWeightDecayExtension:
    """A mixin for optimizers. Before each step, the optimizer subtracts `weight_decay` times a
    variable from the variable.

    Args:
      weight_decay: a number, a tensor, or a function without arguments that returns one of these.
    """

    _use_locking: bool

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._decayed: set[Variable] | None = None
        self._weight_decay = weight_decay
        self._decay_tensor: Tensor | None = None
        super().__init__(**kwargs)

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        decay_var_list: Iterable[Variable] | None = None,
    ) -> Operation:
        """Return an operation that takes one training step, as `Optimizer.minimize` does.

        Args:
          decay_var_list: the variables to shrink; by default, all variables that are trained.
        """
        self._decayed = set(decay_var_list) if decay_var_list else None
        done: Operation = super().minimize(  # type: ignore[misc]  # of Optimizer
            loss,
            global_step=global_step,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            name=name,
            grad_loss=grad_loss,
        )
        return done

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Iterable[Variable] | None = None,
    ) -> Operation:
        """Return an operation that changes the variables by these gradients.

        Args:
          decay_var_list: the variables to shrink; by default, all variables that are changed.
        """
        if decay_var_list:
            self._decayed = set(decay_var_list)
        done: Operation = super().apply_gradients(  # type: ignore[misc]  # of Optimizer
            grads_and_vars, global_step=global_step, name=name
        )
        return done

    def _prepare(self) -> None:
        value = self._weight_decay
        value = value() if callable(value) else value
        self._decay_tensor = convert_to_tensor(value, name="weight_decay")
        super()._prepare()  # type: ignore[misc]  # of Optimizer

    def _update(self, graph: Any, grad: Any, variable: Variable) -> Any:
        if self._decayed is not None and variable not in self._decayed:
            return super()._update(graph, grad, variable)  # type: ignore[misc]  # of Optimizer
        with get_default_graph().control_dependencies([_part_of(grad)]):
            share = cast(self._decay_tensor, variable.dtype.base_dtype)
            shrunk = variable.assign_sub(share * variable.value(), self._use_locking)
        with control_dependencies([shrunk]):
            return super()._update(graph, grad, variable)  # type: ignore[misc]  # of Optimizer


def _part_of(grad: Any) -> Tensor:
    """Return the values of a gradient as a tensor."""
    return getattr(grad, "values", grad)


def extend_with_decoupled_weight_decay(base_optimizer: Any) -> Any:
    """Return a subclass of an optimizer class that adds decoupled weight decay.

    The constructor of the new class takes `weight_decay`, followed by the arguments of
    `base_optimizer`.
    """

    class OptimizerWithDecoupledWeightDecay(
        DecoupledWeightDecayExtension,
        base_optimizer,  # type: ignore[misc]
    ):
        """An optimizer that shrinks its variables by `weight_decay` in each step."""

        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            self._decayed = None
            self._weight_decay = weight_decay
            self._decay_tensor = None
            base_optimizer.__init__(self, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """`MomentumOptimizer` with decoupled weight decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """`AdamOptimizer` with decoupled weight decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )
