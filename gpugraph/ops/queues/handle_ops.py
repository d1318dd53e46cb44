"""Ops on what a session keeps behind a handle: how they are declared, and how they wait.

Nodes that name the same `shared_name` in the same container have the same object. Handles and all
other inputs are in host memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeVar

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import SCALAR, no_outputs

Held = TypeVar("Held")

HOST = HostOnly("what runs hand to each other is in host memory")
_numbers = count()

Run = Callable[[], Any]


SHARING = {"container": Attr("string", ""), "shared_name": Attr("string", "")}


def infer_handle(_: InferContext) -> Sequence[TensorShape]:
    """A handle is a scalar."""
    return [SCALAR]


def infer_scalars(context: InferContext) -> Sequence[TensorShape]:
    """Each output is a scalar."""
    return [SCALAR] * context.num_outputs


def resource_name(context: KernelContext) -> tuple[str, str]:
    """The container and the key of what a node shares, or has for itself."""
    attrs = context.attrs
    return attrs["container"], attrs["shared_name"] or f"{context.name}/private"


def private_name(context: KernelContext) -> str:
    """The name of what a node has for itself, as TensorFlow numbers it; else the shared name."""
    shared: str = context.attrs["shared_name"]
    return shared or f"_{next(_numbers)}_{context.name}"


def held_object(handle: Any, kind: type[Held], what: str) -> Held:
    """What a handle holds; InvalidArgumentError for the handle of something else."""
    held = handle.item(0) if handle.size == 1 else None
    if not isinstance(held, kind):
        raise invalid_argument(f"The handle is that of no {what}")
    return held


def waiting_op(op_type: str, bind: Callable[..., Run], doc: str, **declaration: Any) -> None:
    """Declares an op that may wait, and gives up when its run ends; its inputs are on the host."""
    number = len(str(declaration["inputs"]).split(","))
    declaration = {"infer": no_outputs, "host": tuple(range(number)), **declaration}
    kernel = Call(make=bind, dynamic=True, late=True, waits=True, gives_up=True, direct=True)
    op(op_type, cpu=kernel, gpu=HOST, grad=NO_GRADIENT, stateful=True, doc=doc, **declaration)


def resource_op(
    op_type: str, bind: Callable[..., Run], doc: str, output: str = "handle", **attrs: Any
) -> None:
    """Declares an op whose output is the handle of what the session keeps for the node."""
    op(
        op_type, cpu=Call(make=bind, late=True), gpu=HOST, grad=NO_GRADIENT, stateful=True,
        outputs=f"{output}: resource", host_outputs=(0,), infer=infer_handle, doc=doc,
        attrs={**attrs, **SHARING},
    )  # fmt: skip


def handle_op(op_type: str, bind: Callable[..., Run], doc: str, **declaration: Any) -> None:
    """Declares an op on a handle that waits for nothing."""
    declaration = {"inputs": "handle: resource", "infer": no_outputs, **declaration}
    op(
        op_type, cpu=Call(make=bind, late=True, direct=True), gpu=HOST, grad=NO_GRADIENT,
        stateful=True, host=tuple(range(declaration["inputs"].count(":"))), doc=doc,
        **declaration,
    )  # fmt: skip


def asking_op(
    op_type: str, outputs: str, ask: Callable[[Any], Any], doc: str, **declaration: Any
) -> None:
    """Declares an op that asks what a handle holds for a scalar."""

    def bind(_: KernelContext, handle: Any, out: Any) -> Run:
        def answer() -> None:
            out[()] = ask(handle)

        return answer

    handle_op(op_type, bind, doc, outputs=outputs, infer=infer_scalars, **declaration)
