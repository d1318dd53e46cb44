"""Declarations of ops on handles of objects that a session owns, such as queues.

Nodes with the same `shared_name` in the same container share one object. Handles and all other
inputs are in host memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeVar

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import SCALAR, no_outputs

Held = TypeVar("Held")

HOST = HostOnly("values that runs exchange are in host memory")
_numbers = count()

Run = Callable[[], Any]


SHARING = {"container": Attr("string", ""), "shared_name": Attr("string", "")}


def infer_handle(_: InferContext) -> Sequence[TensorShape]:
    """Return the shape of a handle: a scalar."""
    return [SCALAR]


def infer_scalars(context: InferContext) -> Sequence[TensorShape]:
    """Return a scalar shape for each output."""
    return [SCALAR] * context.num_outputs


def resource_name(context: KernelContext) -> tuple[str, str]:
    """Return the (container, key) of the node's object in the session.

    The key is the node's `shared_name`, or a key that no other node has.
    """
    attrs = context.attrs
    return attrs["container"], attrs["shared_name"] or f"{context.name}/private"


def private_name(context: KernelContext) -> str:
    """Return the object's name for messages. It is `shared_name`, or a numbered private name as in
    TensorFlow.
    """
    shared: str = context.attrs["shared_name"]
    return shared or f"_{next(_numbers)}_{context.name}"


def held_object(handle: Any, kind: type[Held], kind_name: str) -> Held:
    """Return the object to which a handle refers. Raises InvalidArgumentError unless the object has
    the class `kind`.

    Args:
      kind_name: the name of the class in the message.
    """
    held = handle.item(0) if handle.size == 1 else None
    if not isinstance(held, kind):
        raise invalid_argument(f"The handle is that of no {kind_name}")
    return held


def waiting_op(op_type: str, bind: Callable[..., Run], doc: str, **declaration: Any) -> None:
    """Declare an op that may wait, at most until the run ends.

    By default, its inputs are in host memory.
    """
    number = len(str(declaration["inputs"]).split(","))
    declaration = {
        "infer": no_outputs,
        "memory": OpMemory(host_inputs=tuple(range(number))),
        **declaration,
    }
    kernel = Call(make=bind, dynamic=True, late=True, waits=True, gives_up=True, direct=True)
    op(op_type, cpu=kernel, gpu=HOST, grad=NO_GRADIENT, stateful=True, doc=doc, **declaration)


def resource_op(
    op_type: str, bind: Callable[..., Run], doc: str, output: str = "handle", **attrs: Any
) -> None:
    """Declare an op that creates an object in the session and returns a handle of it. Several nodes
    may share the object.
    """
    op(
        op_type, cpu=Call(make=bind, late=True), gpu=HOST, grad=NO_GRADIENT, stateful=True,
        outputs=f"{output}: resource",
        memory=OpMemory(host_outputs=(0,)),
        infer=infer_handle, doc=doc,
        attrs={**attrs, **SHARING},
    )  # fmt: skip


def handle_op(
    op_type: str, bind: Callable[..., Run], doc: str, is_dynamic: bool = False, **declaration: Any
) -> None:
    """Declare an op on a handle. The op never waits.

    Args:
      is_dynamic: whether the sizes of the outputs are known only in a run. The bound kernel then
        returns the outputs.
    """
    declaration = {"inputs": "handle: resource", "infer": no_outputs, **declaration}
    op(
        op_type, cpu=Call(make=bind, late=True, direct=True, dynamic=is_dynamic), gpu=HOST,
        grad=NO_GRADIENT, stateful=True,
        memory=OpMemory(host_inputs=tuple(range(declaration["inputs"].count(":")))),
        doc=doc,
        **declaration,
    )  # fmt: skip


def query_op(
    op_type: str, outputs: str, query: Callable[[Any], Any], doc: str, **declaration: Any
) -> None:
    """Declare an op that never waits, and returns `query(handle)`, a scalar."""

    def bind(_: KernelContext, handle: Any, out: Any) -> Run:
        def answer() -> None:
            out[()] = query(handle)

        return answer

    handle_op(op_type, bind, doc, outputs=outputs, infer=infer_scalars, **declaration)
