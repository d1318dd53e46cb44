"""Barriers, which assemble elements from components that are inserted separately. Each element has
a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import KernelContext
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.shape_functions import no_outputs, of_rank
from gpugraph.ops.queues.handle_ops import (
    Run,
    handle_op,
    held_object,
    private_name,
    query_op,
    resource_name,
    resource_op,
    waiting_op,
)
from gpugraph.ops.queues.keyed_elements import KeyedElements, Ready

_TYPES = Attr("list(type)", required=True, minimum=1)


def _bind_barrier(context: KernelContext, handle: Any) -> Run:
    types = [as_dtype(dtype) for dtype in context.attrs["component_types"]]
    shapes = [as_shape(shape) for shape in context.attrs["shapes"]]
    barrier = context.shared(
        *resource_name(context), lambda: KeyedElements(types, shapes, private_name(context))
    )
    if not isinstance(barrier, KeyedElements) or barrier.types != tuple(types):
        raise invalid_argument(
            f"Shared barrier '{context.name}' has other component types than the node"
        )
    return lambda: handle.fill(barrier)


resource_op(
    "Barrier",
    _bind_barrier,
    "Elements by key, which can be taken once all their components are inserted.",
    component_types=_TYPES,
    shapes=Attr("list(shape)", [], minimum=0),
    capacity=Attr("int", -1),
)


def _barrier_of(handle: Any) -> KeyedElements:
    return held_object(handle, KeyedElements, "barrier")


def _bind_insert(context: KernelContext, handle: Any, keys: Any, values: Any) -> Run:
    component, dtype = context.attrs["component_index"], context.input_types[2]

    def insert() -> None:
        barrier = _barrier_of(handle)
        if 0 <= component < len(barrier.types) and barrier.types[component] is not dtype:
            raise invalid_argument(
                f"Signature mismatch: component {component} is "
                f"{barrier.types[component].name}, not {dtype.name}"
            )
        barrier.insert(component, keys.tolist(), values)

    return insert


def _infer_insert(context: InferContext) -> Sequence[TensorShape]:
    keys, values = context.shapes[1].with_rank(1), context.shapes[2].with_rank_at_least(1)
    keys.merge_with(values[:1])
    return no_outputs(context)


def _bind_take(context: KernelContext, handle: Any, number: Any) -> Run:
    may_be_fewer = context.attrs["allow_small_batch"]
    types = [as_dtype(dtype) for dtype in context.attrs["component_types"]]

    def take() -> list[Any]:
        barrier = _barrier_of(handle)
        if list(barrier.types) != types:
            raise invalid_argument("Signature mismatch: the barrier has other component types")
        elements = barrier.take(int(number[()]), may_be_fewer)
        keys = np.empty(len(elements), object)
        keys[:] = [key for _, _, key, _ in elements]
        batches = np.array([batch for batch, _, _, _ in elements], np.int64)
        return [batches, keys, *(_column(barrier, elements, i) for i in range(len(types)))]

    return take


def _column(barrier: KeyedElements, elements: Sequence[Ready], component: int) -> Any:
    values = [element[component] for _, _, _, element in elements]
    if values:
        if any(value.shape != values[0].shape for value in values):
            raise invalid_argument(f"The values of component {component} differ in shape")
        return np.stack(values)
    sizes = barrier.shapes[component].as_list() if barrier.shapes else []
    return np.empty((0, *(size or 0 for size in sizes)), barrier.types[component].as_numpy_dtype)


def _infer_take(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[1], 0, "num_elements")
    rows = TensorShape.of((None,))
    return [rows, rows, *([TensorShape.of(None)] * (context.num_outputs - 2))]


def _bind_close(context: KernelContext, handle: Any) -> Run:
    cancels = context.attrs["cancel_pending_enqueues"]
    return lambda: _barrier_of(handle).close(cancels)


waiting_op(
    "BarrierTakeMany",
    _bind_take,
    "Take num_elements complete elements, as soon as there are enough.",
    inputs="handle: resource, num_elements: int32",
    outputs="indices: int64, keys: string, values: component_types",
    attrs={
        "component_types": _TYPES,
        "allow_small_batch": Attr("bool", False),
        "wait_for_incomplete": Attr("bool", False),
        "timeout_ms": Attr("int", -1),
    },
    infer=_infer_take,
)
handle_op(
    "BarrierInsertMany",
    _bind_insert,
    "Insert the values of a component for keys.",
    inputs="handle: resource, keys: string, values: T",
    attrs={"T": ALL, "component_index": Attr("int", required=True)},
    infer=_infer_insert,
)
handle_op(
    "BarrierClose",
    _bind_close,
    "Refuse new keys from now on.",
    attrs={"cancel_pending_enqueues": Attr("bool", False)},
)
query_op(
    "BarrierReadySize",
    "size: int32",
    lambda handle: _barrier_of(handle).ready_size(),
    "Return the number of complete elements.",
)
query_op(
    "BarrierIncompleteSize", "size: int32", lambda handle: _barrier_of(handle).incomplete_size(),
    "Return the number of incomplete elements.",
)  # fmt: skip


class Barrier:
    """A set of elements with keys. An element can be taken once all its components have been
    inserted.

    Different runs may insert the components of an element.

    The constructor raises ValueError if a shape is not fully defined, or if there are not as many
    shapes as types.

    Args:
      types: a list of the components' dtypes.
      shapes: a list of the components' fully defined shapes, or None.
      shared_name: the name under which several barriers in a session share their elements.
    """

    def __init__(
        self, types: Any, shapes: Any = None, shared_name: str | None = None, name: str = "barrier"
    ) -> None:
        self._types = [as_dtype(dtype) for dtype in types]
        self._shapes = [TensorShape.of(None) for _ in self._types]
        if shapes is not None:
            known = [as_shape(shape) for shape in shapes]
            if not all(shape.is_fully_defined() for shape in known):
                raise ValueError(f"All shapes must be fully defined: {known}")
            if len(known) != len(self._types):
                raise ValueError("Barrier shapes must have the same length as types")
            self._shapes = known
        self._barrier_ref: Tensor = raw_ops.Barrier(
            component_types=self._types,
            shapes=self._shapes if shapes is not None else [],
            shared_name=shared_name,
            name=name,
        )
        self._name = self._barrier_ref.op.name.split("/")[-1]

    @property
    def barrier_ref(self) -> Tensor:
        """The barrier's handle."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        """The name of the barrier's operation."""
        return self._barrier_ref.op.name

    def insert_many(
        self, component_index: int, keys: Any, values: Any, name: str | None = None
    ) -> Operation:
        """Return an operation that inserts row i of `values` as a component of the element with the
        key `keys[i]`.

        A run raises InvalidArgumentError if an element already has this component, and
        CancelledError if the barrier is closed and a key is new.

        Args:
          keys: a vector of strings.
        """
        operation: Operation = raw_ops.BarrierInsertMany(
            self._barrier_ref, keys, values, component_index=component_index,
            name=name or f"{self._name}_BarrierInsertMany",
        )  # fmt: skip
        return operation

    def take_many(
        self,
        num_elements: Any,
        allow_small_batch: bool = False,
        timeout: int | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Remove `num_elements` complete elements. Return indices, keys and a list of components.

        The run waits until there are enough elements. The indices, int64, number the elements in
        the order in which they were first inserted.

        Args:
          allow_small_batch: whether a closed barrier may return fewer elements, but at least one.
            If not, a run raises OutOfRangeError if a closed barrier has too few elements.
          timeout: must be None. Use `RunOptions.timeout_in_ms` instead.
        """
        if timeout is not None and timeout != -1:
            raise NotImplementedError("take_many has no timeout: use tf.RunOptions(timeout_in_ms)")
        indices, keys, values = raw_ops.BarrierTakeMany(
            self._barrier_ref, num_elements, component_types=self._types,
            allow_small_batch=allow_small_batch, name=name or f"{self._name}_BarrierTakeMany",
        )  # fmt: skip
        number = None if allow_small_batch else constant_value(indices.op.inputs[1])
        rows = TensorShape.of((None if number is None else int(number),))
        for tensor, shape in zip((indices, keys), (TensorShape.of(()),) * 2):
            tensor.set_shape(rows.concatenate(shape))
        for tensor, shape in zip(values, self._shapes):
            tensor.set_shape(rows.concatenate(shape))
        return indices, keys, values

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Return an operation that closes the barrier, which then rejects new keys.

        Args:
          cancel_pending_enqueues: whether the barrier also rejects the missing components of
            incomplete elements.
        """
        operation: Operation = raw_ops.BarrierClose(
            self._barrier_ref, cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_BarrierClose",
        )  # fmt: skip
        return operation

    def ready_size(self, name: str | None = None) -> Tensor:
        """Return the number of complete elements, an int32 scalar."""
        return self._size(raw_ops.BarrierReadySize, name or f"{self._name}_BarrierReadySize")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Return the number of incomplete elements, an int32 scalar."""
        name = name or f"{self._name}_BarrierIncompleteSize"
        return self._size(raw_ops.BarrierIncompleteSize, name)

    def _size(self, op: Any, name: str) -> Tensor:
        size: Tensor = op(self._barrier_ref, name=name)
        return size
