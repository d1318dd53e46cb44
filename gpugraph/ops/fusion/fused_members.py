"""Members of a fused step, which are the ops that it runs.

The values in a fused step are numbered. The step's inputs come first, followed by the outputs of
its members, in the order in which the members run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.kernel import Call, Signature
from gpugraph.ops.framework.op_evaluation import ContextOutsideRun
from gpugraph.ops.fusion.op_expressions import Expressions

Shape = tuple[int, ...]


class FusedMember(NamedTuple):
    """One op of a fused step.

    Args:
      sources: the numbers of the values that the op reads, except for inputs in host memory, such
        as sizes and axes.
      expressions: the C expressions and reductions for native code.
      kernel: the op's NumPy kernel.
      origin: the line of the user's program that created the op.
    """

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
        """The dtypes of the node's outputs."""
        return self.signature.output_types


class MemberContext(ContextOutsideRun):
    """The `KernelContext` in which the kernel of a member is bound, for arrays of certain shapes.

    If the step runs tile by tile, the shapes are the shapes of a tile. The callable
    `allocate_array(key, shape, dtype)` returns a scratch array. Calls with the same key return the
    same array.
    """

    def __init__(
        self,
        member: FusedMember,
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
        """Return an array that no other member uses."""
        self._num_scratches += 1
        return self._allocate_array((self.name, self._num_scratches), shape, dtype)

    lasting = scratch

    def passing(self, slot: int, shape: Shape, dtype: DType) -> Any:
        """Return an array that all members use, one after another. Its contents are valid until
        this member has run.

        Args:
          slot: a number that distinguishes several such arrays of one member.
        """
        return self._allocate_array(("passing", slot), shape, dtype)
