"""Fused: several ops as one step.

A group of elementwise ops and reductions is one native function where there is a C compiler,
generated from the expressions of its members. Until it is compiled, and where it can't be, the ops
run by their own host kernels, one after the other; large elementwise groups tile by tile
(`tiled_execution`). The fuse pass adds these ops; programs don't.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import uint8
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Builder, Call, Decomposition, KernelContext, Signature, note_op
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.fusion.fused_members import Member, MemberContext
from gpugraph.ops.fusion.op_expressions import build
from gpugraph.ops.fusion.tiled_execution import tiled

Run = Callable[[], Any]

_ALIGNMENT = 64
"""Of values in a block, in bytes: a line of the cache."""


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
        temporaries = _Temporaries(last_uses)
        number = count
        for index, member in enumerate(self.members):
            for shape, dtype in zip(member.signature.output_shapes, member.output_types):
                if number not in stored:
                    temporaries.plan(number, shape, dtype)
                number += 1
            temporaries.free_after(index)
        stored.update(temporaries.arrays(self.allocate))
        runs = []
        for member in self.members:
            inputs = [values[k] for k in member.sources]
            signature = member.signature
            outputs = [stored[len(values) + slot] for slot in range(len(signature.output_shapes))]
            values += outputs
            shapes = signature.input_shapes, signature.output_shapes
            context = MemberContext(member, *shapes, self._scratch)
            runs.append(member.kernel.bind(context, [*inputs, *outputs]))
        return runs

    def _scratch(self, _: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.allocate(shape, dtype)


class _Temporaries:
    """Values between members, in one block: each at an offset that is free again after its last
    use."""

    def __init__(self, last_uses: dict[int, int]) -> None:
        self.last_uses = last_uses
        self.size = 0
        self.planned: dict[int, tuple[int, Any]] = {}  # value to offset and (shape, dtype)
        self.in_use: dict[int, None] = {}
        self.free: dict[Any, list[int]] = {}  # offsets

    def plan(self, value: int, shape: tuple[int, ...], dtype: Any) -> None:
        """Finds an offset for a value."""
        key = shape, dtype.base_dtype
        free = self.free.get(key)
        if free:
            offset = free.pop()
        else:
            offset = self.size
            size = prod(shape) * dtype.base_dtype.itemsize
            self.size += -(-size // _ALIGNMENT) * _ALIGNMENT
        self.planned[value] = offset, key
        self.in_use[value] = None

    def free_after(self, index: int) -> None:
        """Frees the offsets of values that no member after `index` reads."""
        last_uses = self.last_uses
        for value in [value for value in self.in_use if last_uses.get(value, -1) <= index]:
            del self.in_use[value]
            offset, key = self.planned[value]
            self.free.setdefault(key, []).append(offset)

    def arrays(self, allocate: Callable[..., Any]) -> dict[int, Any]:
        """The arrays of the values, of one block."""
        if not self.planned:
            return {}
        block = allocate((self.size,), uint8)
        return {
            value: np.ndarray(shape, dtype.as_numpy_dtype, block, offset)
            for value, (offset, (shape, dtype)) in self.planned.items()
        }


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
