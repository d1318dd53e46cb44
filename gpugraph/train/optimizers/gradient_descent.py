"""Plain gradient descent, and with momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.state.change_by_handle import change
from gpugraph.train.optimizers.optimizer import Optimizer
from gpugraph.variables import Variable


class GradientDescentOptimizer(Optimizer):
    """var -= learning_rate * gradient."""

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self) -> None:
        self._rate = convert_to_tensor(
            self._call_if_callable(self._learning_rate), name="learning_rate"
        )

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        return change(
            "ApplyGradientDescent",
            var._ref(),
            cast(self._rate, var.dtype.base_dtype),
            grad,
            use_locking=self._use_locking,
        )

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Any:
        """Rows that come several times are subtracted several times."""
        step = raw_ops.Mul(grad.values, cast(self._rate, grad.dtype.base_dtype), name="mul")
        delta = IndexedSlices(step, grad.indices, grad.dense_shape)
        return var.scatter_sub(delta, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Variable, indices: Tensor
    ) -> Any:
        step = -grad * cast(self._rate, grad.dtype.base_dtype)
        return change("ScatterAdd", handle._ref(), indices, step)


class MomentumOptimizer(Optimizer):
    """accum = momentum * accum + gradient; var -= learning_rate * accum (or Nesterov's form).

    Slot: "momentum". Source: Sutskever et al., 2013.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "momentum", self._name)

    def _prepare(self) -> None:
        self._rate = convert_to_tensor(
            self._call_if_callable(self._learning_rate), name="learning_rate"
        )
        self._factor = convert_to_tensor(self._call_if_callable(self._momentum), name="momentum")

    def _change(self, op_type: str, var: Variable, *grad: Tensor) -> Any:
        dtype = var.dtype.base_dtype
        return change(
            op_type,
            var._ref(),
            self._slots["momentum"][var]._ref(),
            cast(self._rate, dtype),
            *grad,
            cast(self._factor, dtype),
            use_locking=self._use_locking,
            use_nesterov=self._use_nesterov,
        )

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        return self._change("ApplyMomentum", var, grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        """Momentum changes only in the rows that have a gradient."""
        return self._change("SparseApplyMomentum", var, grad.values, grad.indices)
