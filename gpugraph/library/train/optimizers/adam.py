"""Adam (Kingma and Ba, 2015). The learning rate is corrected for bias, as in section 2 of the
paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.library.train.optimizers.optimizer_settings import OneOpUpdate
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.elementwise.unary_functions import sqrt
from gpugraph.ops.state.scatter_updates import scatter_add


class AdamOptimizer(OneOpUpdate, Optimizer):
    """The Adam optimizer. A step is var -= lr_t * m / (sqrt(v) + epsilon), where m and v are
    running means of the gradient and of its square.

    lr_t is learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) in step t. The slots are "m" and "v".

    >>> v = tf.Variable(4.0)
    >>> train = tf.train.AdamOptimizer(0.5).minimize(tf.square(v))
    >>> session.run(tf.global_variables_initializer())
    >>> session.run(train)
    >>> session.run(v)
    np.float32(3.5)
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        settings = {
            "learning_rate": learning_rate,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
        }
        super().__init__("Adam", ["m", "v"], settings, use_locking, name)

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        first = min(var_list, key=lambda variable: variable.name)
        for name in ("beta1", "beta2"):
            value = self._call_if_callable(self._settings[name])
            self._create_non_slot_variable(value, f"{name}_power", first)
        super()._create_slots(var_list)

    def _powers(self, graph: Graph) -> list[Variable]:
        variables = [
            self._get_non_slot_variable(f"{name}_power", graph) for name in ("beta1", "beta2")
        ]
        return [power for power in variables if power is not None]

    def _numbers(self, var: Variable) -> list[Any]:
        dtype = var.dtype.base_dtype
        powers = [
            power if power.dtype.base_dtype is dtype else cast(power.value(), dtype)
            for power in self._powers(var.graph)
        ]
        return [*powers, *super()._numbers(var)]

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        """Update all rows.

        In rows without a gradient, m and v decay as if the gradient were zero.
        """
        dtype = var.dtype.base_dtype
        power1, power2 = (cast(power.value(), dtype) for power in self._powers(var.graph))
        rate, beta1, beta2, epsilon = (cast(self._tensors[name], dtype) for name in self._settings)
        rate = rate * sqrt(1.0 - power2) / (1.0 - power1)
        m = self._decay_slot(var, "m", beta1, grad.indices, grad.values * (1.0 - beta1))
        squares = (grad.values * grad.values) * (1.0 - beta2)
        v = self._decay_slot(var, "v", beta2, grad.indices, squares)
        root = sqrt(v)
        step = var.assign_sub(rate * m / (root + epsilon), use_locking=self._use_locking)
        return group(step, m, v)

    def _decay_slot(
        self, var: Variable, name: str, beta: Tensor, rows: Tensor, new: Tensor
    ) -> Tensor:
        """Multiply the slot `name` by `beta`, add `new` to its `rows`, and return the result."""
        slot = self._own_slot(var, name)
        decay = slot.assign(slot.value() * beta, use_locking=self._use_locking)
        with var.graph.control_dependencies([decay]):
            return scatter_add(slot, rows, new, use_locking=self._use_locking)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Operation:
        """After all updates, multiply the variable that holds the power of beta1 by beta1, and the
        variable that holds the power of beta2 by beta2.
        """
        graph = get_default_graph()
        powers = self._powers(graph)
        done = []
        with graph.control_dependencies(update_ops), graph.colocate_with(powers[0].op):
            for power, name in zip(powers, ("beta1", "beta2")):
                factor = cast(self._tensors[name], power.dtype.base_dtype)
                done.append(power.assign(power.value() * factor, self._use_locking))
        return super()._finish([*update_ops, *done], name_scope)
