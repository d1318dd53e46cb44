"""The base class of Keras's optimizers, with their settings, slots and steps.

A slot is a variable of the optimizer that belongs to a variable that the optimizer trains. A
subclass, in this package or in a program, calls `_set_hyper` to store its settings. A subclass
implements these methods: `_create_slots` creates slots, `_resource_apply_dense` returns the op that
changes a variable, and `_resource_apply_sparse` returns the op that changes distinct rows of a
variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from gpugraph.base.dtypes import float32, int64
from gpugraph.base.nest import flatten
from gpugraph.building.gradients import gradients
from gpugraph.building.replication import has_strategy
from gpugraph.building.replication.replicated_values import container_of
from gpugraph.building.trackable.trackable import Trackable, TrackableReference
from gpugraph.building.variables import Variable
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.keras_session import track_variable
from gpugraph.library.keras.backend.keras_variables import batch_get_value, batch_set_value
from gpugraph.library.keras.optimizers.gradient_pairs import references, with_gradients
from gpugraph.library.keras.optimizers.hyperparameters import Hyperparameters, scalar_variable
from gpugraph.library.keras.optimizers.learning_rate_schedules import (
    LearningRateSchedule,
    deserialize,
)
from gpugraph.library.keras.optimizers.replicated_steps import distributed_step, merged_step
from gpugraph.library.train.optimizers.optimizer import summed_by_row
from gpugraph.library.train.optimizers.slot_creator import create_named_slot, initial_of_shape
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.variable_initializers import Constant
from gpugraph.ops.reductions.clip_by_norm import clip_by_norm, clip_by_value
from gpugraph.ops.state.change_by_handle import change
from gpugraph.ops.state.scatter_updates import scatter_add

_KEYWORDS = ("clipnorm", "clipvalue", "lr", "decay")


class OptimizerV2(Hyperparameters):
    """Base class of Keras's optimizers.

    The constructor raises TypeError for a keyword argument that is not listed below, and ValueError
    if a value is less than 0.

    Args:
      name: a prefix for the names of ops and variables.
      kwargs: `clipnorm` is the maximum norm of a variable's gradient. `clipvalue` is the maximum
        magnitude of the gradient's elements. `lr` is another name of learning_rate. If `decay` is
        passed, the learning rate is divided by 1 + decay * (number of completed steps).
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._name, self._use_locking = name, True
        self._hyper = {}
        for key, value in kwargs.items():
            if key not in _KEYWORDS:
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {key}")
            if not callable(value) and value is not None and value < 0:
                raise ValueError(f"Expected {key} >= 0, received: {value}")
        self._initial_decay = kwargs.get("decay", 0.0)
        self._clips: dict[str, Any] = {
            key: kwargs[key] for key in ("clipnorm", "clipvalue") if key in kwargs
        }
        vars(self).update(self._clips)
        self._iterations: Any = None
        self._slots: dict[str, dict[Variable, Variable]] = {}
        self._weights: list[Any] = []
        self._numbers: dict[Any, dict[str, Any]] = {}

    def _take_rate(self, learning_rate: Any, kwargs: dict[str, Any]) -> None:
        """Store the learning rate and its decay. `lr` in `kwargs` overrides `learning_rate`."""
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)

    def _take_momentum(self, momentum: Any) -> bool:
        """Store the momentum, and return whether it may be nonzero.

        Raises ValueError for a number outside of [0, 1].
        """
        is_number = isinstance(momentum, (int, float))
        if is_number and not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        self._set_hyper("momentum", momentum)
        return not is_number or momentum > 0

    # -- one step

    def minimize(
        self, loss: Any, var_list: Any, grad_loss: Any = None, name: str | None = None
    ) -> Any:
        """Return an op that takes one step to minimize a loss, which is a tensor or a function that
        returns a tensor.
        """
        pairs = self._compute_gradients(loss, var_list=var_list, grad_loss=grad_loss)
        return self.apply_gradients(pairs, name=name)

    def _compute_gradients(
        self, loss: Any, var_list: Any, grad_loss: Any = None
    ) -> list[tuple[Any, Any]]:
        """Return the clipped gradients of a loss, with their variables. Subclasses may override
        this method.
        """
        value = convert_to_tensor(loss() if callable(loss) else loss)
        variables = flatten(var_list() if callable(var_list) else var_list)
        with get_default_graph().name_scope(f"{self._name}/gradients"):
            grads = gradients(value, references(variables), grad_ys=grad_loss)
        return list(zip(self._clipped(grads), variables))

    def get_gradients(self, loss: Any, params: Any) -> list[Any]:
        """Return the gradients of a loss with respect to the variables `params`, clipped if the
        optimizer clips gradients.

        Raises ValueError for a variable without a gradient.
        """
        variables = flatten(params)
        with get_default_graph().name_scope(f"{self._name}/gradients"):
            grads = gradients(loss, references(variables))
            missing = [variable for grad, variable in zip(grads, variables) if grad is None]
            if missing:
                raise ValueError(
                    f"Variable {missing[0]} has `None` for gradient. Please make sure that all of "
                    "your ops have a gradient defined (i.e. are differentiable). Common ops "
                    "without gradient: K.argmax, K.round, K.eval. The loss depends on none of "
                    f"{[getattr(variable, 'name', variable) for variable in missing]}."
                )
            return self._clipped(grads)

    def _clipped(self, grads: Sequence[Any]) -> list[Any]:
        norm, limit = self._clips.get("clipnorm"), self._clips.get("clipvalue")
        clipped = list(grads)
        if norm is not None:
            clipped = [None if grad is None else clip_by_norm(grad, norm) for grad in clipped]
        if limit is not None:
            clipped = [
                None if grad is None else clip_by_value(grad, -limit, limit) for grad in clipped
            ]
        return clipped

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """Return a list with an op that takes one step to minimize a loss.

        Raises the errors of `get_gradients`.
        """
        variables = flatten(params)
        return [self.apply_gradients(list(zip(self.get_gradients(loss, variables), variables)))]

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None) -> Any:
        """Return an op that changes variables by their gradients, and then adds 1 to `iterations`.

        A variable without a gradient causes a warning. Raises ValueError if no variable has a
        gradient. In a replica of a strategy, the gradients of all replicas are summed first.
        """
        pairs = with_gradients(list(grads_and_vars))
        if has_strategy():
            return merged_step(self, pairs, name)
        variables = [variable for _, variable in pairs]
        graph = get_default_graph()
        self.create_weights(variables)
        with graph.name_scope(name or self._name):
            self._numbers = {}
            self._prepare(variables)
            updates = [self._update(grad, variable) for grad, variable in pairs]
            with graph.control_dependencies(updates):
                return change("AssignAdd", self.iterations._ref(), np.int64(1))

    def _distributed_apply(self, distribution: Any, grads_and_vars: Any, name: Any = None) -> Any:
        """Return the op that takes one step with the sums of all replicas' gradients."""
        return distributed_step(self, distribution, grads_and_vars, name)

    def _update(self, grad: Any, variable: Variable) -> Any:
        graph = get_default_graph()
        with graph.name_scope(f"update_{variable.op.name}"), graph.colocate_with(variable.op):
            if isinstance(grad, IndexedSlices):
                if variable.constraint is not None:
                    raise RuntimeError(
                        "Cannot use a constraint function on a sparse variable: the gradient of "
                        f"{variable.name} is IndexedSlices"
                    )
                return self._resource_apply_sparse_duplicate_indices(
                    grad.values, variable, grad.indices
                )
            update = self._resource_apply_dense(grad, variable)
            if variable.constraint is None:
                return update
            with graph.control_dependencies([update]):
                return variable.assign(variable.constraint(variable.read_value()))

    # -- for subclasses

    def _prepare(self, var_list: Sequence[Variable]) -> None:
        """Prepare a step. This method is called before the ops that change variables are
        created.
        """

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        """Create the slots of these variables with `add_slot`."""

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        """Return the op that changes the variable `handle` by its gradient."""
        raise NotImplementedError(f"{type(self).__name__} does not define how a variable changes")

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        """Return the op that changes rows `indices` of a variable by their gradients. The indices
        are distinct.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define how rows change")

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Any, indices: Tensor
    ) -> Any:
        """Return the op that changes rows whose indices may be repeated. The base class first sums
        the gradients of each row.
        """
        summed = summed_by_row(IndexedSlices(grad, indices))
        return self._resource_apply_sparse(summed.values, handle, summed.indices)

    def _resource_scatter_add(self, x: Any, i: Tensor, v: Tensor) -> Any:
        """Return an op that adds the values `v` to the rows `i` of the variable `x`."""
        return scatter_add(x, i, v)

    def _decayed_lr(self, var_dtype: Any) -> Any:
        """Return this step's learning rate: the schedule's value or the setting, after `decay`."""
        rate = self._get_hyper("learning_rate", var_dtype)
        if isinstance(rate, LearningRateSchedule):
            rate = cast(rate(cast(self.iterations, var_dtype)), var_dtype)
        if not callable(self._initial_decay) and self._initial_decay > 0:
            steps = cast(self.iterations, var_dtype)
            rate = rate / (1.0 + self._get_hyper("decay", var_dtype) * steps)
        return rate

    def numbers(self, variable: Variable) -> dict[str, Any]:
        """Return the settings in a variable's dtype, with the rate `lr` and the number `step` of
        this step.
        """
        dtype = variable.dtype.base_dtype
        if dtype not in self._numbers:
            graph = get_default_graph()
            with graph.colocate_with(None, ignore_existing=True):
                numbers = {
                    name: self._get_hyper(name, dtype)
                    for name in self._hyper
                    if name not in ("learning_rate", "decay")
                }
                numbers["lr"] = self._decayed_lr(dtype)
                numbers["step"] = cast(self.iterations, dtype) + 1.0
            self._numbers[dtype] = numbers
        return self._numbers[dtype]

    # -- variables

    @property
    def iterations(self) -> Any:
        """The number of completed steps, an int64 variable."""
        if self._iterations is None:
            graph = get_default_graph()
            with graph.control_dependencies(None):
                self._iterations = scalar_variable(0, f"{self._name}/iter", int64)
            self._weights.append(self._iterations)
        return self._iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        if self._iterations is not None:
            raise RuntimeError(
                "Cannot set `iterations` to a new Variable after the Optimizer weights have been "
                "created"
            )
        self._iterations = variable
        self._weights.append(variable)

    def create_weights(self, var_list: Sequence[Any]) -> list[Any]:
        """Create the slots and other variables for steps on `var_list`. Return `weights`."""
        graph = get_default_graph()
        with graph.control_dependencies(None), graph.colocate_with(None, ignore_existing=True):
            self.iterations  # noqa: B018  the first of the weights
            self._create_hypers()
            self._create_slots(var_list)
        return self.weights

    def add_slot(self, var: Any, slot_name: str, initializer: Any = "zeros") -> Any:
        """Return the variable's slot of this name. If the variable has no such slot, create the
        slot with the variable's shape and dtype.

        Args:
          initializer: "zeros", a number, or an initializer.
        """
        slots, var = self._slots.setdefault(slot_name, {}), container_of(var)
        if var not in slots:
            if not callable(initializer):
                initializer = Constant(0.0 if initializer == "zeros" else initializer)
            initial = initial_of_shape(var, initializer, var.shape, var.dtype.base_dtype)
            name = f"{self._name}/{var.op.name}/{slot_name}"
            slots[var] = create_named_slot(var, initial, name)
            track_variable(slots[var])
            self._weights.append(slots[var])
        return slots[var]

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """Return the slot `slot_name` of the variable `var`. Raises KeyError if there is no such
        slot.
        """
        return self._slots[slot_name][container_of(var)]

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots that have been created."""
        return list(self._slots)

    def add_weight(
        self,
        name: str,
        shape: Any = (),
        dtype: Any = None,
        initializer: Any = "zeros",
        trainable: Any = None,
    ) -> Any:
        """Create a variable of the optimizer that is not a slot. `weights` then contains this
        variable.
        """
        del trainable
        value = np.full(shape, 0.0 if initializer == "zeros" else 1.0)
        if not isinstance(initializer, str):
            value = initializer(shape)
        variable = scalar_variable(value, f"{self._name}/{name}", dtype or float32)
        self._weights.append(variable)
        return self._track_trackable(variable, name, overwrite=True)

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """`iterations`, and settings that are variables. Checkpoints record slots separately."""
        by_name = {"iter": self._iterations, **dict(sorted(self._hyper.items()))}
        references = {name: item for name, item in by_name.items() if isinstance(item, Trackable)}
        references.update(super()._checkpoint_dependencies)
        return [TrackableReference(*item) for item in references.items()]

    @property
    def weights(self) -> list[Any]:
        """The optimizer's variables in the order of their creation: `iterations`, slots, and other
        variables.
        """
        return self._weights

    def variables(self) -> list[Any]:
        """Return `weights`."""
        return self._weights

    def get_weights(self) -> list[Any]:
        """Return the values of `weights` in Keras's session as arrays."""
        return batch_get_value(self._weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Set the values of `weights`. Raises ValueError for a wrong number or shape of arrays.

        Args:
          weights: arrays. The values may come from the optimizer of the same name in Keras 2,
            although that optimizer does not have all of these variables.
        """
        weights = self._of_keras_2(list(weights))
        if len(self._weights) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on optimizer {self._name} with a  weight list "
                f"of length {len(weights)}, but the optimizer was expecting {len(self._weights)} "
                f"weights. Provided weights: {str(weights)[:50]}..."
            )
        for variable, array in zip(self._weights, weights):
            if tuple(variable.shape.as_list()) != np.shape(array):
                raise ValueError(
                    f"Optimizer weight shape {tuple(variable.shape.as_list())} not compatible "
                    f"with provided weight shape {np.shape(array)} (variable {variable.name})"
                )
        batch_set_value(list(zip(self._weights, weights)))

    _NOT_IN_KERAS_2: ClassVar[Mapping[int, float]] = {}
    """The indices in `weights` of variables that Keras 2's optimizer lacks, with their values."""

    def _of_keras_2(self, arrays: list[Any]) -> list[Any]:
        """Return arrays for `weights`. If `arrays` come from Keras 2, missing arrays are added."""
        if len(arrays) + len(self._NOT_IN_KERAS_2) == len(self._weights):
            for place, value in self._NOT_IN_KERAS_2.items():
                arrays.insert(place, np.array(value))
        return arrays

    # -- configuration

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor as plain Python values."""
        settings = {name: self._serialize_hyperparameter(name) for name in self._hyper}
        return {"name": self._name, **self._clips, **settings}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Create an optimizer from a dict that `get_config` returned. The optimizer has no slots
        yet.
        """
        arguments = dict(config)
        if "lr" in arguments:
            arguments["learning_rate"] = arguments.pop("lr")
        if isinstance(arguments.get("learning_rate"), dict):
            arguments["learning_rate"] = deserialize(arguments["learning_rate"], custom_objects)
        return cls(**arguments)


def apply_op(op_type: str, variable: Any, slots: Sequence[Any], *numbers: Any) -> Any:
    """Create the op `op_type`, whose inputs are a variable, its slots, and `numbers`."""
    return change(op_type, variable._ref(), *[slot._ref() for slot in slots], *numbers)


def assign_all(*pairs: tuple[Any, Any]) -> Any:
    """Return an op that assigns values to variables, given as (variable, value) pairs."""
    return group(*[variable.assign(value) for variable, value in pairs])
