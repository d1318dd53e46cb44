"""Element types of tensors, and their NumPy counterparts.

Every type is a singleton, created here, so types can be compared with `is`. Names, numbers and
conversions are TensorFlow 1.15's. Each type has a reference twin (`float32_ref`, number + 100) for
the outputs of reference variables.

The NumPy type of bfloat16 comes from `ml_dtypes`, an optional dependency (`base/bfloat16.py`).
Without `ml_dtypes`, bfloat16 has all properties except the properties that need an array or a value
of this type.

This module defines `bool`. Inside the module, Python's bool is written `builtins.bool`.
"""

from __future__ import annotations

import builtins
from typing import Any, NoReturn

import numpy as np

from gpugraph.base.bfloat16 import BFLOAT16, absent, finfo

_REF_OFFSET = 100


class DType:
    """The type of the elements of a tensor.

    `DType(number)` returns the singleton for that TensorFlow type number. Raises TypeError if no
    type has this number. A type is equal to every value that `as_dtype` converts to it, such as its
    name. A reference type is not equal to its base type.

    No attribute can be assigned.

    Attributes:
      name: the name, such as "float32" or "float32_ref".
      as_datatype_enum: TensorFlow's type number. A reference type has the number of its base type
        plus 100.
      base_dtype: the type itself or, for a reference type, the type that it refers to.
      real_dtype: the type of the real part if the type is complex, else the type itself.
      size: bytes per element as TensorFlow counts them (string 8, resource 1).
      itemsize: bytes per element in a NumPy array. Strings and resources are Python references of 8
        bytes.
      is_bool, is_integer, is_floating, is_complex, is_unsigned, is_quantized: whether the type is
        of this kind. All are False for string, resource and variant. A quantized type is not an
        integer type.
      is_ref_dtype: whether this is a reference type.
      is_numpy_compatible: False for resource and variant only.
    """

    __slots__ = (
        "_as_ref", "_numpy_type", "as_datatype_enum", "base_dtype", "is_bool", "is_complex",
        "is_floating", "is_integer", "is_numpy_compatible", "is_quantized", "is_ref_dtype",
        "is_unsigned", "itemsize", "name", "real_dtype", "size",
    )  # fmt: skip

    name: str
    as_datatype_enum: int
    base_dtype: DType
    real_dtype: DType
    size: int
    itemsize: int
    is_bool: builtins.bool
    is_integer: builtins.bool
    is_floating: builtins.bool
    is_complex: builtins.bool
    is_unsigned: builtins.bool
    is_quantized: builtins.bool
    is_ref_dtype: builtins.bool
    is_numpy_compatible: builtins.bool
    _as_ref: DType
    _numpy_type: type[Any] | None

    def __new__(cls, type_enum: int) -> DType:
        try:
            return _BY_NUMBER[int(type_enum)]
        except (KeyError, OverflowError):
            raise TypeError(f"{type_enum!r} is not the number of a TensorFlow DType.") from None

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self!r} is shared by all tensors of this type; {name} is read only")

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """The NumPy scalar type; `object` for strings. Raises TypeError for resources and variants.

        For a quantized type it is a structured dtype with one field, which has the type's name.

        For bfloat16 it is `ml_dtypes.bfloat16`. Raises ModuleNotFoundError if `ml_dtypes` is not
        installed.
        """
        if not self.is_numpy_compatible:
            raise TypeError(f"{self!r} has no NumPy type.")
        if self._numpy_type is None:
            raise absent()
        return self._numpy_type

    @property
    def _is_ref_dtype(self) -> builtins.bool:
        return self.is_ref_dtype

    @property
    def min(self) -> Any:
        """The minimum value: a NumPy float or a Python int. Raises TypeError if the values of the
        type have no order.
        """
        return self._extreme("min")

    @property
    def max(self) -> Any:
        """The maximum value: a NumPy float or a Python int. Raises TypeError if the values of the
        type have no order.
        """
        return self._extreme("max")

    def _extreme(self, which: str) -> Any:
        if self.is_floating:
            return getattr(finfo(self.as_numpy_dtype), which)
        if self.is_integer:
            return getattr(np.iinfo(self.as_numpy_dtype), which)
        raise TypeError(f"Cannot find the {which}imum value of {self}.")

    @property
    def limits(self) -> tuple[int, int]:
        """The range of pixel intensities, (0, maximum).

        Raises ValueError unless the type is an integer type, bool, float32 or float64.
        """
        if self.is_integer:
            return 0, int(self.max)
        if self.is_bool:
            return 0, True
        if self.base_dtype in (float32, float64):
            return 0, 1
        raise ValueError(f"{self} does not have defined limits.")

    def is_compatible_with(self, other: object) -> builtins.bool:
        """Return whether `other` is this type or its reference type."""
        dtype = as_dtype(other)
        return dtype is self or dtype.base_dtype is self

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        if other is None or type(other) is DType:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self.as_datatype_enum

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


_BY_NUMBER: dict[int, DType] = {}
_NUMPY_INCOMPATIBLE = frozenset({"resource", "variant"})


def _make(name: str, number: int, numpy_type: Any, like: Any) -> DType:
    """Create a type and register it by number.

    The caller sets `base_dtype`, `real_dtype` and `_as_ref`.

    Args:
      numpy_type: the NumPy type, or None if it is not available.
      like: a NumPy type with the kind and the item size of the new type.
    """
    dtype: DType = object.__new__(DType)
    kind, itemsize = np.dtype(like).kind, np.dtype(like).itemsize
    compatible = name.removesuffix("_ref") not in _NUMPY_INCOMPATIBLE
    _fill(
        dtype,
        name=name,
        as_datatype_enum=number,
        size=itemsize if compatible else 1,
        itemsize=itemsize,
        is_bool=kind == "b",
        is_integer=kind in "iu",
        is_floating=kind == "f",
        is_complex=kind == "c",
        is_unsigned=kind == "u",
        is_quantized=kind == "V",
        is_ref_dtype=number > _REF_OFFSET,
        is_numpy_compatible=compatible,
        _numpy_type=numpy_type,
    )
    _BY_NUMBER[number] = dtype
    return dtype


def _fill(dtype: DType, **attributes: object) -> None:
    for name, value in attributes.items():
        object.__setattr__(dtype, name, value)


def _pair(
    name: str,
    number: int,
    numpy_type: Any,
    real: DType | None = None,
    like: type[Any] | None = None,
) -> tuple[DType, DType]:
    """Create a type and its reference twin, and return both.

    Args:
      real: the type of the real part, or None if that is the type itself.
      like: a NumPy type with the kind and the item size of the new type. It is required if
        `numpy_type` is None or is not defined by NumPy.
    """
    base = _make(name, number, numpy_type, like or numpy_type or object)
    ref = _make(f"{name}_ref", number + _REF_OFFSET, numpy_type, like or numpy_type or object)
    # The real part of a complex reference is a plain type, as in TensorFlow.
    _fill(base, base_dtype=base, real_dtype=real or base, _as_ref=ref)
    _fill(ref, base_dtype=base, real_dtype=real or ref, _as_ref=ref)
    return base, ref


def _quantized(name: str, number: int, numpy_type: type[Any]) -> tuple[DType, DType]:
    """Create a quantized type (integers that represent real numbers) and its reference twin, and
    return both.

    Arrays have a structured dtype with one field, so NumPy rejects arithmetic with them.
    """
    return _pair(name, number, np.dtype([(name, numpy_type)]))


float32, float32_ref = _pair("float32", 1, np.float32)
float64, float64_ref = _pair("float64", 2, np.float64)
int32, int32_ref = _pair("int32", 3, np.int32)
uint8, uint8_ref = _pair("uint8", 4, np.uint8)
int16, int16_ref = _pair("int16", 5, np.int16)
int8, int8_ref = _pair("int8", 6, np.int8)
string, string_ref = _pair("string", 7, object)
complex64, complex64_ref = _pair("complex64", 8, np.complex64, float32)
int64, int64_ref = _pair("int64", 9, np.int64)
bool, bool_ref = _pair("bool", 10, np.bool_)
bfloat16, bfloat16_ref = _pair("bfloat16", 14, BFLOAT16, like=np.float16)
uint16, uint16_ref = _pair("uint16", 17, np.uint16)
complex128, complex128_ref = _pair("complex128", 18, np.complex128, float64)
float16, float16_ref = _pair("float16", 19, np.float16)
resource, resource_ref = _pair("resource", 20, object)
uint32, uint32_ref = _pair("uint32", 22, np.uint32)
uint64, uint64_ref = _pair("uint64", 23, np.uint64)

variant, variant_ref = _pair("variant", 21, object)
qint8, qint8_ref = _quantized("qint8", 11, np.int8)
quint8, quint8_ref = _quantized("quint8", 12, np.uint8)
qint32, qint32_ref = _quantized("qint32", 13, np.int32)
qint16, qint16_ref = _quantized("qint16", 15, np.int16)
quint16, quint16_ref = _quantized("quint16", 16, np.uint16)

half, half_ref = float16, float16_ref
double, double_ref = float64, float64_ref

INTEGRAL = (int8, int16, int32, int64, uint8, uint16, uint32, uint64)
FLOATING = (float16, bfloat16, float32, float64)
COMPLEX = (complex64, complex128)
REAL = FLOATING + INTEGRAL
NUMERIC = REAL + COMPLEX
HANDLES = (resource, variant)
"""The types whose values are objects in host memory that exist for a run or a session."""

OBJECTS = (string, *HANDLES)
"""The types whose arrays have Python objects as elements."""

QUANTIZED = (qint8, quint8, qint16, quint16, qint32)
ALL = (*NUMERIC, bool, *OBJECTS, *QUANTIZED)
QUANTIZED_DTYPES = frozenset([*QUANTIZED, *(dtype._as_ref for dtype in QUANTIZED)])
"""The quantized types (integers that represent real numbers), and their references."""


def stored(array: Any) -> Any:
    """Return a view of an array of a quantized type as plain integers. Return any other array
    unchanged.
    """
    return array.view(array.dtype[0]) if array.dtype.names else array


def _numpy_table() -> dict[type[Any], DType]:
    """Map NumPy scalar types to DTypes.

    NumPy may have several types for one size, such as `longlong` and `int64`. The map contains all
    of them.
    """
    known = [dtype for dtype in (*NUMERIC, bool) if dtype is not bfloat16]
    sizes = {(np.dtype(d._numpy_type).kind, d.itemsize): d for d in known}
    table: dict[type[Any], DType] = {} if BFLOAT16 is None else {BFLOAT16: bfloat16}
    for code in "?bBhHiIlLqQefdFD":
        dtype = np.dtype(code)
        table[dtype.type] = sizes[dtype.kind, dtype.itemsize]
    return table | {np.object_: string, np.str_: string, np.bytes_: string}


def _names_table() -> dict[str, DType]:
    table = {dtype.name: dtype for dtype in _BY_NUMBER.values()}
    for alias, dtype in (("half", float16), ("float", float32), ("double", float64)):
        table[alias] = dtype
        table[f"{alias}_ref"] = dtype._as_ref
    return table


_BY_NUMPY_TYPE = _numpy_table()
_QUANTIZED_BY_FIELD: dict[tuple[str, ...], DType] = {(dtype.name,): dtype for dtype in QUANTIZED}
_BY_NAME = _names_table()
_BY_TYPE: dict[type[Any], DType] = {
    **_BY_NUMPY_TYPE,
    builtins.float: float32,
    builtins.bool: bool,
    builtins.complex: complex128,
    builtins.str: string,
    builtins.bytes: string,
    builtins.object: string,
}


def runtime_name(dtype: DType) -> str:
    """Return the name of a type in messages of TensorFlow's runtime: `float` for `float32_ref`."""
    name = dtype.base_dtype.name
    return {"float32": "float", "float64": "double", "float16": "half"}.get(name, name)


def as_dtype(type_value: object) -> DType:
    """Return the `DType` that `type_value` denotes.

    Args:
      type_value: a DType, a name ("float32", "half", "int32_ref"), a TensorFlow type number, a
        NumPy dtype of any byte order, a NumPy scalar type, a NumPy scalar or array, or a Python
        type. Python's float gives float32, complex gives complex128, bool gives bool, and str,
        bytes and object give string. Python's int is rejected.

    Raises:
      TypeError: `type_value` denotes no type.

    >>> tf.as_dtype("float32")
    tf.float32
    """
    if type(type_value) is DType:
        return type_value
    dtype: DType | None = None
    if isinstance(type_value, np.dtype):
        names = type_value.names  # of the fields: a quantized type has one
        known = _BY_NUMPY_TYPE.get(type_value.type)
        dtype = known if names is None else _QUANTIZED_BY_FIELD.get(names)
    elif isinstance(type_value, str):
        dtype = _BY_NAME.get(type_value)
    elif isinstance(type_value, type):
        dtype = _BY_TYPE.get(type_value)
    elif isinstance(type_value, (np.ndarray, np.generic)):
        dtype = _BY_NUMPY_TYPE.get(type_value.dtype.type)
    elif isinstance(type_value, int) and not isinstance(type_value, builtins.bool):
        dtype = _BY_NUMBER.get(type_value)
    if dtype is None:
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")
    return dtype


def plain_integers(value: Any) -> Any:
    """Return the plain integers of a quantized array or scalar. Return other values unchanged."""
    dtype = getattr(value, "dtype", None)
    names = dtype.names if isinstance(dtype, np.dtype) else None
    return value[names[0]] if names and names in _QUANTIZED_BY_FIELD else value
