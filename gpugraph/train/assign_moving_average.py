"""One step of a variable towards a value, as batch normalization and programs take it."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.elementwise.arithmetic_functions import pow
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.variable_initializers import Zeros
from gpugraph.ops.state.reference_variable_ops import assign_add, assign_sub
from gpugraph.variable_scope import get_variable, variable_scope


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Tensor:
    """The op of variable = variable * decay + value * (1 - decay).

    zero_debias: whether the average is corrected for having started at zero, with two variables
      under the name of this one: `biased`, the plain average, and `local_step`, the number of
      updates. Source: Kingma and Ba, 2014 (arXiv:1412.6980).
    """
    graph = get_default_graph()
    dtype = variable.dtype.base_dtype
    with op_scope(name, "AssignMovingAvg", variable) as scope, graph.colocate_with(variable.op):
        rate = cast(convert_to_tensor(1.0 - decay, name="decay"), dtype)
        target = cast(convert_to_tensor(value), dtype)
        if zero_debias:
            return assign_sub(variable, _unbiased_step(variable, target, rate), name=scope)
        return assign_sub(variable, (variable - target) * rate, name=scope)


def _unbiased_step(variable: Any, value: Tensor, rate: Tensor) -> Tensor:
    """What is to be subtracted from the variable to make it the unbiased average."""
    with variable_scope(variable.op.name, values=[variable, value, rate]):
        options = {"dtype": variable.dtype.base_dtype, "trainable": False, "initializer": Zeros()}
        biased = get_variable("biased", variable.shape.as_list(), **options)
        steps = get_variable("local_step", [], **options)
    moved = assign_sub(biased, (biased - value) * rate)
    count = assign_add(steps, 1.0)
    difference: Tensor = variable - moved / (1.0 - pow(1.0 - rate, count))
    return difference
