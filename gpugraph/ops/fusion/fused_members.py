"""Members of a fused step: ops that run as one.

Values are numbered: first the inputs of the step, then what its members make, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.kernel import Call, NodeSignature
from gpugraph.ops.fusion.op_expressions import Texts

Shape = tuple[int, ...]


@dataclass(slots=True)
class Member(NodeSignature):
    """One op of a group, and its signature. `sources` are the values that it takes, of the inputs
    that are not on the host."""

    op_type: str
    kernel: Call
    texts: Texts
    sources: tuple[int, ...]
    origin: Any


class MemberContext:
    """The `KernelContext` of a member, which makes its own scratch by `take`."""

    on_host: frozenset[int] = frozenset()

    def __init__(
        self,
        member: Member,
        input_shapes: Sequence[Shape],
        output_shapes: Sequence[Shape],
        take: Callable[[Any, Shape, DType], Any],
    ) -> None:
        self.name = member.name
        self.attrs = member.attrs
        self.input_types, self.output_types = member.input_types, member.output_types
        self.input_shapes, self.output_shapes = input_shapes, output_shapes
        self._member = member
        self._take = take
        self._taken = 0

    def value(self, index: int) -> Any:
        return self._member.value(index)

    def scratch(self, shape: Shape, dtype: DType) -> Any:
        self._taken += 1
        return self._take((self.name, self._taken), shape, dtype)

    def passing(self, slot: int, shape: Shape, dtype: DType) -> Any:
        return self._take(("passing", slot), shape, dtype)

    def state(self, make: Callable[[], Any]) -> Any:
        raise LookupError(f"'{self.name}' keeps no state")

    def variable(self, index: int) -> Any:
        raise LookupError(f"'{self.name}' refers to no variable")

    def allocate(self, shape: Shape, dtype: DType) -> Any:
        raise LookupError(f"'{self.name}' keeps nothing")

    def own(self, container: Any) -> None:
        raise LookupError(f"'{self.name}' keeps nothing")

    def keep(self, container: Any) -> None:
        raise LookupError(f"'{self.name}' keeps nothing")
