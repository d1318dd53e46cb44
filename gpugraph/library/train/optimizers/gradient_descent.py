"""Gradient descent, plain and with momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.library.train.optimizers.optimizer_settings import OneOpUpdate
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.state.change_by_handle import change


class GradientDescentOptimizer(OneOpUpdate, Optimizer):
    """Gradient descent. A step is var -= learning_rate * gradient.

    >>> v = tf.Variable(4.0)
    >>> train = tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(v))
    >>> session.run(v.initializer)
    >>> session.run(train)
    >>> session.run(v)
    np.float32(2.0)
    """

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        settings = {"learning_rate": learning_rate}
        super().__init__("GradientDescent", [], settings, use_locking, name)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Any:
        """Subtract the gradient's rows, multiplied by the learning rate, from the variable's rows.
        If a row occurs several times in the gradient, all its gradients are subtracted.
        """
        rate = cast(self._tensors["learning_rate"], grad.dtype.base_dtype)
        step = raw_ops.Mul(grad.values, rate, name="mul")
        delta = IndexedSlices(step, grad.indices, grad.dense_shape)
        return var.scatter_sub(delta, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Variable, indices: Tensor
    ) -> Any:
        step = -grad * cast(self._tensors["learning_rate"], grad.dtype.base_dtype)
        return change("ScatterAdd", handle._ref(), indices, step)


class MomentumOptimizer(OneOpUpdate, Optimizer):
    """Gradient descent with momentum. A step is accum = momentum * accum + gradient, then var -=
    learning_rate * accum. If `use_nesterov` is true, Nesterov's form of the second part is used.

    The slot "momentum" contains accum. Source: Sutskever et al., 2013.

    >>> v = tf.Variable(4.0)
    >>> train = tf.train.MomentumOptimizer(0.25, momentum=0.9).minimize(tf.square(v))
    >>> session.run(tf.global_variables_initializer())
    >>> session.run(train)
    >>> session.run(v)
    np.float32(2.0)
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        settings = {"learning_rate": learning_rate, "momentum": momentum}
        super().__init__("Momentum", ["momentum"], settings, use_locking, name)
        self._use_nesterov = use_nesterov

    def _change(self, kind: str, var: Variable, grad: Sequence[Tensor]) -> Any:
        """Create the op `<kind>Momentum`. The gradient is its input between the learning rate and
        the momentum.
        """
        rate, momentum = self._numbers(var)
        return change(
            f"{kind}Momentum",
            var._ref(),
            self._own_slot(var, "momentum")._ref(),
            rate,
            *grad,
            momentum,
            use_locking=self._use_locking,
            use_nesterov=self._use_nesterov,
        )
