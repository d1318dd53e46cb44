"""Moving averages of variables. They are stored in shadow variables, which are used for
evaluation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.replication import ReduceOp, current_replica
from gpugraph.building.variable_scope import get_variable, variable_scope
from gpugraph.building.variables import (
    ResourceVariable,
    Variable,
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.optimizers.slot_creator import name_in_variable_scope
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.elementwise import division
from gpugraph.ops.elementwise.arithmetic_functions import minimum, pow
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.variable_initializers import Zeros
from gpugraph.ops.state.reference_variable_ops import assign, assign_add, assign_sub


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Tensor:
    """Return the variable after `variable -= (1 - decay) * (variable - value)`.

    In a replica of a strategy, a mirrored variable is moved towards the mean of the replicas'
    values.

    Args:
      zero_debias: whether to correct for the initial value 0 of `variable` (Kingma and Ba, Adam,
        2015, section 3). The biased average and the number of updates are two more variables,
        `biased` and `local_step`, in a scope with the name of the variable.
    """

    def move(value: Any) -> Tensor:
        return _moved(variable, value, decay, zero_debias, name)

    return _over_replicas(variable, value, move)


def _over_replicas(variable: Any, value: Any, move: Callable[[Any], Tensor]) -> Tensor:
    """Return `move(value)`. If the variable is mirrored and this is a replica of a strategy, `move`
    is called once, with the mean of all replicas' values.
    """
    context = current_replica()
    if context is None or not getattr(variable, "_merges_changes", False):
        return move(value)

    def merged(strategy: Any, values: Any) -> Any:
        mean = strategy.extended.reduce_to(ReduceOp.MEAN, values, variable)
        return move(strategy.experimental_local_results(mean)[0])

    average: Tensor = context.merge_call(merged, args=(value,))
    return average


def _moved(variable: Any, value: Any, decay: Any, zero_debias: bool, name: str | None) -> Tensor:
    """Return the variable after it has moved towards the value. See `assign_moving_average`."""
    with op_scope(name, "AssignMovingAvg", variable, value, decay) as scope:
        with get_default_graph().colocate_with(variable.op):
            rest = convert_to_tensor(1.0 - decay, name="decay")
            if rest.dtype is not variable.dtype.base_dtype:
                rest = cast(rest, variable.dtype.base_dtype)
            if zero_debias:
                biased, steps = _shadow_variables(variable)
                return _update_unbiased(variable, biased, steps, value, rest, scope)
            return assign_sub(variable, (variable - value) * rest, name=scope)


def _shadow_variables(variable: Any) -> tuple[Any, Any]:
    """Create the two variables for a debiased average: the biased average, and the number of its
    updates.
    """
    dtype = variable.dtype.base_dtype
    with variable_scope(variable.op.name) as scope:
        known = () if scope.reuse else {known.op.name for known in scope.global_variables()}

        def unused(name: str) -> str:
            numbered = (f"{name}_{index}" for index in itertools.count(1))
            names = itertools.chain([name], numbered)
            return next(new for new in names if f"{scope.name}/{new}" not in known)

        biased = get_variable(
            unused("biased"), variable.shape, dtype, Zeros(dtype=dtype), trainable=False
        )
        steps = get_variable(unused("local_step"), [], dtype, Zeros(dtype=dtype), trainable=False)
    return biased, steps


def _update_unbiased(
    average: Any, biased: Any, steps: Any, value: Any, rest: Tensor, scope: str
) -> Tensor:
    """Update `biased`, which starts at 0, and assign the debiased value to `average`.

    The debiased value is `biased` divided by the sum of the weights of all values so far.

    Args:
      steps: the variable that counts updates.
      rest: 1 - decay, the weight of `value`.
    """
    moved = assign_sub(biased, (biased.value() - value) * rest)
    count = assign_add(steps, 1.0)
    return assign(average, moved / (1.0 - pow(1.0 - rest, count)), name=scope)


def weighted_moving_average(
    value: Any,
    decay: Any,
    weight: Any,
    truediv: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the moving average of `value * weight` divided by the moving average of `weight`,
    after both averages were updated with this value.

    The averages start at 0. They are not trainable, and are stored in the variables
    `value_x_weight` and `weight` in the variable scope `name`, which is "WeightedMovingAvg" by
    default.

    Args:
      value, weight: numeric tensors whose shapes can be broadcast.
      truediv: whether integers are divided as floats.
      collections: the collections of the variables, by default GLOBAL_VARIABLES.
    """
    value, weight = convert_to_tensor(value), convert_to_tensor(weight)
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:

        def average(name: str, item: Tensor, like: Tensor) -> Tensor:
            zero = Zeros(dtype=like.dtype)
            variable = get_variable(
                name, like.shape, like.dtype, zero, trainable=False, collections=collections
            )
            return assign_moving_average(variable, item, decay, zero_debias=False)

        above = average("value_x_weight", value * weight, value)
        below = average("weight", weight, weight)
        return (division.truediv if truediv else division.divide)(above, below, name=scope.name)


class ExponentialMovingAverage:
    """Keeps moving averages of variables. An update is `average -= (1 - decay) * (average -
    variable)`.

    Args:
      num_updates: the number of updates, an int tensor or variable. If it is passed, the decay is
        at most (1 + num_updates) / (10 + num_updates), so that the averages change faster at first.
      zero_debias: whether to correct averages of tensors for their initial value 0.

    >>> v = tf.Variable(4.0)
    >>> average = tf.train.ExponentialMovingAverage(0.5)
    >>> update = average.apply([v])
    >>> session.run(tf.global_variables_initializer())
    >>> session.run([v.assign(0.0), update])[0]
    np.float32(0.0)
    >>> session.run(average.average(v))
    np.float32(4.0)
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Variable] = {}
        self._debiased: dict[Any, tuple[Variable, Variable]] = {}

    @property
    def name(self) -> str:
        """The suffix of the names of averages."""
        return self._name

    def apply(self, var_list: Sequence[Any] | None = None) -> Operation:
        """Return an operation that updates the averages of `var_list`.

        Missing averages are created, and are not trainable. The average of a variable starts at the
        value that the variable has when the average is initialized. The average of a tensor starts
        at zeros. The variables in `var_list` are added to the collection MOVING_AVERAGE_VARIABLES.

        Raises TypeError if a dtype is not floating-point.

        Args:
          var_list: variables and tensors, by default all trainable variables.
        """
        graph = get_default_graph()
        sources = list(trainable_variables() if var_list is None else var_list)
        for source in sources:
            if not source.dtype.base_dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {source.name}")
            if source not in self._averages:
                self._averages[source] = self._new_average(graph, source)
        with graph.name_scope(self._name) as scope:
            decay = self._current_decay()
            updates = [self._update(graph, source, decay) for source in sources]
            return group(*updates, name=scope)

    def _new_average(self, graph: Graph, source: Any) -> Variable:
        name = name_in_variable_scope(f"{source.op.name}/{self._name}")
        with graph.name_scope(None), graph.control_dependencies(None):
            if not isinstance(source, Variable):
                return self._zeros(name, source)
            with graph.colocate_with(source.op):
                average = Variable(
                    source.initialized_value(),
                    trainable=False,
                    name=name,
                    use_resource=isinstance(source, ResourceVariable),
                )
        graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, source)
        return average

    def _zeros(self, name: str, like: Any) -> Variable:
        shape, dtype = like.shape, like.dtype.base_dtype
        return Variable(lambda: zeros(shape, dtype), trainable=False, name=name)

    def _current_decay(self) -> Tensor:
        known = None if isinstance(self._decay, Tensor) else dtypes.float32
        decay = convert_to_tensor(self._decay, known, name="decay")
        if self._num_updates is None:
            return decay
        count = cast(self._num_updates, dtypes.float32, name="num_updates")
        return minimum(decay, (1.0 + count) / (10.0 + count))

    def _update(self, graph: Graph, source: Any, decay: Tensor) -> Tensor:
        average = self._averages[source]

        def move(value: Any) -> Tensor:
            return self._moved(graph, source, value, decay)

        return _over_replicas(average, convert_to_tensor(source), move)

    def _moved(self, graph: Graph, source: Any, value: Any, decay: Tensor) -> Tensor:
        average = self._averages[source]
        with graph.name_scope("AssignMovingAvg") as scope:
            rest = cast(1.0 - decay, average.dtype.base_dtype)
            if not self._zero_debias or isinstance(source, Variable):
                return assign_sub(average, (average.value() - value) * rest, name=scope)
            if source not in self._debiased:
                self._debiased[source] = self._new_counts(graph, average)
            return _update_unbiased(average, *self._debiased[source], value, rest, scope)

    def _new_counts(self, graph: Graph, average: Variable) -> tuple[Variable, Variable]:
        name, dtype = name_in_variable_scope(average.op.name), average.dtype.base_dtype
        with graph.name_scope(None), graph.control_dependencies(None):
            with graph.colocate_with(average.op):
                biased = self._zeros(f"{name}/biased", average)
                steps = Variable(
                    lambda: zeros([], dtype), trainable=False, name=f"{name}/local_step"
                )
        return biased, steps

    def average(self, var: Any) -> Variable | None:
        """Return the variable that contains the average of `var`, or None if there is no
        average.
        """
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """Return the name that the average of `var` has in checkpoints. The average need not exist
        yet.
        """
        if var in self._averages:
            return self._averages[var].op.name
        scope = get_default_graph().get_name_scope()
        return f"{scope}/{var.op.name}/{self._name}" if scope else f"{var.op.name}/{self._name}"

    def variables_to_restore(
        self, moving_avg_variables: Sequence[Variable] | None = None
    ) -> dict[str, Variable]:
        """Return a dict for a Saver. The Saver then restores the saved averages into the variables.

        The keys are names in a checkpoint, and the values are variables. If a variable has no
        average, its key is its own name.

        Args:
          moving_avg_variables: the variables that have averages. By default, they are all variables
            that are trainable or in the collection MOVING_AVERAGE_VARIABLES.
        """
        if moving_avg_variables is None:
            moving_avg_variables = [*trainable_variables(), *moving_average_variables()]
        averaged = list(dict.fromkeys(moving_avg_variables))
        variables = {self.average_name(variable): variable for variable in averaged}
        names = {variable.name for variable in averaged}
        for variable in global_variables():
            if variable.name not in names:
                variables.setdefault(variable.op.name, variable)
        return variables
