"""OpDef and NodeDef: the signature of an op type, and the description of one node.

An `OpDef` is the signature of an op type: named inputs and outputs, whose dtypes are fixed or
determined by an attr, and the attrs with their kinds, defaults and allowed values. A `NodeDef` is
one node: name, op type, inputs as strings (`"a"`, `"a:1"`, `"^control"`), requested device, attrs.
Attrs are plain Python values (a `DType`, a `TensorShape`, ints, strings, lists, arrays).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import UnimplementedError
from gpugraph.formats import messages_pb2
from gpugraph.formats.attr_value_messages import write_attr


class ArgDef(NamedTuple):
    """One named input or output of an op type.

    Exactly one of `type`, `type_attr` and `type_list_attr` determines the dtype.

    Args:
      number_attr: for a list of tensors of one dtype, the name of the int attr that holds the
        length.
      is_ref: whether the argument is a reference to a variable.
      rank: the rank that an input must have. If the rank is None, any rank is allowed.
    """

    name: str
    type: DType | None = None
    type_attr: str = ""
    number_attr: str = ""
    type_list_attr: str = ""
    is_ref: bool = False
    rank: int | None = None

    @property
    def is_list(self) -> bool:
        """Whether the argument is a list of tensors."""
        return bool(self.number_attr or self.type_list_attr)


class AttrDef(NamedTuple):
    """One attr of an op type: its kind (`"type"`, `"int"`, `"list(int)"`, ...), default and allowed
    values.

    Args:
      minimum: the minimum of an int, or the minimum length of a list.
    """

    name: str
    kind: str
    default: Any = None
    has_default: bool = False
    allowed: tuple[Any, ...] = ()
    minimum: int | None = None


class OpDef(NamedTuple):
    """The signature of an op type.

    A stateful op is never folded or merged with an equal op.

    Args:
      infer: a function that receives an `InferContext` and returns a `TensorShape` for each output.
      host_inputs, host_outputs: the indices of arguments that are in host memory on any device,
        such as axes and shapes. The code that launches the kernel must read their values.
      deprecation: the first GraphDef version in which graphs can't contain the op, and a sentence
        for the user.
    """

    name: str
    inputs: tuple[ArgDef, ...] = ()
    outputs: tuple[ArgDef, ...] = ()
    attrs: Mapping[str, AttrDef] = MappingProxyType({})
    infer: Callable[[Any], Any] | None = None
    is_stateful: bool = False
    is_commutative: bool = False
    allows_uninitialized_input: bool = False
    host_inputs: frozenset[int] = frozenset()
    host_outputs: frozenset[int] = frozenset()
    summary: str = ""
    deprecation: tuple[int, str] | None = None

    def check_available(self, producer: int) -> None:
        """Raise UnimplementedError if graphs of the GraphDef version `producer` can't contain the
        op.
        """
        if self.deprecation is not None and producer >= self.deprecation[0]:
            version, explanation = self.deprecation
            raise UnimplementedError(
                None,
                None,
                f"Op {self.name} is not available in GraphDef version {producer}. It has been "
                f"removed in version {version}. {explanation}.",
            )


def host_slots(
    args: tuple[ArgDef, ...], host: frozenset[int], attrs: Mapping[str, Any]
) -> frozenset[int]:
    """Return the slots of the arguments whose indices are in `host`. A list has one slot for each
    of its tensors.
    """
    if not host:
        return _NO_SLOTS
    if not any(arg.is_list for arg in args):
        return host
    slots: set[int] = set()
    start = 0
    for index, arg in enumerate(args):
        if arg.type_list_attr:
            count = len(attrs[arg.type_list_attr])
        else:
            count = attrs[arg.number_attr] if arg.number_attr else 1
        if index in host:
            slots.update(range(start, start + count))
        start += count
    return frozenset(slots)


_NO_SLOTS: frozenset[int] = frozenset()


RECOMPUTED, RECOMPUTES = "_recomputed_in_call", "_recomputes_call"
"""Attrs of the ops in a `recompute_grad` function, and of the ops in its gradient.

The value of either attr is the number of the call.
"""


@dataclass(slots=True)
class NodeDef:
    """One node as data: name, op type, inputs as strings, requested device, attrs."""

    name: str
    op: str
    input: list[str] = field(default_factory=list)
    device: str = ""
    attr: dict[str, Any] = field(default_factory=dict)

    def as_message(self) -> Any:
        """Return this node as a NodeDef message, without attrs that a message can't hold."""
        message = messages_pb2.NodeDef(
            name=self.name, op=self.op, input=self.input, device=self.device
        )
        for key, value in self.attr.items():
            attr = messages_pb2.AttrValue()
            with suppress(TypeError, KeyError):  # a record that only this package has
                write_attr(attr, value)
                message.attr[key].CopyFrom(attr)
        return message

    def __str__(self) -> str:
        inputs = "".join(f'  input: "{name}"\n' for name in self.input)
        device = f'  device: "{self.device}"\n' if self.device else ""
        attrs = "".join(f"  attr {key}: {self.attr[key]!r}\n" for key in sorted(self.attr))
        return f'node {{\n  name: "{self.name}"\n  op: "{self.op}"\n{inputs}{device}{attrs}}}'


class VersionDef(NamedTuple):
    """The GraphDef versions of a graph: the version that produced it, and the minimum version of a
    consumer that may read it.
    """

    producer: int = 0
    min_consumer: int = 0
    bad_consumers: tuple[int, ...] = ()
