"""The accumulator classes: tf.ConditionalAccumulator and tf.SparseConditionalAccumulator."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_REDUCTIONS = ("MEAN", "SUM")


def _check_reduction(op_type: str, reduction_type: str) -> str:
    if reduction_type not in _REDUCTIONS:
        raise ValueError(
            f"Attr 'reduction_type' of '{op_type}' Op passed string '{reduction_type}' not in: "
            '"MEAN", "SUM".'
        )
    return reduction_type


def _step(value: Any) -> Tensor:
    return cast(convert_to_tensor(value), dtypes.int64)


class ConditionalAccumulatorBase:
    """An object that collects gradients from several runs until a run takes their average or sum.

    Each gradient comes with a step number, and is dropped if this number is less than the
    accumulator's step number. Each take increments the accumulator's step number.

    Args:
      dtype: the dtype of the gradients.
      shape: the shape of the gradients.
      accumulator_ref: the accumulator's handle.
    """

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        if not isinstance(accumulator_ref, Tensor):
            raise TypeError(f"accumulator_ref must be a tensor, but it is {accumulator_ref!r}")
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape.of(None) if shape is None else as_shape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self) -> Tensor:
        """The accumulator's handle."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name of the accumulator, without its scope."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The gradients' dtype."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """Return the number of gradients that were collected since the last take, an int32
        scalar.
        """
        tensor: Tensor = raw_ops.AccumulatorNumAccumulated(
            self._accumulator_ref, name=name or f"{self._name}_NumAccumulated"
        )
        return tensor

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """Return an operation that sets the accumulator's step number. Gradients with a smaller
        step number are then dropped.
        """
        operation: Operation = raw_ops.AccumulatorSetGlobalStep(
            self._accumulator_ref, _step(new_global_step), name=name
        )
        return operation


def close_accumulator(accumulator: ConditionalAccumulatorBase) -> Operation:
    """Return an operation that closes an accumulator. All waiting and later takes then fail with
    CancelledError.
    """
    operation: Operation = raw_ops.AccumulatorClose(accumulator.accumulator_ref)
    return operation


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of dense gradients. A take returns their average ("MEAN") or their sum
    ("SUM").

    Args:
      shape: the shape of the gradients. If it is None, all gradients must have the shape of the
        first gradient.
      reduction_type: "MEAN" or "SUM".
      shared_name: the name under which several accumulators in a session share their gradients.
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        _check_reduction("ConditionalAccumulator", reduction_type)
        handle = raw_ops.ConditionalAccumulator(
            dtype=dtype,
            shape=as_shape(shape),
            shared_name=shared_name,
            name=name,
            reduction_type=reduction_type,
        )
        super().__init__(dtype, shape, handle)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """Return an operation that adds a gradient, or drops it if it is outdated.

        Raises ValueError if the gradient does not have the accumulator's dtype or shape.

        Args:
          local_step: the gradient's step number. If it is less than the accumulator's step number,
            the gradient is outdated.
        """
        gradient = convert_to_tensor(grad, self._dtype)
        gradient.get_shape().assert_is_compatible_with(self._shape)
        operation: Operation = raw_ops.AccumulatorApplyGradient(
            self._accumulator_ref, _step(local_step), gradient, name=name
        )
        return operation

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """Return the average or the sum of the gradients. The run waits until there are
        `num_required` gradients.

        The take empties the accumulator and increments its step number. A run raises
        InvalidArgumentError if `num_required` is not positive.
        """
        gradient: Tensor = raw_ops.AccumulatorTakeGradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        gradient.set_shape(self._shape)
        return gradient


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of sparse gradients. A take returns, for each row, the average ("MEAN") or the
    sum ("SUM") of the gradients.

    The average of a row includes only the gradients that have this row. A gradient is passed as
    indices, values and a shape, or as IndexedSlices. See `ConditionalAccumulator` for the
    parameters.
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        _check_reduction("SparseConditionalAccumulator", reduction_type)
        handle = raw_ops.SparseConditionalAccumulator(
            dtype=dtype, shape=as_shape(shape), shared_name=shared_name, name=name,
            reduction_type=reduction_type,
        )  # fmt: skip
        super().__init__(dtype, shape, handle)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None
    ) -> Operation:
        """Return an operation that adds a gradient in the form of an IndexedSlices."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Operation:
        """Return an operation that adds the rows of a gradient, or drops them if `local_step` is
        less than the accumulator's step number.

        Args:
          grad_indices: the indices of the rows, int64 [n].
          grad_values: the rows of the gradient, [n, ...].
          grad_shape: the shape of the dense gradient, or None if it is unknown.
        """
        has_shape = grad_shape is not None
        operation: Operation = raw_ops.SparseAccumulatorApplyGradient(
            self._accumulator_ref,
            _step(local_step),
            cast(convert_to_tensor(grad_indices), dtypes.int64),
            convert_to_tensor(grad_values, self._dtype),
            cast(convert_to_tensor(grad_shape), dtypes.int64)
            if has_shape
            else np.zeros(0, np.int64),
            has_known_shape=has_shape,
            name=name,
        )
        return operation

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """Return (indices, values, shape) of the average or the sum. The run waits until there are
        `num_required` gradients.

        The rows are sorted by index, without duplicates. An unknown size in the shape is -1.
        """
        return raw_ops.SparseAccumulatorTakeGradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """Return the result of `take_grad` as IndexedSlices."""
        gradient = self.take_grad(num_required, name)
        return IndexedSlices(gradient.values, gradient.indices, dense_shape=gradient.shape)
