"""tf.TensorArray, a list of tensors in the graph that are written and read one by one, mostly in
loops.

A TensorArray consists of a handle to the elements, which a run stores, and a flow. Every write
returns a TensorArray with a new flow. The ops that use this TensorArray therefore run after the
write. `tf.cond` and `tf.while_loop` pass on the flow, from which `build_ta_with_new_flow` creates a
TensorArray again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.tensor_arrays.gradient_arrays import gradient_handle


class TensorArray:
    """Tensors of one dtype, which are accessed by index. Each tensor is written only once.

    Args:
      dtype: the dtype of the elements.
      size: an int32 scalar, the number of elements. It must be None if `handle` is passed.
      dynamic_size: whether a write beyond the end enlarges the array.
      clear_after_read: whether a read clears the element, by default True. A second read of the
        element then raises InvalidArgumentError.
      tensor_array_name: the name of the array in error messages.
      handle: the handle of an existing TensorArray, whose elements this object accesses.
      flow: the flow of the existing TensorArray, after which it is accessed.
      infer_shape: whether all elements must have the shape of the first element that is written.
      element_shape: a shape with which all elements must be compatible.
      colocate_with_first_write_call: whether the ops on the array are placed on the device of the
        first value that is written. Otherwise device scopes determine their placement.

    If the shape of elements is fully known, a read of an element that was never written returns
    zeros. The memory is freed when the run ends, or earlier when all elements are cleared.

    Raises:
      ValueError: not exactly one of `size` and `handle` is passed, a handle is passed without a
        flow, or a handle is passed together with an argument that only a new array can have.
      TypeError: the handle is not a tensor.

    >>> array = tf.TensorArray(tf.int32, 2).write(0, 5).write(1, 6)
    >>> session.run(array.stack())
    array([5, 6], dtype=int32)
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is None and size is None:
            raise ValueError("Argument `size` must be provided if handle is not provided.")
        if handle is not None:
            arguments = {
                "size": size,
                "element_shape": element_shape,
                "dynamic_size": dynamic_size,
                "clear_after_read": clear_after_read,
                "tensor_array_name": tensor_array_name,
            }
            _check_handle(handle, arguments)
        _check_flags(dynamic_size, clear_after_read)
        self._dtype = as_dtype(dtype).base_dtype
        self._dynamic_size = bool(dynamic_size)
        self._size = size
        self._infer_shape = infer_shape
        self._element_shape = [
            as_shape(element_shape)
        ]  # shared by all TensorArrays with the same handle
        self._colocate_with: list[Operation] | None = [] if colocate_with_first_write_call else None
        with name_scope(name, "TensorArray", [handle, size, flow]) as scope:
            if handle is not None:
                if flow is None:
                    raise ValueError("flow must not be None if handle is not None.")
                self._handle, self._flow = handle, flow
                return
            with self._anywhere():
                self._handle, self._flow = raw_ops.TensorArrayV3(
                    size,
                    dtype=self._dtype,
                    element_shape=self._element_shape[0],
                    dynamic_size=self._dynamic_size,
                    clear_after_read=clear_after_read is not False,
                    identical_element_shapes=infer_shape,
                    tensor_array_name=tensor_array_name or "",
                    name=scope,
                )

    # -- properties

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def flow(self) -> Tensor:
        """A float32 scalar that is computed after all writes on which this TensorArray depends."""
        return self._flow

    @property
    def handle(self) -> Tensor:
        """The handle, a tensor of dtype resource, which refers to the elements in a run."""
        return self._handle

    @property
    def element_shape(self) -> TensorShape:
        """The elements' shape, which may be partially known."""
        return self._element_shape[0]

    @property
    def dynamic_size(self) -> bool:
        """Whether writes may enlarge the array. It is False if the constructor received a
        handle.
        """
        return self._dynamic_size

    def __repr__(self) -> str:
        return f"<tf.TensorArray {self._handle.name} of {self._dtype.name}, flow {self._flow.name}>"

    def identity(self) -> TensorArray:
        """Return a TensorArray with the same elements, whose flow is an Identity of this array's
        flow.

        Ops that use it run after the control inputs of the enclosing `tf.control_dependencies`
        blocks.
        """
        return self._with_flow(identity(self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """Return the TensorArray of the elements' gradients for the backward pass `source`.

        A run creates the gradient array when it is first used. From then on, this TensorArray
        cannot grow. Repeated writes to an element of the gradient array are added.
        """
        gradient = gradient_handle(self._handle, self._flow if flow is None else flow, source, name)
        with gradient.handle.graph.name_scope(f"{gradient.handle.op.name}/"):
            array = TensorArray(
                self._dtype,
                handle=gradient.handle,
                flow=gradient.flow,
                infer_shape=self._infer_shape,
                colocate_with_first_write_call=False,
            )
        array._element_shape[0] = self.element_shape
        return array

    def _with_flow(self, flow: Tensor) -> TensorArray:
        """Return a TensorArray with the same elements and another flow. The known element shape is
        common to both objects.
        """
        array = TensorArray(
            self._dtype, handle=self._handle, flow=flow, infer_shape=self._infer_shape
        )
        array._size = self._size
        array._dynamic_size = self._dynamic_size
        array._element_shape = self._element_shape
        array._colocate_with = self._colocate_with
        return array

    # -- single elements

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Return element `index`.

        A run raises InvalidArgumentError if the index is out of range, or if an earlier read has
        already cleared the element.

        Args:
          index: an int32 scalar.
        """
        value: Tensor = raw_ops.TensorArrayReadV3(
            self._handle, index, self._flow, dtype=self._dtype, name=name
        )
        value.set_shape(self.element_shape)
        return value

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return a TensorArray in which element `index` is `value`. Later ops of the program must
        use the returned object instead of this one.

        Raises ValueError if the shape does not fit. A run raises InvalidArgumentError if the index
        is out of range, if the element was already written or read, or if the dtype is wrong.
        """
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            element = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._check_element_shape(element.shape)
            return self._write("TensorArrayWriteV3", index, element, name)

    def _write(self, op_type: str, indices: Any, value: Tensor, name: str | None) -> TensorArray:
        with self._colocated(value):
            write = getattr(raw_ops, op_type)
            return self._with_flow(write(self._handle, indices, value, self._flow, name=name))

    # -- many elements

    def stack(self, name: str | None = None) -> Tensor:
        """Stack all elements, which must have the same shape, along a new first axis."""
        graph = self._handle.graph
        with graph.colocate_with(self._handle.op):
            with name_scope(name, "TensorArrayStack", [self._handle]):
                value = self.gather(range_of(0, self.size()), name=name)
        value.set_shape(TensorShape.of((self._known_size(),)).concatenate(self.element_shape))
        return value

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Stack the elements `indices`, an int32 vector, along a new first axis.

        These elements must have the same shape.
        """
        return raw_ops.TensorArrayGatherV3(
            self._handle,
            indices,
            self._flow,
            dtype=self._dtype,
            element_shape=self.element_shape,
            name=name,
        )

    def concat(self, name: str | None = None) -> Tensor:
        """Join all elements along their first axis. Their sizes must not differ along any other
        axis.
        """
        known = self.element_shape
        value: Tensor
        value, _ = raw_ops.TensorArrayConcatV3(
            self._handle,
            self._flow,
            dtype=self._dtype,
            element_shape_except0=known[1:] if known.sizes else TensorShape.of(None),
            name=name,
        )
        if known.sizes:
            size, length = self._known_size(), known.sizes[0]
            total = None if size is None or length is None else size * length
            value.set_shape(TensorShape.of((total, *known.sizes[1:])))
        return value

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Return a TensorArray whose element i is `value[i]`."""
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            count = shape(value)[0]
            return self.scatter(range_of(0, count), value, name=name)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return a TensorArray whose element `indices[i]` is `value[i]`, for all i.

        Raises ValueError if the shape of `value[i]` does not fit.
        """
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            elements = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._check_element_shape(elements.shape[1:])
            return self._write("TensorArrayScatterV3", indices, elements, name)

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Return a TensorArray whose elements are parts of `value`.

        Raises ValueError if the shape of the parts does not fit.

        Args:
          lengths: an int vector with the sizes of the parts along the first axis. It must have as
            many elements as the TensorArray.
        """
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            elements = convert_to_tensor(value, self._dtype, name="value")
            with self._colocated(elements):
                lengths_64 = cast(lengths, dtypes.int64)
                self._check_parts(elements, lengths_64)
                flow = raw_ops.TensorArraySplitV3(
                    self._handle, elements, lengths_64, self._flow, name=name
                )
            return self._with_flow(flow)

    # -- the whole array

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements, an int32 scalar."""
        is_known = not self._dynamic_size and self._size is not None
        if is_known and not isinstance(self._size, Tensor):
            return convert_to_tensor(self._size, dtypes.int32)
        size = raw_ops.TensorArraySizeV3(self._handle, self._flow, name=name)
        return convert_to_tensor(self._size, dtypes.int32) if is_known else size

    def close(self, name: str | None = None) -> Operation:
        """Return an operation that frees the memory before the end of the run."""
        return raw_ops.TensorArrayCloseV3(self._handle, name=name)

    # -- known properties

    def _known_size(self) -> int | None:
        """Return the number of elements if it is a constant, otherwise None."""
        if self._dynamic_size or self._size is None:
            return None
        size = constant_value(self._size) if isinstance(self._size, Tensor) else self._size
        return None if size is None else int(size)

    def _check_element_shape(self, shape: TensorShape) -> None:
        """Raise ValueError if an element can't have this shape.

        If `infer_shape` is true, all elements must have this shape from now on.
        """
        known = self.element_shape
        if not known.is_compatible_with(shape):
            raise ValueError(
                f"Inconsistent shapes: saw {shape} but expected {known} for the elements of "
                f"{self._handle.name}; use infer_shape=False for elements of different shapes"
            )
        if self._infer_shape:
            self._element_shape[0] = known.merge_with(shape)

    def _check_parts(self, value: Tensor, lengths: Tensor) -> None:
        known = constant_value(lengths)
        if known is None or known.ndim != 1 or not known.size or not value.shape.sizes:
            return
        if known.max() == known.min():
            self._check_element_shape(TensorShape.of((int(known[0]), *value.shape.sizes[1:])))

    @contextmanager
    def _anywhere(self) -> Iterator[None]:
        """Ignore device scopes for ops that are created in the `with` block, because they are
        placed with the first value that is written.

        If `colocate_with_first_write_call` is false, do nothing.
        """
        if self._colocate_with is None:
            yield
            return
        graph = get_default_graph()
        with graph.colocate_with(None, ignore_existing=True), graph.device(None):
            yield

    @contextmanager
    def _colocated(self, value: Tensor) -> Iterator[None]:
        """Colocate the ops that are created in the `with` block with the first value that was
        written.

        If no value was written before, `value` is the first. If `colocate_with_first_write_call` is
        false, do nothing.
        """
        if self._colocate_with is None:
            yield
            return
        if not self._colocate_with:
            self._colocate_with.append(value.op)
        with value.graph.colocate_with(self._colocate_with[0]):
            yield


def build_ta_with_new_flow(old_ta: TensorArray, flow: Tensor) -> TensorArray:
    """Return a copy of `old_ta` with `flow`, which a branch or loop has returned."""
    return old_ta._with_flow(flow)


def _check_handle(handle: Any, arguments: dict[str, Any]) -> None:
    for key, value in arguments.items():
        if value is not None:
            raise ValueError(
                f"Cannot provide both a `handle` and `{key}` arguments at the same time."
            )
    if not isinstance(handle, Tensor):
        raise TypeError(
            f"Expected `handle` to be a Tensor, but got `{handle}` of type `{type(handle)}`."
        )


def _check_flags(*flags: Any) -> None:
    for flag in flags:
        if not isinstance(flag, (bool, type(None))):
            raise TypeError(f"dynamic_size and clear_after_read must be bool, but one is {flag!r}")
