"""OpDef and NodeDef: what an op type promises, and what one node of a graph says.

An `OpDef` is the signature of an op type: named inputs and outputs, whose dtypes are fixed or
follow an attr, and the attrs with their kinds, defaults and allowed values. A `NodeDef` is one
node: name, op type, inputs as strings (`"a"`, `"a:1"`, `"^control"`), requested device, attrs.
Attrs are plain Python values (a `DType`, a `TensorShape`, ints, strings, lists, arrays).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.shapes import as_shape


class ArgDef(NamedTuple):
    """One named input or output of an op type.

    Exactly one of `type`, `type_attr` and `type_list_attr` says the dtype; `number_attr` names
    the int attr that counts a homogeneous list. `is_ref` marks a reference to a variable.
    """

    name: str
    type: DType | None = None
    type_attr: str = ""
    number_attr: str = ""
    type_list_attr: str = ""
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        """Whether the argument is a list of tensors."""
        return bool(self.number_attr or self.type_list_attr)


class AttrDef(NamedTuple):
    """One attr: its kind (`"type"`, `"int"`, `"list(int)"`, ...), default and allowed values.

    minimum: the least value of an int.
    """

    name: str
    kind: str
    default: Any = None
    has_default: bool = False
    allowed: tuple[Any, ...] = ()
    minimum: int | None = None


class OpDef(NamedTuple):
    """The signature of an op type.

    `infer` maps an `InferContext` to one `TensorShape` per output. A stateful op is never folded
    or merged with its like. `host_inputs` and `host_outputs` are the argument indices that live
    in host memory whatever the device (axes, shapes: what the kernel's caller must read).
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

    @property
    def input_arg(self) -> list[ArgDef]:
        """The inputs, by the name that TensorFlow's message has for them."""
        return list(self.inputs)

    @property
    def output_arg(self) -> list[ArgDef]:
        """The outputs, likewise."""
        return list(self.outputs)


def host_slots(
    args: tuple[ArgDef, ...], host: frozenset[int], attrs: Mapping[str, Any]
) -> frozenset[int]:
    """The slots of the arguments `host` (by index), lists of tensors spread out."""
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


@dataclass(slots=True)
class NodeDef:
    """One node as data: name, op type, inputs as strings, requested device, attrs."""

    name: str
    op: str
    input: list[str] = field(default_factory=list)
    device: str = ""
    attr: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        inputs = "".join(f'  input: "{name}"\n' for name in self.input)
        device = f'  device: "{self.device}"\n' if self.device else ""
        attrs = "".join(f"  attr {key}: {self.attr[key]!r}\n" for key in sorted(self.attr))
        return f'node {{\n  name: "{self.name}"\n  op: "{self.op}"\n{inputs}{device}{attrs}}}'


class VersionDef(NamedTuple):
    """Who wrote a graph, and which readers it allows."""

    producer: int = 0
    min_consumer: int = 0
    bad_consumers: tuple[int, ...] = ()


def complete_attrs(
    op_def: OpDef, types: Sequence[DType], attrs: Mapping[str, Any]
) -> dict[str, Any]:
    """`attrs` with the defaults and with those that follow from inputs of these dtypes.

    ValueError for attrs that are missing and for inputs that don't fit the signature.
    """
    known = {key: attr.default for key, attr in op_def.attrs.items() if attr.has_default}
    inferred = {key for arg in op_def.inputs for key in (arg.type_attr, arg.type_list_attr)}
    known = {key: value for key, value in known.items() if key not in inferred}
    for key, value in attrs.items():
        kind = op_def.attrs[key].kind if key in op_def.attrs else ""
        known[key] = _READ[kind](value) if kind in _READ else value
    start = 0
    for arg in op_def.inputs:
        part = types[start : start + _count(op_def, arg, len(types), known)]
        _bind_arg(op_def, arg, part, known)
        start += len(part)
    if start != len(types):
        raise ValueError(f"Op type '{op_def.name}' takes {start} inputs here, not {len(types)}")
    missing = [key for key in op_def.attrs if key not in known]
    if missing:
        raise ValueError(f"Op type '{op_def.name}' needs the attrs {missing}")
    return known


_READ: dict[str, Callable[[Any], Any]] = {
    "type": as_dtype,
    "shape": as_shape,
    "list(type)": lambda values: [as_dtype(value) for value in values],
    "list(shape)": lambda values: [as_shape(value) for value in values],
}
"""What reads an attr's value, by the attr's kind; values of other kinds stay as they are."""


def _count(op_def: OpDef, arg: ArgDef, available: int, known: dict[str, Any]) -> int:
    """How many of the inputs an argument has; a lone list has what the others leave."""
    if not arg.is_list:
        return 1
    if arg.number_attr in known:
        return int(known[arg.number_attr])
    if arg.type_list_attr in known:
        return len(known[arg.type_list_attr])
    if sum(other.is_list for other in op_def.inputs) > 1:
        raise ValueError(
            f"Op type '{op_def.name}' needs the attr '{arg.number_attr or arg.type_list_attr}'"
        )
    return max(0, available - len(op_def.inputs) + 1)


def _bind_arg(op_def: OpDef, arg: ArgDef, types: Sequence[DType], known: dict[str, Any]) -> None:
    """Adds the attrs that follow from the inputs of one argument; ValueError if these don't fit."""

    def refuse(why: str) -> None:
        names = [dtype.name for dtype in types]
        raise ValueError(f"Input '{arg.name}' of op type '{op_def.name}' {why}, not {names}")

    if not arg.is_list and not types:
        refuse("is missing: there must be a tensor")
    if arg.is_ref and not all(dtype.is_ref_dtype for dtype in types):
        refuse("must refer to a variable")
    bases = [dtype.base_dtype for dtype in types]
    if arg.number_attr and known.setdefault(arg.number_attr, len(bases)) != len(bases):
        refuse(f"must be {known[arg.number_attr]} tensors")
    if arg.type_list_attr:
        if list(known.setdefault(arg.type_list_attr, bases)) != bases:
            refuse(f"must be of {known[arg.type_list_attr]}")
        return
    wanted = arg.type
    if wanted is None and bases:
        wanted = known.setdefault(arg.type_attr, bases[0])
        allowed = op_def.attrs[arg.type_attr].allowed
        if allowed and wanted not in allowed:
            refuse(f"must be one of {[dtype.name for dtype in allowed]}")
    if any(base is not wanted for base in bases):
        refuse(f"must be of dtype {getattr(wanted, 'name', wanted)}")
