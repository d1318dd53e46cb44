"""The op `_Fused`: a group of elementwise ops and reductions that run as one step.

If there is a C compiler, it compiles one function from the members' expressions. Until the
compilation has ended, and if it fails, the members' NumPy kernels run one after another. In this
case, a group of elementwise ops over large tensors runs tile by tile (`tiled_execution`). The
fusion pass adds this op. A client's graph never contains it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Builder, Call, Decomposition, KernelContext, Signature, note_op
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.fusion.fused_members import FusedMember, MemberContext
from gpugraph.ops.fusion.member_memory import MemoryLayout
from gpugraph.ops.fusion.op_expressions import build
from gpugraph.ops.fusion.tiled_execution import tiled

Run = Callable[[], Any]


def _infer(context: InferContext) -> Sequence[TensorShape]:
    return context.attrs["shapes"]


def _bind(context: KernelContext, *arrays: Any) -> Run:
    members: Sequence[FusedMember] = context.attrs["members"]
    stores: Sequence[int] = context.attrs["stores"]
    count = len(context.input_shapes)
    if context.attrs["tiled"]:
        return tiled(members, stores, arrays[:count], arrays[count:])
    return Steps(context, members, stores, arrays)


class Steps:
    """A callable that runs the members' NumPy kernels one after another, over whole tensors.

    The memory for the values that members pass to each other is allocated in the first call and
    freed by `release`.
    """

    __slots__ = ("arrays", "blocks", "context", "members", "runs", "stores")

    def __init__(
        self,
        context: KernelContext,
        members: Sequence[FusedMember],
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
        """Free the memory of the values that members pass to each other. The next call allocates it
        again.
        """
        self.runs = None
        blocks, self.blocks = self.blocks, []
        for block in blocks:
            block.release()

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return a new array, which is freed by `release`."""
        self.blocks.append(self.context.allocate(shape, dtype))
        return self.blocks[-1].array

    def _bind(self) -> list[Run]:
        count = len(self.context.input_shapes)
        layout: MemoryLayout = self.context.attrs["layout"]
        layout.plan(count, self.members, self.stores)
        values = layout.arrays(self.arrays[:count], self.arrays[count:], self.allocate)
        runs: list[Run] = []
        for member, is_plain, take in zip(self.members, layout.plain, layout.takes):
            arrays = take(values)
            function = member.kernel.function
            if is_plain and function is not None:
                runs.append(partial(function, *arrays))
                continue
            signature = member.signature
            shapes = signature.input_shapes, signature.output_shapes
            context = MemberContext(member, *shapes, self._scratch)
            runs.append(member.kernel.bind(context, arrays))
        return runs

    def _scratch(self, _: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.allocate(shape, dtype)


def _build(builder: Builder, signature: Signature, inputs: Sequence[int]) -> Sequence[int]:
    values = list(inputs)
    for member in signature.attrs["members"]:
        sources = [builder.stored(values[k]) for k in member.sources]
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
        "layout": Attr("any"),
    },
    infer=_infer,
    **numpy_kernels(Call(make=_bind)),
    native=Decomposition(_build),
    grad=NO_GRADIENT,
    doc="Several ops that run as one step.",
)
