"""Fused: several ops as one step.

A group of elementwise ops and reductions is one native function where there is a C compiler,
generated from the expressions of its members. Until it is compiled, and where it can't be, the ops
run by their own host kernels, one after the other; large elementwise groups tile by tile
(`tiled_execution`). The fuse pass adds these ops; programs don't.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Builder, Call, Decomposition, KernelContext, Signature, note_op
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
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
    """Runs the members one by one over whole tensors, with memory from the first call on until
    `release`."""

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
            self.runs = self._bind()
        index = 0
        try:
            for index, run in enumerate(self.runs):  # noqa: B007 - the member that failed
                run()
        except Exception as error:
            note_op(error, self.members[index].name, self.members[index].origin)
            raise

    def release(self) -> None:
        """Gives the memory back; the next call obtains it again."""
        self.runs = None
        blocks, self.blocks = self.blocks, []
        for block in blocks:
            block.release()

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array that lives until `release`."""
        self.blocks.append(self.context.allocate(shape, dtype))
        return self.blocks[-1].array

    def _bind(self) -> list[Run]:
        count = len(self.context.input_shapes)
        values = list(self.arrays[:count])
        stored = dict(zip(self.stores, self.arrays[count:]))
        last_uses = {k: index for index, member in enumerate(self.members) for k in member.sources}
        temporaries = _Temporaries(self.allocate, last_uses)
        runs = []
        for index, member in enumerate(self.members):
            inputs = [values[k] for k in member.sources]
            shapes = member.signature.input_shapes, member.signature.output_shapes
            for shape, dtype in zip(shapes[1], member.output_types):
                array = stored.get(len(values))
                if array is None:
                    array = temporaries.allocate(len(values), shape, dtype)
                values.append(array)
            outputs = values[len(values) - len(shapes[1]) :]
            context = MemberContext(member, *shapes, self._scratch)
            runs.append(member.kernel.bind(context, [*inputs, *outputs]))
            temporaries.free_after(index)
        return runs

    def _scratch(self, _: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.allocate(shape, dtype)


class _Temporaries:
    """Arrays of values between members, used again after a value's last use."""

    def __init__(self, allocate: Callable[..., Any], last_uses: dict[int, int]) -> None:
        self.new_array = allocate
        self.last_uses = last_uses
        self.in_use: dict[int, Any] = {}
        self.free: dict[Any, list[Any]] = {}

    def allocate(self, value: int, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array for a value."""
        key = shape, dtype.base_dtype
        free = self.free.get(key)
        array = free.pop() if free else self.new_array(*key)
        self.in_use[value] = array, key
        return array

    def free_after(self, index: int) -> None:
        """Frees the arrays that no member after `index` reads."""
        for value in [value for value in self.in_use if self.last_uses.get(value, -1) <= index]:
            array, key = self.in_use.pop(value)
            self.free.setdefault(key, []).append(array)


def _build(builder: Builder, signature: Signature, inputs: Sequence[int]) -> Sequence[int]:
    values = list(inputs)
    for member in signature.attrs["members"]:
        sources = [values[k] for k in member.sources]
        values += build(builder, member.expressions, member.signature, sources)
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
    **numpy_kernels(Call(make=_bind)),
    native=Decomposition(_build),
    grad=NO_GRADIENT,
    doc="Several ops as one step.",
)
