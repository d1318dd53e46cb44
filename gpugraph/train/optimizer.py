"""Optimizer: gradients of a loss, and the ops that change variables by them.

An optimizer makes its own variables (slots: one per variable and name, beside it) before it makes
the update ops, so that one `global_variables_initializer` covers them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.gradients import gradients
from gpugraph.graph.client import Graph
from gpugraph.graph.collections import GraphKeys
from gpugraph.graph.operation import Operation
from gpugraph.graph.stack import graph_stack
from gpugraph.graph.tensor import Tensor
from gpugraph.ops.constants import zeros
from gpugraph.ops.convert import constant, convert_to_tensor
from gpugraph.ops.declare import raw_ops
from gpugraph.variables import Variable, group, trainable_variables

__all__ = ["Optimizer"]


class Optimizer:
    """Base of the optimizers. Subclasses say which slots there are and how a variable changes."""

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Variable, Variable]] = {}
        self._non_slots: dict[tuple[str, Graph], Variable] = {}

    def get_name(self) -> str:
        return self._name

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:
        """An operation that takes one step down `loss`; see the two methods it is made of.

        ValueError when no variable has a gradient.
        """
        pairs = self.compute_gradients(
            loss,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        if all(grad is None for grad, _ in pairs):
            names = [variable.name for _, variable in pairs]
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {names} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Variable]]:
        """(gradient or None, variable) for `var_list`, the trainable variables by default.

        ValueError when there are none, TypeError for what is no variable.
        """
        if gate_gradients not in (0, 1, 2):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH. Not {gate_gradients}"
            )
        if var_list is None:
            var_list = trainable_variables()
        elif isinstance(var_list, Variable):
            var_list = [var_list]
        variables = list(var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        for variable in variables:
            if not isinstance(variable, Variable):
                raise TypeError(f"Argument is not a tf.Variable: {variable!r}")
        grads = gradients(
            loss,
            [variable._ref() for variable in variables],
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == Optimizer.GATE_GRAPH,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        return list(zip(grads, variables))

    def apply_gradients(
        self,
        grads_and_vars: Sequence[tuple[Any, Variable]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Operation:
        """An operation that changes the variables by these gradients and counts the step.

        ValueError when no gradient is given.
        """
        pairs = [(grad, variable) for grad, variable in grads_and_vars if grad is not None]
        if not pairs:
            names = [variable.name for _, variable in grads_and_vars]
            raise ValueError(f"No gradients provided for any variable: {names}.")
        graph: Graph = graph_stack.top()
        variables = [variable for _, variable in pairs]
        with graph.control_dependencies(None):
            self._create_slots(variables)
        with graph.name_scope(name or self._name) as scope:
            self._prepare()
            updates = [self._update(graph, grad, variable) for grad, variable in pairs]
            finish = self._finish(updates)
            if global_step is None:
                done = group(*finish, name=scope)
            else:
                done = self._count(graph, finish, global_step, scope)
        train_ops = graph.get_collection_ref(GraphKeys.TRAIN_OP)
        if done not in train_ops:
            train_ops.append(done)
        return done

    def _update(self, graph: Graph, grad: Any, variable: Variable) -> Any:
        dense = convert_to_tensor(grad)
        with (
            graph.name_scope(f"update_{variable.op.name}"),
            graph.colocate_with(variable.op),
        ):
            update = self._apply_dense(dense, variable)
            if variable.constraint is None:
                return update
            with graph.control_dependencies([update]):
                return variable.assign(variable.constraint(variable.read_value()))

    def _count(self, graph: Graph, finish: list[Any], step: Any, scope: str) -> Operation:
        with graph.control_dependencies([group(*finish, name="update")]):
            with graph.colocate_with(step.op):
                one = constant(1, step.dtype.base_dtype)
                counted: Tensor = raw_ops.AssignAdd(step._ref(), one, name=scope)
        return counted.op

    # -- slots

    def get_slot_names(self) -> list[str]:
        """The names of the slots made so far."""
        return sorted(self._slots)

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """The slot `name` of a variable, or None."""
        return self._slots.get(name, {}).get(var)

    def variables(self) -> list[Variable]:
        """All variables that the optimizer made."""
        made = list(self._non_slots.values())
        for slots in self._slots.values():
            made += slots.values()
        return sorted(made, key=lambda variable: variable.name)

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Variable:
        shape = var.shape
        return self._slot(var, slot_name, op_name, lambda: zeros(shape, var.dtype.base_dtype))

    def _slot(
        self, var: Variable, slot_name: str, op_name: str, initial: Callable[[], Tensor]
    ) -> Variable:
        slots = self._slots.setdefault(slot_name, {})
        if var not in slots:
            graph = var.graph
            with graph.name_scope(None), graph.colocate_with(var.op):
                slots[var] = Variable(initial, trainable=False, name=f"{var.op.name}/{op_name}")
        return slots[var]

    def _non_slot(self, initial: float, name: str, beside: Variable) -> Variable:
        key = (name, beside.graph)
        if key not in self._non_slots:
            graph = beside.graph
            with graph.name_scope(None), graph.colocate_with(beside.op):
                self._non_slots[key] = Variable(
                    initial, trainable=False, name=name, dtype=beside.dtype.base_dtype
                )
        return self._non_slots[key]

    # -- what an optimizer is

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        """Makes the optimizer's own variables."""

    def _prepare(self) -> None:
        """Makes tensors of the settings."""

    def _apply_dense(self, grad: Tensor, variable: Variable) -> Any:
        """The op that changes `variable` by `grad`."""
        raise TypeError(f"{type(self).__name__} does not say how a variable changes")

    def _finish(self, updates: list[Any]) -> list[Any]:
        """What has to have run, given the updates."""
        return updates
