"""Members of a fused step: ops that run as one.

Values are numbered: first the inputs of the step, then the outputs of its members, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.kernel import Call, Signature
from gpugraph.ops.framework.op_evaluation import ContextOutsideRun
from gpugraph.ops.fusion.op_expressions import Expressions

Shape = tuple[int, ...]


class Member(NamedTuple):
    """One op of a group. `sources` are the numbers of its inputs that are not on the host."""

    op_type: str
    signature: Signature
    kernel: Call
    expressions: Expressions
    sources: tuple[int, ...]
    origin: Any = None

    @property
    def name(self) -> str:
        """The node's name."""
        return self.signature.name

    @property
    def output_types(self) -> Sequence[DType]:
        """The dtypes of its outputs."""
        return self.signature.output_types


class MemberContext(ContextOutsideRun):
    """The `KernelContext` of a member over arrays of these shapes.

    `allocate_array` returns scratch arrays by key, shape and dtype."""

    def __init__(
        self,
        member: Member,
        input_shapes: Sequence[Shape],
        output_shapes: Sequence[Shape],
        allocate_array: Callable[[Any, Shape, DType], Any],
    ) -> None:
        signature = member.signature
        self.name, self.attrs = signature.name, signature.attrs
        self.input_types, self.output_types = signature.input_types, signature.output_types
        self.input_shapes, self.output_shapes = input_shapes, output_shapes
        self.value = signature.value
        self._allocate_array = allocate_array
        self._num_scratches = 0

    def scratch(self, shape: Shape, dtype: DType) -> Any:
        """Allocate an array for this member alone."""
        self._num_scratches += 1
        return self._allocate_array((self.name, self._num_scratches), shape, dtype)

    lasting = scratch

    def passing(self, slot: int, shape: Shape, dtype: DType) -> Any:
        """Allocate an array that members share: it is free again after each member."""
        return self._allocate_array(("passing", slot), shape, dtype)
