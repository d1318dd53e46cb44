"""The base class of the optimizers, which compute gradients of a loss and create the ops that
update variables.

The variables that an optimizer creates are mainly slots: one variable for each trained
variable and slot name, on the trained variable's device. They are created together with the update
ops, so `global_variables_initializer` initializes them if it is called afterwards.

A subclass implements these methods. `_create_slots` creates the slots, and `_prepare` converts the
settings to tensors. `_apply_dense` creates the op that updates a whole variable. `_apply_sparse`
creates the op that updates some rows of a variable, whose gradient is an IndexedSlices. `_finish`
creates the operation that runs after all updates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base import nest
from gpugraph.building.gradients import gradients
from gpugraph.building.replication import colocated, has_strategy
from gpugraph.building.replication.replicated_values import container_of
from gpugraph.building.trackable.trackable import Trackable, TrackableReference
from gpugraph.building.variables import ResourceVariable, Variable
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.optimizers.replicated_updates import (
    distributed_apply,
    listed_train_op,
    merged_apply,
    require_replicas,
    scaled_loss,
)
from gpugraph.library.train.optimizers.slot_creator import create_slot, initial_of_shape, zeros_of
from gpugraph.ops.control.group_and_no_op import group, tuple as gated
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.state.change_by_handle import change


class Optimizer(Trackable):
    """Base class of the optimizers. Subclasses define the slots, and the op that updates a
    variable.
    """

    __slots__ = ("_use_locking",)  # makes this class the `__base__` of optimizers that are mixed in

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
        """Return the name of the optimizer."""
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
        """Return an operation that reduces the loss by one training step: `compute_gradients`,
        followed by `apply_gradients`.

        Raises ValueError if no variable has a gradient.
        """
        pairs = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(grad is None for grad, _ in pairs):
            names = [variable.name for _, variable in pairs]
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {names} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Variable]]:
        """Return pairs (gradient or None, variable) for `var_list` or all trainable variables.

        Raises ValueError if there are no variables or the loss is not floating. Raises
        NotImplementedError if `var_list` contains anything except variables and tensors.

        Args:
          gate_gradients: with GATE_OP, all gradients of an op are computed before any of them is
            used. With GATE_GRAPH, all gradients of all variables are computed before any of them is
            used. With GATE_NONE, there is no such constraint.
        """
        gates = (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH)
        if gate_gradients not in gates:
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH. Not {gate_gradients}"
            )
        value = convert_to_tensor(loss() if callable(loss) else loss, name="loss")
        _check_trained(value)
        if var_list is None:
            var_list = value.graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        variables = nest.flatten(var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        for variable in variables:
            if not isinstance(variable, (Variable, Tensor)):
                raise NotImplementedError(f"{variable!r} is no tf.Variable: it can't be optimized")
        require_replicas(variables)
        value = scaled_loss(value)
        grads = gradients(
            value,
            [
                variable._ref() if isinstance(variable, Variable) else variable
                for variable in variables
            ],
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == Optimizer.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == Optimizer.GATE_GRAPH and any(grad is not None for grad in grads):
            grads = gated(grads)
        return list(zip(grads, variables))

    def apply_gradients(
        self,
        grads_and_vars: Sequence[tuple[Any, Variable]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Operation:
        """Return an operation that updates the variables with these gradients.

        If `global_step` is not None, the operation increments it after the updates. Raises
        ValueError if there are no gradients, TypeError if a gradient is not a tensor, and
        NotImplementedError if an object to update is not a variable.
        """
        pairs = [(_gradient(grad), variable) for grad, variable in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        used = [(grad, variable) for grad, variable in pairs if grad is not None]
        if not used:
            names = [variable.name for _, variable in pairs]
            raise ValueError(f"No gradients provided for any variable: {names}.")
        for _, variable in used:
            if not isinstance(variable, Variable):
                raise NotImplementedError(f"{variable!r} is no tf.Variable: it can't be updated")
            _check_trained(variable)
        if has_strategy():
            return merged_apply(self, used, global_step, name)
        graph = get_default_graph()
        with graph.control_dependencies(None):
            self._create_slots([variable for _, variable in used])
        with graph.name_scope(name or self._name) as scope:
            self._prepare()
            updates = [self._update(graph, grad, variable) for grad, variable in used]
            if global_step is None:
                done = self._finish(updates, scope)
            else:
                done = self._count(graph, self._finish(updates, "update"), global_step, scope)
        return listed_train_op(graph, done)

    def _distributed_apply(
        self, distribution: Any, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """Return the operation that changes all copies of the variables by the summed gradients.

        Args:
          grads_and_vars: pairs of a variable's gradients, one per replica, and the variable.
        """
        return distributed_apply(self, distribution, grads_and_vars, global_step, name)

    def _update(self, graph: Graph, grad: Any, variable: Variable) -> Any:
        with graph.name_scope(f"update_{variable.op.name}"), graph.colocate_with(variable.op):
            if isinstance(grad, IndexedSlices):
                if variable.constraint is not None:
                    raise RuntimeError(
                        "Cannot use a constraint function on a sparse variable: the gradient of "
                        f"'{variable.name}' is IndexedSlices"
                    )
                if isinstance(variable, ResourceVariable):
                    return self._resource_apply_sparse_duplicate_indices(
                        grad.values, variable, grad.indices
                    )
                return self._apply_sparse_duplicate_indices(grad, variable)
            if isinstance(variable, ResourceVariable):
                update = self._resource_apply_dense(grad, variable)
            else:
                update = self._apply_dense(grad, variable)
            if variable.constraint is None:
                return update
            with graph.control_dependencies([update]):
                return variable.assign(variable.constraint(variable.read_value()))

    def _count(self, graph: Graph, done: Operation, step: Any, scope: str) -> Operation:
        with graph.control_dependencies([done]), graph.colocate_with(step.op):
            handle = step if isinstance(step, Tensor) else step._ref()  # the graph's, by its name
            counted = change("AssignAdd", handle, 1, name=scope)
        return counted.op if isinstance(counted, Tensor) else counted

    # -- slots

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots created so far."""
        return sorted(self._slots)

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """Return the slot `name` of a variable, or None."""
        return self._slots.get(name, {}).get(container_of(var))

    def _own_slot(self, var: Variable, name: str) -> Variable:
        """Return the slot `name` of a variable. `_create_slots` must have created it."""
        return self._slots[name][container_of(var)]

    def variables(self) -> list[Variable]:
        """Return the optimizer's own variables in the default graph, sorted by name."""
        slots = [slot for slots in self._slots.values() for slot in slots.values()]
        graph = get_default_graph()
        here = [slot for slot in (*self._non_slots.values(), *slots) if slot.graph is graph]
        return sorted(here, key=lambda variable: variable.name)

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Variable:
        """Return the slot `slot_name` of `var`. If it does not exist, create it, filled with zeros,
        with the shape and dtype of `var`.

        Args:
          op_name: the suffix of a new slot's name.
        """
        return self._slot(var, slot_name, op_name, zeros_of(var, var.dtype.base_dtype))

    def _get_or_make_slot(self, var: Variable, val: Any, slot_name: str, op_name: str) -> Variable:
        """Return the slot `slot_name` of `var`. If it does not exist, create it with the initial
        value `val`.
        """
        return self._slot(var, slot_name, op_name, val)

    def _initialized_slot(
        self, var: Variable, initializer: Callable[..., Any], slot_name: str, op_name: str
    ) -> Variable:
        """Return the slot `slot_name` of `var`. If it does not exist, create it, initialized by
        `initializer`.
        """
        initial = initial_of_shape(var, initializer, var.shape, var.dtype.base_dtype)
        return self._slot(var, slot_name, op_name, initial)

    def _slot(self, var: Variable, slot_name: str, op_name: str, initial: Any) -> Variable:
        slots = self._slots.setdefault(slot_name, {})
        if var not in slots:
            slots[var] = create_slot(var, initial, op_name)
        return slots[var]

    def _create_non_slot_variable(
        self, initial_value: Any, name: str, colocate_with: Variable
    ) -> Variable:
        """Return the variable of this name that belongs to the optimizer but to no trained
        variable.

        If the graph has no such variable yet, create it on the device of the variable
        `colocate_with`.
        """
        key = (name, colocate_with.graph)
        if key not in self._non_slots:
            with colocated(colocate_with):
                self._non_slots[key] = Variable(
                    initial_value,
                    trainable=False,
                    name=name,
                    use_resource=isinstance(colocate_with, ResourceVariable),
                )
        return self._non_slots[key]

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> Variable | None:
        """Return the variable that `_create_non_slot_variable` created, or None."""
        return self._non_slots.get((name, graph if graph is not None else get_default_graph()))

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The variables of `_create_non_slot_variable` in the default graph.

        Slots are not included, because a checkpoint finds them through `get_slot`.
        """
        graph = get_default_graph()
        variables = {name: item for (name, home), item in self._non_slots.items() if home is graph}
        references = [TrackableReference(*item) for item in sorted(variables.items())]
        return references + super()._checkpoint_dependencies

    def _call_if_callable(self, param: Any) -> Any:
        """Return a setting, or the result of calling it if it is a function."""
        return param() if callable(param) else param

    # -- for subclasses

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        """Create the optimizer's own variables, among them the slots for `var_list`."""

    def _prepare(self) -> None:
        """Convert the settings to tensors."""

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        """Create the op that updates `var` with the gradient `grad`."""
        raise NotImplementedError(f"{type(self).__name__} does not define how a variable changes")

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Any:
        """Create the op that updates rows of `var` with the gradient `grad`.

        A row may occur several times in `grad`.
        """
        return self._apply_sparse(summed_by_row(grad), var)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        """Create the op that updates rows of `var` with the gradient `grad`.

        Each row occurs only once in `grad`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define how rows change")

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        """Create the op that updates a resource variable with the gradient `grad`.

        Subclasses may override this.
        """
        return self._apply_dense(grad, handle)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Variable, indices: Tensor
    ) -> Any:
        """Create the op that updates rows of a resource variable. A row may occur several times.

        Args:
          grad: the gradients of the rows.
          indices: the row numbers.
        """
        if type(self)._resource_apply_sparse is not Optimizer._resource_apply_sparse:
            summed = summed_by_row(IndexedSlices(grad, indices))
            return self._resource_apply_sparse(summed.values, handle, summed.indices)
        return self._apply_sparse_duplicate_indices(IndexedSlices(grad, indices), handle)

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        """Create the op that updates rows of a resource variable. Each row occurs only once.

        Subclasses may override this.
        """
        return self._apply_sparse(IndexedSlices(grad, indices), handle)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Operation:
        """Return the operation, named `name_scope`, that runs after all updates."""
        return group(*update_ops, name=name_scope)


def _check_trained(tensor: Tensor | Variable) -> None:
    """Raise ValueError unless the dtype of `tensor` is floating."""
    if not tensor.dtype.base_dtype.is_floating:
        raise ValueError(f"Invalid type {tensor.dtype.name} for {tensor.name}: it must be floating")


def summed_by_row(grad: IndexedSlices) -> IndexedSlices:
    """Return the gradient with each row once. The values of rows that occur several times are
    added.

    The ops are not colocated with the variable, because Unique runs on the host.
    """
    with grad.graph.colocate_with(None, ignore_existing=True):
        rows, where = raw_ops.Unique(grad.indices)
        summed = raw_ops.UnsortedSegmentSum(grad.values, where, raw_ops.Shape(rows)[0])
    return IndexedSlices(summed, rows, grad.dense_shape)


def _gradient(grad: Any) -> Tensor | IndexedSlices | None:
    """Return a gradient as a tensor, IndexedSlices or None.

    Raises TypeError if it is any other value.
    """
    if grad is None or isinstance(grad, IndexedSlices):
        return grad
    try:
        return convert_to_tensor(grad)
    except TypeError as error:
        raise TypeError(f"A gradient must be a tensor or None, but it is {grad!r}") from error
