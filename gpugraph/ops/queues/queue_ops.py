"""The ops on queues. A handle, which is in host memory, refers to an `ElementQueue` of the session.

Nodes with the same `shared_name` in the same container share one queue. An op that waits checks
regularly whether its run has ended (`waiting_attempts`). While the op waits, other runs may use the
variables of its run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import SCALAR, no_outputs, of_rank, unknown
from gpugraph.ops.queues.element_orders import ByPriority, PaddedOrder, ShuffledOrder
from gpugraph.ops.queues.element_queue import ElementQueue, QueueKind
from gpugraph.ops.queues.handle_ops import (
    HOST,
    SHARING,
    Run,
    held_object,
    infer_handle,
    private_name,
    query_op,
    resource_name,
    waiting_op,
)

# -- queues


def _bind_queue(
    queue_class: type[ElementQueue], op_type: str, context: KernelContext, handle: Any
) -> Run:
    attrs = context.attrs
    types = tuple(as_dtype(dtype) for dtype in attrs["component_types"])
    shapes = tuple(as_shape(shape) for shape in attrs["shapes"])
    if op_type == "PriorityQueueV2":
        types, shapes = (dtypes.int64, *types), (SCALAR, *shapes)
    options: tuple[tuple[str, Any], ...] = ()
    if op_type == "RandomShuffleQueueV2":
        seeds = attrs["seed"], attrs["seed2"]
        options = ("min_after_dequeue", attrs["min_after_dequeue"]), ("random seeds", seeds)
    kind = QueueKind(op_type, attrs["capacity"], types, shapes, options)

    def make() -> ElementQueue:
        return queue_class(kind, private_name(context))

    queue = context.shared(*resource_name(context), make)
    _check_same(queue, kind, context.name)
    return lambda: handle.fill(queue)


def _check_same(queue: Any, kind: QueueKind, node: str) -> None:
    """Raise InvalidArgumentError unless a shared queue has the properties that the node
    declares.
    """
    if not isinstance(queue, ElementQueue) or queue.kind.op_type != kind.op_type:
        op_type = queue.kind.op_type if isinstance(queue, ElementQueue) else type(queue).__name__
        raise invalid_argument(
            f"Expected {op_type.removesuffix('V2')}, found {kind.op_type}: node '{node}' shares "
            "the name of another resource"
        )
    theirs = queue.kind
    for what, has, wants in (
        ("capacity", theirs.capacity, kind.capacity),
        ("component types", _names(theirs.dtypes), _names(kind.dtypes)),
        ("component shapes", _shapes(theirs.shapes), _shapes(kind.shapes)),
        *((key, has, wants) for (key, has), (_, wants) in zip(theirs.options, kind.options)),
    ):
        if has != wants:
            were = _VERBS.get(what, "were")
            raise invalid_argument(
                f"Shared queue '{queue.name}' has {what} {has} but requested {what} {were} {wants}."
            )


_VERBS = {"capacity": "was", "min_after_dequeue": "was", "random seeds": "are"}


def _names(types: Sequence[DType]) -> str:
    return ", ".join(dtype.name for dtype in types)


def _shapes(shapes: Sequence[TensorShape]) -> str:
    return f"[{','.join(str(shape.as_list()) for shape in shapes)}]"


_QUEUES = ("FIFOQueueV2", "PaddingFIFOQueueV2", "RandomShuffleQueueV2", "PriorityQueueV2")
_COMPONENTS = {
    "component_types": Attr("list(type)", required=True, minimum=1),
    "shapes": Attr("list(shape)", [], minimum=0),
    "capacity": Attr("int", -1),
}
_SHUFFLING = {
    "min_after_dequeue": Attr("int", 0), "seed": Attr("int", 0), "seed2": Attr("int", 0),
}  # fmt: skip

for _type, _class, _attrs, _doc in (
    ("FIFOQueueV2", ElementQueue, _COMPONENTS, "first in, first out"),
    ("PaddingFIFOQueueV2", PaddedOrder, _COMPONENTS, "first in, first out, in padded batches"),
    ("RandomShuffleQueueV2", ShuffledOrder, {**_COMPONENTS, **_SHUFFLING}, "at random"),
    (
        "PriorityQueueV2",
        ByPriority,
        {
            "component_types": Attr("list(type)", [], minimum=0),
            "shapes": Attr("list(shape)", required=True, minimum=0),
            "capacity": Attr("int", -1),
        },
        "in ascending order of the number in component 0",
    ),
):
    _kernel = Call(make=partial(_bind_queue, _class, _type), late=True)
    op(
        _type,
        outputs="handle: resource",
        attrs={**_attrs, **SHARING},
        infer=infer_handle,
        cpu=_kernel,
        gpu=HOST,
        memory=OpMemory(host_outputs=(0,)),
        grad=NO_GRADIENT,
        stateful=True,
        doc=f"A queue whose elements leave {_doc}.",
    )


# -- operations on queues


def queue_of(handle: Any) -> ElementQueue:
    """Return the queue to which a handle refers. Raises InvalidArgumentError if the handle does not
    refer to a queue.
    """
    return held_object(handle, ElementQueue, "queue")


def _check_timeout(context: KernelContext) -> None:
    if context.attrs["timeout_ms"] != -1:
        raise invalid_argument("Timeout not supported yet.")


def _check_types(queue: ElementQueue, has: Sequence[DType], what: str) -> None:
    if tuple(has) != queue.kind.dtypes:
        raise invalid_argument(
            f"Signature mismatch, have: {_names(has)} expected: {_names(queue.kind.dtypes)}, "
            f"the {what}"
        )


def _bind_enqueue(many: bool, context: KernelContext, handle: Any, *components: Any) -> Run:
    _check_timeout(context)
    queue = queue_of(handle)
    _check_types(queue, context.input_types[1:], "components of the enqueue")

    def enqueue() -> Sequence[Any]:
        queue.enqueue_many(components) if many else queue.enqueue(components)
        return ()

    return enqueue


def _bind_dequeue(context: KernelContext, handle: Any) -> Run:
    _check_timeout(context)
    queue = queue_of(handle)
    _check_types(queue, context.output_types, "components of the dequeue")
    return queue.dequeue


def _bind_dequeue_many(up_to: bool, context: KernelContext, handle: Any, number: Any) -> Run:
    _check_timeout(context)
    queue = queue_of(handle)
    _check_types(queue, context.output_types, "components of the dequeue")
    return lambda: queue.dequeue_many(int(number), up_to)


def _bind_close(context: KernelContext, handle: Any) -> Run:
    queue, cancels = queue_of(handle), bool(context.attrs["cancel_pending_enqueues"])

    def close() -> Sequence[Any]:
        queue.close(cancels)
        return ()

    return close


def _infer_element(context: InferContext) -> Sequence[TensorShape]:
    """Return the shapes of an element from the attrs of the op that created the queue.

    If this op is not known, the shapes are unknown.
    """
    op_type, attrs = context.maker(0) or ("", {})
    shapes = [as_shape(shape) for shape in attrs.get("shapes", ())]
    if op_type == "PriorityQueueV2":
        shapes = [SCALAR, *shapes]
    is_queue = op_type in _QUEUES and len(shapes) == context.num_outputs
    return shapes if is_queue else unknown(context)


def _infer_batch(up_to: bool, context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[1], 0, "n")
    number = context.value(1)
    if number is not None and number < 0:
        raise ValueError(f"Input 'n' must be >= 0, but is {number}")
    rows = TensorShape.of((None if up_to or number is None else int(number),))
    return [rows.concatenate(shape) for shape in _infer_element(context)]


def _infer_rows(context: InferContext) -> Sequence[TensorShape]:
    for shape in context.shapes[1:]:
        if shape.rank == 0:
            raise ValueError("Shape must be at least rank 1 but is rank 0")
    return no_outputs(context)


_TIMEOUT = {"timeout_ms": Attr("int", -1)}
_ENQUEUING: dict[str, Any] = {
    "inputs": "handle: resource, components: Tcomponents",
    "attrs": {"Tcomponents": Attr("list(type)", required=True, minimum=1), **_TIMEOUT},
    "memory": OpMemory(host_inputs=(0,)),
}
_DEQUEUING: dict[str, Any] = {
    "outputs": "components: component_types",
    "attrs": {"component_types": Attr("list(type)", required=True, minimum=1), **_TIMEOUT},
}
_BATCHING: dict[str, Any] = {**_DEQUEUING, "inputs": "handle: resource, n: int32"}

for _type, _many, _infer_enqueue, _doc in (
    ("QueueEnqueueV2", False, no_outputs, "Add an element, as soon as there is room."),
    ("QueueEnqueueManyV2", True, _infer_rows, "Add the rows of the components, as there is room."),
):
    waiting_op(_type, partial(_bind_enqueue, _many), _doc, **_ENQUEUING, infer=_infer_enqueue)
waiting_op(
    "QueueDequeueV2",
    _bind_dequeue,
    "Take an element, as soon as there is one.",
    **_DEQUEUING,
    inputs="handle: resource",
    infer=_infer_element,
)
for _type, _up_to, _doc in (
    ("QueueDequeueManyV2", False, "Take `n` elements, as rows of the components."),
    (
        "QueueDequeueUpToV2",
        True,
        "Take `n` elements, or the rest of a closed queue, as rows of the components.",
    ),
):
    _infer = partial(_infer_batch, _up_to)
    waiting_op(_type, partial(_bind_dequeue_many, _up_to), _doc, **_BATCHING, infer=_infer)
waiting_op(
    "QueueCloseV2",
    _bind_close,
    "Refuse further elements.",
    inputs="handle: resource",
    attrs={"cancel_pending_enqueues": Attr("bool", False)},
)


query_op(
    "QueueSizeV2",
    "size: int32",
    lambda handle: queue_of(handle).size(),
    "Return the number of elements in a queue.",
)
query_op(
    "QueueIsClosedV2",
    "is_closed: bool",
    lambda handle: np.bool_(queue_of(handle).closed),
    "Return whether a queue is closed.",
)
