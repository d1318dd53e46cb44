"""ElementArray, which holds the elements of a TensorArray during a run.

TensorFlow's rules apply. An element is written only once. If reads clear elements, an element is
also read only once. If the element shape is known, a read of an element that was never written
returns zeros. In a gradient array, repeated writes to an element are added. The memory is freed
when the last element is cleared, or by `release` at the end of the run.

`write` and `read` handle the common case in their first lines, because a loop calls them in each
iteration. Errors are InvalidArgumentError with TensorFlow's messages.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.ops.tensor_arrays.element_store import (
    AFTER,
    CLEARED,
    CLOSED,
    HELD,
    READ,
    Allocate,
    ElementStore,
    Kind,
)

_NO_ZEROS = (dtypes.string, dtypes.resource)


class Rules(NamedTuple):
    """The properties with which an array is created.

    Args:
      element_shape: a shape with which elements must be compatible.
      dynamic: whether writes beyond the end enlarge the array.
      clears: whether a read clears the element.
      alike: whether all elements must have the same shape as the first element that is written.
    """

    element_shape: TensorShape
    dynamic: bool = False
    clears: bool = True
    alike: bool = False


class ElementArray(ElementStore):
    """The elements of one TensorArray. The handle of the array refers to this object.

    `after` is the state of an element after it was read.
    """

    def __init__(self, name: str, dtype: DType, size: int, allocate: Allocate, rules: Rules):
        super().__init__(dtype, size, allocate)
        self.name = name
        self.rules = rules
        self.dynamic = rules.dynamic
        self.allowed = (
            rules.element_shape
        )  # the shape with which each element's shape must be compatible
        self.after = self.record[AFTER] = CLEARED if rules.clears else HELD | READ
        self.closed = False
        self._gradients: dict[str, GradientArray] = {}

    def write(self, index: int, value: Any, kind: Kind) -> None:
        """Store a copy of `value` as element `index`.

        Args:
          kind: the shape and dtype of `value`.
        """
        states = self.states
        if kind == self.kind and 0 <= index < len(states) and not states[index]:
            self.rows[index, ...] = value
            states[index] = HELD
        else:
            self._write(index, value, kind)

    def read(self, index: int, out: Any, kind: Kind) -> None:
        """Copy element `index` into `out`. If it has no value but a known shape, fill `out` with
        zeros.

        Args:
          kind: the shape and dtype of `out`.
        """
        states = self.states
        if kind == self.kind and 0 <= index < len(states) and states[index] & HELD:
            out[...] = self.rows[index]
            states[index] = self.after
            if index in (0, len(states) - 1):  # because a loop ends at the first or the last index
                self.free_if_cleared()
        else:
            self._read(index, out, kind)

    def _write(self, index: int, value: Any, kind: Kind) -> None:
        shape, dtype = kind
        self.check_open()
        size = len(self.states)
        if index < 0 or (index >= size and not self.dynamic):
            raise self.refusal(
                f"Tried to write to index {index} but array is not resizeable and size is: {size}"
            )
        self.check_written(dtype)
        self.accept(index, shape)
        state = self.states[index] if index < size else 0
        if state & (READ | CLEARED):
            raise self.refusal(
                f"Could not write to TensorArray index {index} because it has already been read."
            )
        if state & HELD:
            self._add(index, value)
        else:
            self.put(index, value, shape)

    def _add(self, index: int, value: Any) -> None:
        del value
        raise self.refusal(
            f"Could not write to TensorArray index {index} because it has already been written to."
        )

    def _read(self, index: int, out: Any, kind: Kind) -> None:
        self.check_read(kind[1])
        shape = self.shape_at(index)
        if kind[0] != shape:
            raise self.refusal(
                f"Element {index} has shape {shape_text(shape)}, but the graph was built for "
                f"elements of shape {shape_text(kind[0])}"
            )
        held = self.states[index] & HELD
        if held:
            out[...] = self.get(index)
        elif self.dtype in _NO_ZEROS:
            raise self.refusal(
                f"Could not read from TensorArray index {index}: it was not written, and there is "
                f"no zero of type {self.dtype.name}"
            )
        else:
            out[...] = 0
        self.states[index] = self.after if held or self.rules.clears else READ
        if self.rules.clears:
            if held:
                self.drop(index)
            self.free_if_cleared()

    def shape_at(self, index: int) -> tuple[int, ...]:
        """Return the shape of the value that `read` copies for element `index`. Raises an error if
        the element was not written and its shape is unknown.
        """
        self.check_open()
        if not 0 <= index < len(self.states):
            raise self.refusal(
                f"Tried to read from index {index} but array size is: {len(self.states)}"
            )
        state = self.states[index]
        if state & CLEARED:
            raise self.refusal(
                f"Could not read index {index} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = false?)."
            )
        shape = self.written_shape(index) if state & HELD else self._unwritten_shape(index)
        assert shape is not None
        return shape

    def _unwritten_shape(self, index: int) -> tuple[int, ...]:
        known = self.allowed
        if not known.is_fully_defined():
            raise self.refusal(
                f"Could not read from TensorArray index {index}: it was not written, and it "
                f"can't be read as zeros: the element shape is not fully defined: {known}. Is "
                "the array larger than the number of elements written, or does a tf.stop_gradient "
                "prevent the write of its gradient? If the forward TensorArray has a fully defined "
                "element_shape, this reads zeros."
            )
        return known.sizes  # type: ignore[return-value]

    # -- the whole array

    def size(self) -> int:
        """Return the number of elements, including elements that were not written."""
        self.check_open()
        return len(self.states)

    def gradient(self, source: str, prepend: tuple[int, ...] = ()) -> GradientArray:
        """Return the gradient array of this array for the backward pass `source`. The first call
        creates it.

        Afterwards, this array can no longer grow.

        Args:
          prepend: sizes that precede the shape of an element in the shape of the element's
            gradient.
        """
        self.check_open()
        if source not in self._gradients:
            self.dynamic = False
            self._gradients[source] = GradientArray(self, source, prepend)
        return self._gradients[source]

    def release(self) -> None:
        """Free the memory, including the memory of the gradient arrays. If the array is used
        afterwards, an error is raised.
        """
        self.close()
        for gradient in self._gradients.values():
            gradient.release()

    def close(self) -> None:
        """Free the memory. If the array is used afterwards, an error is raised."""
        self.closed = True
        self.record[CLOSED] = 1
        self.free()

    def free_if_cleared(self) -> None:
        """Free the memory if all elements have been read and cleared."""
        if self.after == CLEARED and self.states.count(CLEARED) == len(self.states):
            self.free()

    # -- checks

    def accept(self, index: int, shape: tuple[int, ...]) -> None:
        """Raise an error unless element `index` may have this shape.

        If the rule `alike` applies, all elements must have this shape from now on.
        """
        if not self.allowed.is_compatible_with(shape):
            raise self.refusal(
                f"Could not write to TensorArray index {index} because the value shape is "
                f"{shape_text(shape)} which is incompatible with the TensorArray's inferred "
                f"element shape: {shape_text(self.allowed.sizes)} (consider setting "
                "infer_shape=False)."
            )
        if self.rules.alike and not self.allowed.is_fully_defined():
            self.allowed = TensorShape.of(shape)

    def accept_all(self, part: slice, shape: tuple[int, ...]) -> None:
        """Raise an error unless all elements in the slice `part` may have this shape."""
        self.accept(part.start, shape)  # any index, because the check does not depend on it

    def check_open(self) -> None:
        """Raise an error if the array is closed."""
        if self.closed:
            raise invalid_argument(f"TensorArray {self.name} has already been closed.")

    def check_read(self, dtype: DType) -> None:
        """Raise an error if the array is closed, or if its dtype differs from `dtype`, which a read
        requires.
        """
        self._check_dtype(dtype, "requested")

    def check_written(self, dtype: DType) -> None:
        """Raise an error if the array is closed, or if values of `dtype` cannot be written to
        it.
        """
        self._check_dtype(dtype, "is trying to write")

    def _check_dtype(self, dtype: DType, action: str) -> None:
        self.check_open()
        if dtype is not self.dtype:
            raise self.refusal(
                f"TensorArray dtype is {self.dtype.name} but Op {action} dtype {dtype.name}."
            )

    def refusal(self, message: str) -> InvalidArgumentError:
        """Return an InvalidArgumentError with this message, which names the array."""
        return invalid_argument(f"TensorArray {self.name}: {message}")


class GradientArray(ElementArray):
    """The gradients of the elements of the array `forward`. Repeated writes to the same element are
    added.

    If an element was written in `forward`, but its gradient was not written, a read returns zeros.
    If `forward` is itself a gradient array, reads do not clear elements of this array. An element
    of `forward` may then be written several times, and the gradient of each write reads the same
    element here.
    """

    def __init__(self, forward: ElementArray, source: str, prepend: tuple[int, ...]) -> None:
        sizes = forward.allowed.sizes
        rules = Rules(
            TensorShape.of(None if sizes is None else (*prepend, *sizes)),
            clears=not isinstance(forward, GradientArray),
            alike=forward.rules.alike,
        )
        name = f"{forward.name}@{source}"
        super().__init__(name, forward.dtype, len(forward.states), forward._allocate, rules)
        self._wanted = {
            index: (*prepend, *shape) for index, shape in forward.written_shapes().items()
        }

    def accept(self, index: int, shape: tuple[int, ...]) -> None:
        """Raise an error unless element `index` may have this shape.

        The shape must be the shape of earlier writes to the element, or the shape of the element in
        `forward`.
        """
        super().accept(index, shape)
        wanted = self.written_shape(index)
        if wanted is None:
            wanted = self._wanted.get(index, shape)
        if shape != wanted:
            raise self.refusal(
                f"Could not aggregate to TensorArray index {index} because the existing shape is "
                f"{shape_text(wanted)} but the new input shape is {shape_text(shape)}."
            )

    def accept_all(self, part: slice, shape: tuple[int, ...]) -> None:
        """Raise an error unless each element in the slice `part` may have this shape."""
        for index in range(part.start, part.stop):
            self.accept(index, shape)

    def _add(self, index: int, value: Any) -> None:
        if not (self.dtype.is_floating or self.dtype.is_complex or self.dtype.is_integer):
            raise self.refusal(f"Could not aggregate to index {index}: no sum of {self.dtype.name}")
        element = self.get(index)
        element += value

    def _unwritten_shape(self, index: int) -> tuple[int, ...]:
        shape = self._wanted.get(index)
        return super()._unwritten_shape(index) if shape is None else shape
