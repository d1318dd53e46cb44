"""Fused: several ops as one step.

A group of elementwise ops and reductions is one native function where there is a C compiler: its
texts are in `members`. Until that is there, and where it can't be, the ops run by their own host
kernels, one after the other; large elementwise groups tile by tile (`tiles`).

The fuse pass makes these ops; programs don't.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Builder, Call, Decomposition, KernelContext, Signature, note_op
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.fusion.fused_members import Member, MemberContext
from gpugraph.ops.fusion.op_expressions import build
from gpugraph.ops.fusion.tiled_execution import tiled

Run = Callable[[], Any]


def _infer(context: InferContext) -> Sequence[TensorShape]:
    return context.attrs["shapes"]


def _bind(context: KernelContext, *arrays: Any) -> Run:
    members: Sequence[Member] = context.attrs["members"]
    stores: Sequence[int] = context.attrs["stores"]
    count = len(context.input_shapes)
    if context.attrs["tiled"]:
        return tiled(members, stores, arrays[:count], arrays[count:])
    return Steps(context, members, stores, arrays)


class Steps:
    """Members in turn over whole tensors; bound, and given memory, when first called.

    `release` gives the memory back, until the next call.
    """

    __slots__ = ("arrays", "blocks", "context", "members", "runs", "stores")

    def __init__(
        self,
        context: KernelContext,
        members: Sequence[Member],
        stores: Sequence[int],
        arrays: Sequence[Any],
    ) -> None:
        self.context = context
        self.members = members
        self.stores = stores
        self.arrays = arrays
        self.runs: list[Run] | None = None
        self.blocks: list[Any] = []
        context.own(self)

    def __call__(self) -> None:
        if self.runs is None:
            self.runs = self._bound()
        at = 0
        try:
            for at, run in enumerate(self.runs):  # noqa: B007 - which it was
                run()
        except Exception as error:
            note_op(error, self.members[at].name, self.members[at].origin)
            raise

    def release(self) -> None:
        self.runs = None
        blocks, self.blocks = self.blocks, []
        for block in blocks:
            block.release()

    def room(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array that is there until `release`."""
        self.blocks.append(self.context.allocate(shape, dtype))
        return self.blocks[-1].array

    def _bound(self) -> list[Run]:
        count = len(self.context.input_shapes)
        values = list(self.arrays[:count])
        kept = dict(zip(self.stores, self.arrays[count:]))
        rooms = _Rooms(self.room, self._last_uses())
        runs = []
        for at, member in enumerate(self.members):
            given = [values[k] for k in member.sources]
            made: list[Any] = []
            for shape, dtype in zip(member.output_shapes, member.output_types):
                value = len(values) + len(made)
                array = kept.get(value)
                made.append(rooms.take(value, shape, dtype) if array is None else array)
            values += made
            shapes = member.input_shapes, member.output_shapes
            context = MemberContext(member, *shapes, rooms.scratch)
            runs.append(member.kernel.bind(context, [*given, *made]))
            rooms.free(at)
        return runs

    def _last_uses(self) -> dict[int, int]:
        """By value: the member that takes it last."""
        return {k: at for at, member in enumerate(self.members) for k in member.sources}


class _Rooms:
    """Memory for what lies between members, used again after a last use."""

    def __init__(self, room: Callable[..., Any], last: dict[int, int]) -> None:
        self.room = room
        self.last = last
        self.in_use: dict[int, Any] = {}
        self.spare: dict[Any, list[Any]] = {}

    def take(self, value: int, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array for a value."""
        spare = self.spare.get((shape, dtype.base_dtype))
        array = spare.pop() if spare else self.room(shape, dtype.base_dtype)
        self.in_use[value] = array, (shape, dtype.base_dtype)
        return array

    def scratch(self, key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array of a member's own."""
        del key
        return self.room(shape, dtype)

    def free(self, at: int) -> None:
        """Takes back what nobody needs after the member `at`."""
        over = [value for value in self.in_use if self.last.get(value, -1) <= at]
        for value in over:
            array, kind = self.in_use.pop(value)
            self.spare.setdefault(kind, []).append(array)


def _build(builder: Builder, signature: Signature, inputs: Sequence[int]) -> Sequence[int]:
    values = list(inputs)
    for member in signature.attrs["members"]:
        given = [values[k] for k in member.sources]
        made = build(builder, member.texts, member, given)
        values += made
    return [values[k] for k in signature.attrs["stores"]]


op(
    "_Fused",
    inputs="inputs: Tin",
    outputs="outputs: Tout",
    attrs={
        "Tin": Attr("list(type)"),
        "Tout": Attr("list(type)"),
        "shapes": Attr("any"),
        "members": Attr("any"),
        "stores": Attr("any"),
        "tiled": Attr("bool"),
    },
    infer=_infer,
    cpu=Call(make=_bind),
    gpu=Call(make=_bind),
    native=Decomposition(_build),
    grad=NO_GRADIENT,
    doc="Several ops as one step.",
)
