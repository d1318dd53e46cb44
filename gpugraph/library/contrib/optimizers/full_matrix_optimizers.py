"""Optimizers that multiply the gradient by roots of matrices of past gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.building.control_flow.cond import cond
from gpugraph.building.variables import Variable
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.optimizers.matrix_roots import inverse_root, square_root
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import zeros, zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape, transpose
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.elementwise.arithmetic_functions import maximum, minimum, pow as power
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.elementwise.division import floormod
from gpugraph.ops.elementwise.unary_functions import sqrt
from gpugraph.ops.indexing.coordinate_gather_scatter import scatter_nd
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.matrix_compositions import eye
from gpugraph.ops.linalg.svd_qr_eigh import svd
from gpugraph.ops.linalg.tensordot import tensordot
from gpugraph.ops.reductions.reduction_functions import reduce_min, reduce_sum
from gpugraph.ops.state.scatter_updates import scatter_add, scatter_update
from gpugraph.platform import logging

Number = Any
"""A number, or a function from the step to a number."""


def _sizes(variable: Variable) -> list[int]:
    """Return the shape of a variable. Raises ValueError if it is unknown."""
    return [int(size) for size in variable.shape.as_list() if size is not None]


def _at(value: Number, step: Any) -> Any:
    return value(step) if callable(value) else value


class ShampooOptimizer(Optimizer):
    """Adagrad with a matrix for each axis of a variable (Gupta et al., 2018, arXiv:1802.09568).

    For each axis j, the matrix G_j is the sum over steps of the products of the gradient with
    itself, contracted over all other axes. A step multiplies the gradient, along each axis, by
    G_j^(-alpha / rank). The slot "gbar" contains the momentum, and the slots "Gbar_0", "Gbar_1" and
    so on contain the matrices. If `svd_interval` is above 1, the slots "H_0", "H_1" and so on
    contain the powers of the matrices. All settings except `max_matrix_size` and `epsilon` may be
    functions of the step.

    Args:
      global_step: the variable that counts the training steps.
      max_matrix_size: the maximum size of an axis with a matrix. For a longer axis, only the
        diagonal of the matrix is stored, as a vector.
      gbar_decay, gbar_weight: gbar = gbar_decay * gbar + gbar_weight * gradient.
      mat_gbar_decay, mat_gbar_weight: G_j = mat_gbar_decay * G_j + mat_gbar_weight * products.
      svd_interval: the number of steps between computations of powers.
      precond_update_interval: the number of steps between updates of the matrices.
      epsilon: a number that is added to the diagonals.
      alpha: the sum of the powers over all axes.
      use_iterative_root: whether powers are computed with iterations of matrix products, instead of
        a singular value decomposition.
    """

    def __init__(
        self,
        global_step: Any = 0,
        max_matrix_size: int = 768,
        gbar_decay: Number = 0.0,
        gbar_weight: Number = 1.0,
        mat_gbar_decay: Number = 1.0,
        mat_gbar_weight: Number = 1.0,
        learning_rate: Number = 1.0,
        svd_interval: Number = 1,
        precond_update_interval: Number = 1,
        epsilon: float = 1e-4,
        alpha: Number = 0.5,
        use_iterative_root: bool = False,
        use_locking: bool = False,
        name: str = "Shampoo",
    ) -> None:
        super().__init__(use_locking, name)
        self._global_step = cast(global_step, "float32")
        self._max_matrix_size, self._epsilon, self._alpha = max_matrix_size, epsilon, alpha
        self._gbar_decay, self._gbar_weight = gbar_decay, gbar_weight
        self._mat_gbar_decay, self._mat_gbar_weight = mat_gbar_decay, mat_gbar_weight
        self._learning_rate = learning_rate
        self._svd_interval, self._precond_update_interval = svd_interval, precond_update_interval
        self._use_iterative_root = use_iterative_root

    def _keeps_powers(self) -> bool:
        return callable(self._svd_interval) or self._svd_interval > 1

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            dtype = variable.dtype.base_dtype
            self._zeros_slot(variable, "gbar", self._name)
            for axis, size in enumerate(_sizes(variable)):
                if size > self._max_matrix_size:
                    initial = zeros([size], dtype)
                else:
                    initial = zeros([size, size], dtype)
                    if self._keeps_powers():
                        self._get_or_make_slot(
                            variable, eye(size, dtype=dtype), f"H_{axis}", self._name
                        )
                self._get_or_make_slot(variable, initial, f"Gbar_{axis}", self._name)

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        return self._step(grad, var, None)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        """Change the rows with gradients, if the first axis has no matrix and there is no momentum.
        Otherwise change the whole variable.
        """
        size = _sizes(var)[0]
        if size <= self._max_matrix_size or self._gbar_decay != 0.0:
            rows = expand_dims(cast(grad.indices, "int32"), 1)
            shape = np.array(var.shape.as_list(), np.int32)
            return self._step(scatter_nd(rows, grad.values, shape), var, None)
        return self._step(grad.values, var, grad.indices)

    def _averaged(self, slot: Variable, decay: Number, decay_now: Any, new: Any) -> Any:
        """Update a slot: slot = decay * slot + new. Return its new value. If `decay` is 0, the slot
        is not used.
        """
        if isinstance(decay, (int, float)) and decay == 0.0:
            return new
        if isinstance(decay, (int, float)) and decay == 1.0:
            return slot.assign_add(new)
        return slot.assign_add((decay_now - 1.0) * slot.value() + new)

    def _step(self, grad: Any, var: Variable, rows: Any) -> Any:
        step = self._global_step + 1.0
        direction = grad
        if rows is None:
            weighted = _at(self._gbar_weight, step) * grad
            decay = _at(self._gbar_decay, step)
            direction = self._averaged(
                self._own_slot(var, "gbar"), self._gbar_decay, decay, weighted
            )
        elif self._gbar_decay != 0.0:
            logging.warning("Not applying momentum for variable: %s", var.name)
        sizes = _sizes(var)
        exponent = -_at(self._alpha, step) / len(sizes)
        for axis, size in enumerate(sizes):
            if size <= self._max_matrix_size:
                root = self._matrix_power(var, grad, axis, size, exponent, step)
                direction = tensordot(direction, root, axes=([0], [0]))
            else:
                scale = self._vector_power(var, grad, axis, rows, exponent, step)
                order = [*range(1, len(sizes)), 0]
                direction = transpose(direction, perm=order) * scale
        change = _at(self._learning_rate, step) * direction
        if rows is not None:
            return scatter_add(var, rows, -change)
        return var.assign_sub(change, use_locking=self._use_locking)

    def _matrix_power(
        self, var: Variable, grad: Any, axis: int, size: int, exponent: Any, step: Any
    ) -> Any:
        matrix = self._own_slot(var, f"Gbar_{axis}")
        others = [other for other in range(len(var.shape)) if other != axis]
        interval = _at(self._precond_update_interval, step)

        def updated() -> Any:
            products = tensordot(grad, grad, axes=(others, others))
            weight = _at(self._mat_gbar_weight, step) * interval
            decay = _at(self._mat_gbar_decay, step)
            return self._averaged(matrix, self._mat_gbar_decay, decay, weight * products)

        def is_time(every: Any) -> Any:
            return floormod(step, cast(every, "float32")) < 1.0

        mean = cond(is_time(interval), updated, matrix.value) / float(size)
        if not self._keeps_powers():
            return self._power(mean, size, exponent)
        kept = self._own_slot(var, f"H_{axis}")
        return cond(
            is_time(_at(self._svd_interval, step)),
            lambda: kept.assign(self._power(mean, size, exponent)),
            kept.value,
        )

    def _power(self, matrix: Any, size: int, exponent: Any) -> Any:
        if self._use_iterative_root:
            root = square_root(matrix, size, ridge=self._epsilon)
            return inverse_root(root, size, 2 * exponent)
        if size == 1:
            return power(matrix + self._epsilon, exponent)
        values, _, right = svd(matrix + self._epsilon * eye(size), full_matrices=True)
        powers = power(maximum(values, self._epsilon), exponent)
        return matmul(right * powers, right, transpose_b=True)

    def _vector_power(
        self, var: Variable, grad: Any, axis: int, rows: Any, exponent: Any, step: Any
    ) -> Any:
        slot = self._own_slot(var, f"Gbar_{axis}")
        sizes = _sizes(var)
        others = [other for other in range(len(sizes)) if other != axis]
        squares = grad * grad
        if others:
            count = 1.0 if rows is not None else float(sizes[axis])
            squares = reduce_sum(squares, axis=others) / count
        weighted = _at(self._mat_gbar_weight, step) * squares
        if axis == 0 and rows is not None:
            sums = gather(scatter_add(slot, rows, weighted), rows)
        else:
            decay = _at(self._mat_gbar_decay, step)
            sums = self._averaged(slot, self._mat_gbar_decay, decay, weighted)
        return where(sums > 0.0, power(sums, exponent), zeros_like(sums))


class GGTOptimizer(Optimizer):
    """Full-matrix Adagrad over a window of past gradients (Agarwal et al., 2018, arXiv:1806.02958).

    All variables form one vector. The momentum of this vector is kept for the last `window` steps.
    Sparse gradients raise NotImplementedError.

    Args:
      beta1: the decay of the momentum.
      window: the number of steps that are kept.
      eps: a bound. The part of the momentum outside of the window's span is used only if the
        smallest singular value exceeds this bound.
      svd_eps: a number that is added to the diagonal before the decomposition.
      sigma_eps: a number that is added to the singular values.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        use_locking: bool = False,
        name: str = "GGT",
        window: int = 10,
        eps: Any = 1e-4,
        svd_eps: Any = 1e-6,
        sigma_eps: Any = 1e-2,
    ) -> None:
        super().__init__(use_locking, name)
        self._numbers: dict[str, Any] = {
            "lr": learning_rate, "beta1": beta1, "eps": eps, "svd_eps": svd_eps,
            "sigma_eps": sigma_eps,
        }  # fmt: skip
        self._window = window
        self._gradients: list[tuple[Variable, Tensor]] = []

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        first, self._gradients = var_list[0], []
        total = sum(int(np.prod(_sizes(variable))) for variable in var_list)
        dtype = first.dtype.base_dtype
        initial: dict[str, Callable[[], Any]] = {
            "global_step": lambda: cast(0.0, dtype),
            "grad_buffer": lambda: zeros([self._window, total], dtype),
            "moment1": lambda: zeros([total], dtype),
            "flat_grad": lambda: zeros([total], dtype),
        }
        for name, make in initial.items():
            self._create_non_slot_variable(make(), name, first)

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        self._gradients.append((var, grad))
        return group(grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _variable(self, name: str) -> Variable:
        variable = self._get_non_slot_variable(name, self._gradients[0][0].graph)
        assert variable is not None
        return variable

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Operation:
        pairs = sorted(self._gradients, key=lambda pair: pair[0].name)
        dtype = pairs[0][0].dtype.base_dtype
        number = {
            name: cast(self._call_if_callable(value), dtype)
            for name, value in self._numbers.items()
        }
        flat = concat([reshape(grad, [-1]) for _, grad in pairs], axis=0)
        gradient = self._variable("flat_grad").assign(flat)
        step = self._variable("global_step").assign_add(1.0)
        moment, beta1 = self._variable("moment1"), number["beta1"]
        mean = moment.assign(beta1 * moment.value() + (1.0 - beta1) * gradient)
        row = floormod(cast(step - 1.0, "int32"), self._window)
        buffer = scatter_update(self._variable("grad_buffer"), row, mean)
        count = minimum(step, cast(float(self._window), dtype))
        direction = self._direction(transpose(buffer / sqrt(count)), expand_dims(mean, 1), number)
        changes, start = [], 0
        for variable, _ in pairs:
            end = start + int(np.prod(_sizes(variable)))
            change = reshape(direction[start:end], variable.shape.as_list())
            changes.append(variable.assign_sub(number["lr"] * change))
            start = end
        return super()._finish([*update_ops, *changes], name_scope)

    def _direction(self, past: Any, mean: Any, number: dict[str, Any]) -> Any:
        """Return (past past^T)^(-1/2) mean, a column.

        Args:
          past: the kept momentums as columns.
          mean: the momentum, a column.
        """
        damping = number["svd_eps"] * eye(self._window, dtype=mean.dtype)
        values, left, _ = svd(matmul(past, past, transpose_a=True) + damping)
        roots = sqrt(values)
        smallest = reduce_min(roots)
        coordinates = matmul(left, matmul(past, mean, transpose_a=True), transpose_a=True)

        def back(factors: Any) -> Any:
            return matmul(past, matmul(left, expand_dims(factors, 1) * coordinates))

        inside = back(1.0 / power(roots + number["sigma_eps"], 3.0))
        outside = (mean - back(1.0 / values)) / smallest
        return cond(smallest > number["eps"], lambda: inside + outside, lambda: inside + 0.0)
