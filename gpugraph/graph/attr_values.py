"""Conversion of the attr values that a program passes to the kind that the op declares.

The value of an attr of kind `"int"` becomes a 64-bit int, the value of an attr of kind
`"list(int)"` becomes a list of 64-bit ints, and so on. A value that can't be converted raises
TypeError with the message of TensorFlow's op_def_library.py: "Expected int for argument". No other
module checks attr values.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype, bfloat16
from gpugraph.base.shapes import TensorShape, as_tensor_shape
from gpugraph.base.value_text import shown
from gpugraph.graph.op_def import ArgDef, AttrDef, OpDef


def read_attr(attr: AttrDef, value: Any, op_type: str, function: str = "") -> Any:
    """Convert `value` to the attr's kind and check it against the attr's bounds.

    Raises TypeError if the value does not have the attr's kind, or is a dtype that the op does not
    accept. Raises ValueError if the attr does not permit a number or string, if a shape is invalid,
    or if a list is too short.

    Args:
      function: the name of the Python function that the program has called, for error messages.
    """
    kind = attr.kind
    if kind.startswith("list("):
        if not isinstance(value, (list, tuple)):
            raise TypeError(
                f"Expected list for '{attr.name}' argument to '{function or op_type}' Op, not "
                f"{shown(value)}."
            )
        read = _READERS.get(kind[5:-1])
        result: Any = list(value) if read is None else [read(attr.name, item) for item in value]
        if kind == "list(type)":
            for dtype in result:
                check_allowed(attr, dtype, attr.name, op_type)
        if attr.minimum is not None and len(result) < attr.minimum:
            raise ValueError(
                f"Attr '{attr.name}' of '{op_type}' Op passed list of length {len(result)} less "
                f"than minimum {attr.minimum}."
            )
        return result
    read = _READERS.get(kind)
    result = value if read is None else read(attr.name, value)
    if kind == "type":
        check_allowed(attr, result, attr.name, op_type)
    elif kind == "string":
        _check_text(attr, result, op_type)
    elif attr.minimum is not None and result < attr.minimum:
        raise ValueError(
            f"Attr '{attr.name}' of '{op_type}' Op passed {result} less than minimum "
            f"{attr.minimum}."
        )
    return result


def _check_text(attr: AttrDef, text: str, op_type: str) -> None:
    """Raise ValueError if the attr does not accept the string."""
    if attr.allowed and text not in attr.allowed:
        raise ValueError(
            f"Attr '{attr.name}' of '{op_type}' Op passed string '{text}' not in: "
            f"{quoted(attr.allowed)}."
        )


def quoted(texts: Sequence[str]) -> str:
    """Return strings as one text, in the notation that messages use: `"SAME", "VALID"`."""
    return ", ".join(f'"{text}"' for text in texts)


def check_allowed(attr: AttrDef, dtype: DType, argument: str, op_type: str) -> None:
    """Raise TypeError if the type attr does not accept the dtype.

    Args:
      argument: the name of the parameter that determines the dtype, for the message.
    """
    if attr.allowed and dtype not in attr.allowed:
        names = ", ".join(element_type.name for element_type in attr.allowed)
        raise TypeError(
            f"Value passed to parameter '{argument}' has DataType {dtype.name} not in list of "
            f"allowed values: {names} ('{op_type}' Op)"
        )
    if dtype is bfloat16:
        dtype.as_numpy_dtype  # noqa: B018 - an error where there are no arrays of it


def whole_number(name: str, value: Any) -> int:
    """Convert `value` to a 64-bit int.

    Raises TypeError if the value is not a number, and ValueError if the number is out of range.
    """
    if isinstance(value, (str, bytes)) or getattr(value, "ndim", 0) != 0:
        raise _unexpected("int", name, value)
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise _unexpected("int", name, value) from None
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"Value out of range for argument '{name}': {shown(value)}")
    return number


def real_number(name: str, value: Any) -> float:
    """Convert `value` to a float.

    Raises TypeError if the value is not a number, and ValueError if it is an int that is too large.
    """
    if not isinstance(value, numbers.Real):
        raise _unexpected("float", name, value)
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"Value out of range for argument '{name}': {shown(value)}") from None


def text_of(name: str, value: Any) -> str:
    """Convert a string or bytes to a string. Invalid UTF-8 is escaped as surrogates.

    Raises TypeError for any other value, and ValueError if a string can't be encoded.
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if not isinstance(value, str):
        raise _unexpected("string", name, value)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"The text for argument '{name}' can't be encoded: {error}") from None
    return value


def _truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _unexpected("bool", name, value)
    return value


def _dtype(name: str, value: Any) -> DType:
    try:
        return as_dtype(value).base_dtype
    except TypeError:
        raise TypeError(f"Expected DataType for argument '{name}' not {shown(value)}.") from None


def _shape(name: str, value: Any) -> TensorShape:
    try:
        return as_tensor_shape(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Error converting '{name}' to a TensorShape: {error}") from None


def _constant(name: str, value: Any) -> Any:
    if hasattr(value, "op") and hasattr(value, "graph"):
        raise TypeError(
            f"Don't know how to convert {shown(value)} to a TensorProto for argument '{name}'"
        )
    return value


def _unexpected(kind: str, name: str, value: Any) -> TypeError:
    return TypeError(f"Expected {kind} for argument '{name}' not {shown(value)}.")


_NUMBERS = {"int": whole_number, "float": real_number, "bool": _truth}
_READERS: dict[str, Callable[[str, Any], Any]] = {
    **_NUMBERS, "string": text_of, "type": _dtype, "shape": _shape, "tensor": _constant
}  # fmt: skip
"""The converter for each kind of attr; values of kinds that are not listed stay as they are."""


def complete_attrs(
    op_def: OpDef, types: Sequence[DType], attrs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `attrs` with all defaults, and with the attrs that the inputs' dtypes determine.

    Raises ValueError if attrs are missing, or if inputs don't match the signature.

    Args:
      types: the dtypes of all input tensors, with lists flattened.
    """
    known = {key: attr.default for key, attr in op_def.attrs.items() if attr.has_default}
    inferred = {key for arg in op_def.inputs for key in (arg.type_attr, arg.type_list_attr)}
    known = {key: value for key, value in known.items() if key not in inferred}
    for key, value in attrs.items():
        attr = op_def.attrs.get(key)
        known[key] = value if attr is None else read_attr(attr, value, op_def.name)
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


def _count(op_def: OpDef, arg: ArgDef, available: int, known: dict[str, Any]) -> int:
    """Return the number of tensors in one argument of an op.

    If no attr determines the length of a list, and the op has no other list, the list consists of
    all tensors that do not belong to any other argument.
    """
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
    """Add to `known` the attrs that the tensors of one argument determine. Raises ValueError if the
    tensors don't match the argument.

    Args:
      types: the dtypes of the tensors in this argument.
    """

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
