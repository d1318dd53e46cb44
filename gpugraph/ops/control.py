"""Ops that compute nothing: NoOp, and the four that the compile passes put into a plan's graph.

`_Arg` stands for a fed tensor, `_Retval` for a fetched one, `_Send` and `_Recv` for the two ends
of a tensor's way from one device to another. The bind pass knows them; they have no kernels.
"""

from __future__ import annotations

from gpugraph.dtypes import ALL
from gpugraph.graph.operation import Operation
from gpugraph.kernel import Call
from gpugraph.ops.declare import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.shape_functions import from_attr, no_outputs

__all__ = ["no_op"]


def _nothing() -> None:
    """Runs nothing."""


op(
    "NoOp",
    infer=no_outputs,
    cpu=Call(_nothing),
    gpu=Call(_nothing),
    grad=NO_GRADIENT,
    doc="Does nothing; something to hang control dependencies on.",
)

_MOVED = Call(_nothing)

op(
    "_Arg",
    outputs="output: T",
    attrs={"T": ALL, "index": Attr("int"), "shape": Attr("shape")},
    infer=from_attr("shape"),
    cpu=_MOVED,
    gpu=_MOVED,
    grad=NO_GRADIENT,
    stateful=True,
    doc="A fed tensor.",
)
op(
    "_Retval",
    inputs="input: T",
    attrs={"T": ALL, "index": Attr("int")},
    infer=no_outputs,
    cpu=_MOVED,
    gpu=_MOVED,
    grad=NO_GRADIENT,
    stateful=True,
    doc="A fetched tensor.",
)
_WAY = {
    "T": ALL,
    "tensor_name": Attr("string"),
    "send_device": Attr("string"),
    "recv_device": Attr("string"),
}
op(
    "_Send",
    inputs="tensor: T",
    attrs=_WAY,
    infer=no_outputs,
    cpu=_MOVED,
    gpu=_MOVED,
    grad=NO_GRADIENT,
    stateful=True,
    doc="The end of a tensor's way on the device that made it.",
)
op(
    "_Recv",
    outputs="tensor: T",
    attrs={**_WAY, "shape": Attr("shape")},
    infer=from_attr("shape"),
    cpu=_MOVED,
    gpu=_MOVED,
    grad=NO_GRADIENT,
    stateful=True,
    doc="The end of a tensor's way on the device that takes it.",
)


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing; something to hang control dependencies on."""
    made: Operation = raw_ops.NoOp(name=name)
    return made
