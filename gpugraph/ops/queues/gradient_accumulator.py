"""Accumulators of dense and sparse gradients, the objects to which accumulator handles refer.

Each gradient comes with a step number, and is dropped if this number is less than the accumulator's
step number. Each take increments the accumulator's step number. A take waits until the required
number of gradients has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import CancelledError, invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.ops.queues.waiting_attempts import Attempt, Attempts
from gpugraph.platform.logging import warning


class AccumulatorKind(NamedTuple):
    """The properties of an accumulator, which must be the same in all nodes that share it."""

    op_type: str
    averages: bool
    """Whether a take returns the average rather than the sum."""
    dtype: DType
    shape: TensorShape


class DenseAccumulator(Attempts):
    """An accumulator that computes the sum or the average of dense gradients."""

    def __init__(self, kind: AccumulatorKind, name: str) -> None:
        super().__init__(1)
        self.kind = kind
        self.name = name
        self.step = 0
        self.count = 0
        self.closed = False
        self._sum: Any = None

    def set_step(self, step: int) -> None:
        """Set the accumulator's step number. From now on, gradients with a smaller step number are
        dropped.
        """
        with self.lock:
            if step < self.step:
                warning(
                    "Attempt to set current_global_step_ to smaller value: "
                    f"current_global_step_ = {self.step} >= {step} = new_global_step."
                )
            self.step = step

    def close(self) -> None:
        """Close the accumulator. Waiting and later takes then raise CancelledError."""
        with self.lock:
            self.closed = True
            self.proceed()

    def apply(self, step: int, gradient: Any) -> None:
        """Add a gradient. If its step number is less than the accumulator's, ignore it, even if its
        shape is wrong.
        """
        with self.lock:
            if step < self.step:
                return
            self._check(gradient)
            self._add(gradient)
            self.count += 1
            self.proceed()

    def take(self, required: int) -> Any:
        """Wait until there are `required` gradients. Return their sum or average, remove them, and
        increment the accumulator's step number.

        Raises InvalidArgumentError if `required` is not positive, and CancelledError if the
        accumulator is closed.
        """
        if required <= 0:
            raise invalid_argument(f"Argument num_required must be positive, but was {required}")

        def try_once(attempt: Attempt) -> bool:
            if self.closed:
                message = f"Accumulator '{self.name}' is closed."
                return attempt.end(error=CancelledError.of_no_node(message))
            if self.count < required:
                return False
            result = self._result()
            self.count, self._sum = 0, None
            self.step += 1
            return attempt.end(result)

        return self.make(Attempt(try_once), 0, "TakeGrad")

    def _check(self, gradient: Any) -> None:
        """Raise InvalidArgumentError unless a gradient has the declared shape. If no shape is
        declared, all gradients must have the shape of the first gradient.
        """
        known = self.kind.shape if self._sum is None else TensorShape.of(self._sum.shape)
        _check_shape(known, gradient.shape)

    def _add(self, gradient: Any) -> None:
        if self._sum is None:
            self._sum = gradient.copy()
        else:
            self._sum += gradient

    def _result(self) -> Any:
        if self.kind.averages:
            return (self._sum / self._sum.dtype.type(self.count)).astype(self._sum.dtype)
        return self._sum


def _check_shape(known: TensorShape, shape: Sequence[int]) -> None:
    if not known.is_compatible_with(TensorShape.of(tuple(shape))):
        raise invalid_argument(
            f"Shape mismatch: expected {shape_text(known)}, got {shape_text(shape)}"
        )


def _check_sizes(tensor_name: str, known: Sequence[int | None], sizes: Sequence[int]) -> None:
    """Raise InvalidArgumentError unless `sizes` has as many sizes as `known`, and each known size
    is equal.

    Args:
      tensor_name: the name of the tensor in messages.
    """
    if len(sizes) != len(known):
        raise invalid_argument(
            f"Shape mismatch: expected {tensor_name} rank at least {len(known)}, got {len(sizes)}"
        )
    for axis, (size, actual) in enumerate(zip(known, sizes)):
        if size not in (None, actual):
            raise invalid_argument(
                f"Shape mismatch: expected {tensor_name} dim {axis} to be {size}, got {actual}"
            )


SparseGradient = tuple[Any, Any, Any]
"""A sparse gradient: the indices of the rows, the rows, and the dense shape, or None if unknown."""


class SparseAccumulator(DenseAccumulator):
    """An accumulator of sparse gradients that computes, for each row, the sum or the average of the
    gradients that have this row.
    """

    def __init__(self, kind: AccumulatorKind, name: str) -> None:
        super().__init__(kind, name)
        self._parts: list[SparseGradient] = []

    def _check(self, gradient: SparseGradient) -> None:
        indices, values, shape = gradient
        if indices.ndim != 1:
            raise invalid_argument(
                f"Input indices should be vector but received shape: {shape_text(indices.shape)}"
            )
        if not values.ndim:
            raise invalid_argument("Values cannot be 0-dimensional.")
        if len(values) != len(indices):
            raise invalid_argument(
                f"Expected {len(indices)} non-empty input values, got {len(values)}"
            )
        known = self.kind.shape.as_list() if self.kind.shape.rank is not None else None
        if known is None and self._parts:
            known = [None, *self._parts[0][1].shape[1:]]
        if known is not None:
            _check_sizes("values", [None, *known[1:]], values.shape)
            if shape is not None:
                _check_sizes("shape", known, shape)
        rows = _rows(known, shape)
        outside = (indices < 0) | (False if rows is None else indices >= rows)
        if outside.any():
            place = int(outside.argmax())
            raise invalid_argument(
                f"Shape mismatch: index of slice {place} exceeded limits of shape; index is "
                f"{indices[place]} exceeded {rows}"
            )

    def _add(self, gradient: SparseGradient) -> None:
        indices, values, shape = gradient
        self._parts.append((indices.copy(), values.copy(), shape))

    def _result(self) -> list[Any]:
        parts, self._parts = self._parts, []
        indices = np.concatenate([part[0] for part in parts])
        values = np.concatenate([part[1] for part in parts])
        rows, places = np.unique(indices, return_inverse=True)
        sums = np.zeros((len(rows), *values.shape[1:]), values.dtype)
        np.add.at(sums, places.reshape(-1), values)
        if self.kind.averages:
            counts = sum(np.isin(rows, part[0]).astype(values.dtype) for part in parts)
            sums /= np.reshape(counts, (-1,) + (1,) * (values.ndim - 1))
        return [rows, sums, self._shape_of(parts, values)]

    def _shape_of(self, parts: Sequence[SparseGradient], values: Any) -> Any:
        """Return the dense shape: the declared shape, or the shape of a gradient, or a shape with
        -1 as the number of rows.
        """
        known = self.kind.shape
        if known.rank is not None:
            return np.array([-1 if size is None else size for size in known.as_list()], np.int64)
        for _, _, shape in parts:
            if shape is not None:
                return np.array(shape, np.int64)
        return np.array([-1, *values.shape[1:]], np.int64)


def _rows(known: Sequence[int | None] | None, shape: Any) -> int | None:
    """Return the declared number of rows or, if it is unknown, the number of rows in a gradient's
    dense shape. If both are unknown, return None.
    """
    if known and known[0] is not None:
        return known[0]
    return int(shape[0]) if shape is not None and len(shape) else None
