"""DTypes: TensorFlow's names, numbers and conversions."""

import copy
import pickle

import numpy as np
import pytest

from gpugraph.base import dtypes
from gpugraph.base.bfloat16 import finfo
from gpugraph.base.dtypes import DType, as_dtype

NUMBERS = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": 7,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "resource": 20,
    "uint32": 22,
    "uint64": 23,
}
NUMERIC = sorted(set(NUMBERS) - {"bool", "string", "resource"})


@pytest.mark.parametrize(("name", "number"), [*NUMBERS.items()])
def test_identity(name, number):
    dtype = getattr(dtypes, name)
    assert dtype in dtypes.ALL
    assert dtype.name == name
    assert dtype.as_datatype_enum == number == hash(dtype)
    assert as_dtype(name) is as_dtype(number) is as_dtype(dtype) is DType(number) is dtype
    assert repr(dtype) == f"tf.{name}"
    assert str(dtype) == f"<dtype: '{name}'>"
    assert dtype.base_dtype is dtype
    assert not dtype.is_ref_dtype
    assert not dtype._is_ref_dtype
    assert not dtype.is_quantized


@pytest.mark.parametrize(("name", "number"), [*NUMBERS.items()])
def test_references(name, number):
    base, ref = getattr(dtypes, name), getattr(dtypes, f"{name}_ref")
    assert base._as_ref is ref._as_ref is ref
    assert ref.base_dtype is base
    assert ref.is_ref_dtype
    assert ref._is_ref_dtype
    assert ref.name == f"{name}_ref"
    assert ref.as_datatype_enum == number + 100
    assert as_dtype(f"{name}_ref") is as_dtype(number + 100) is ref
    assert ref != base
    assert base.is_compatible_with(ref)
    assert not ref.is_compatible_with(base)
    for what in ("is_integer", "is_floating", "is_complex", "is_bool", "is_unsigned", "size"):
        assert getattr(ref, what) == getattr(base, what)


@pytest.mark.parametrize("name", sorted({*NUMERIC, "bool"} - {"bfloat16"}))
def test_numpy(name):
    dtype, numpy = getattr(dtypes, name), np.dtype(name)
    assert dtype.as_numpy_dtype is numpy.type
    assert dtype._as_ref.as_numpy_dtype is numpy.type
    assert dtype.size == dtype.itemsize == numpy.itemsize
    assert dtype.is_numpy_compatible
    big_endian = numpy.newbyteorder(">")
    for value in (numpy, numpy.type, numpy.type(1), np.zeros(2, numpy), big_endian):
        assert as_dtype(value) is dtype
    assert dtype == numpy
    assert numpy == dtype
    assert dtype == numpy.type
    assert dtype.is_integer == np.issubdtype(numpy, np.integer)
    assert dtype.is_floating == np.issubdtype(numpy, np.floating)
    assert dtype.is_complex == np.issubdtype(numpy, np.complexfloating)
    assert dtype.is_unsigned == np.issubdtype(numpy, np.unsignedinteger)
    assert dtype.is_bool == (name == "bool")


def test_every_c_integer_of_numpy_is_known():
    for code in "bBhHiIlLqQ":
        assert as_dtype(np.dtype(code)) == np.dtype(code)
        assert as_dtype(np.dtype(code).type).itemsize == np.dtype(code).itemsize


def test_strings_and_resources():
    assert dtypes.string.as_numpy_dtype is object
    assert dtypes.string.is_numpy_compatible
    assert (dtypes.string.size, dtypes.string.itemsize) == (8, 8)
    assert not dtypes.resource.is_numpy_compatible
    assert (dtypes.resource.size, dtypes.resource.itemsize) == (1, 8)
    with pytest.raises(TypeError, match=r"tf\.resource"):
        _ = dtypes.resource.as_numpy_dtype
    for value in (np.dtype("O"), np.dtype("S3"), np.dtype("U3"), np.str_, np.bytes_, np.object_):
        assert as_dtype(value) is dtypes.string


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (float, "float32"),
        (bool, "bool"),
        (complex, "complex128"),
        (str, "string"),
        (bytes, "string"),
        (object, "string"),
        ("float", "float32"),
        ("double", "float64"),
        ("half", "float16"),
        ("half_ref", "float16_ref"),
    ],
)
def test_python_types_and_aliases(value, name):
    assert as_dtype(value) is getattr(dtypes, name)


@pytest.mark.parametrize(
    ("name", "number", "integers"),
    [
        ("qint8", 11, np.int8),
        ("quint8", 12, np.uint8),
        ("qint32", 13, np.int32),
        ("qint16", 15, np.int16),
        ("quint16", 16, np.uint16),
    ],
)
def test_quantized_types(name, number, integers):
    dtype = as_dtype(name)
    assert dtype is as_dtype(number) is getattr(dtypes, name)
    assert dtype is as_dtype(dtype.as_numpy_dtype) is as_dtype(np.dtype([(name, integers)]))
    assert dtype.is_quantized
    assert not (dtype.is_integer or dtype.is_floating or dtype.is_unsigned)
    assert {dtype, as_dtype(f"{name}_ref")} < dtypes.QUANTIZED_DTYPES
    assert dtype.size == np.dtype(integers).itemsize
    for extreme in ("min", "max"):
        with pytest.raises(TypeError, match=f"Cannot find the {extreme}imum value of"):
            getattr(dtype, extreme)
    with pytest.raises(ValueError, match="does not have defined limits"):
        dtype.limits  # noqa: B018
    assert not dtypes.int8.is_quantized


def test_a_variant_has_no_arrays():
    assert (dtypes.variant.as_datatype_enum, dtypes.variant.size) == (21, 1)
    with pytest.raises(TypeError, match="no NumPy type"):
        dtypes.variant.as_numpy_dtype  # noqa: B018


def test_python_s_int_is_no_dtype():
    python_type: object = int
    assert dtypes.int32 != python_type


@pytest.mark.parametrize(
    "value",
    [
        *(None, 0, 24, 77, int, 120.0, 1.0, True, [1]),
        *("int", "f4", "<f4", "str", "float128"),
        *(dict, np.void, np.floating, np.longdouble, np.dtype("M8"), np.dtype([("a", "f4")])),
    ],
)
def test_no_dtype(value):
    with pytest.raises(TypeError, match=r"Cannot convert value .* to a TensorFlow DType"):
        as_dtype(value)
    assert dtypes.float32 != value
    assert (dtypes.float32 == value) is False


def test_no_number():
    with pytest.raises(TypeError, match="77"):
        DType(77)


def test_equality():
    assert dtypes.float32 == "float32" == dtypes.float32
    assert dtypes.float32 == 1
    assert dtypes.float32 == float  # noqa: E721 - the point of it
    assert dtypes.float32 != dtypes.float64
    assert dtypes.float32 != "float64"
    assert dtypes.half is dtypes.float16
    assert dtypes.double is dtypes.float64
    assert dtypes.half_ref is dtypes.float16_ref
    assert dtypes.double_ref is dtypes.float64_ref


def test_real_dtype():
    assert dtypes.complex64.real_dtype is dtypes.float32
    assert dtypes.complex128.real_dtype is dtypes.float64
    assert dtypes.complex64_ref.real_dtype is dtypes.float32
    assert dtypes.int32.real_dtype is dtypes.int32
    assert dtypes.int32_ref.real_dtype is dtypes.int32_ref
    assert dtypes.string.real_dtype is dtypes.string


@pytest.mark.parametrize("dtype", dtypes.INTEGRAL)
def test_integer_range(dtype):
    info = np.iinfo(dtype.as_numpy_dtype)
    assert (dtype.min, dtype.max) == (info.min, info.max)
    assert dtype.limits == (0, info.max)
    assert dtype._as_ref.max == info.max


@pytest.mark.parametrize("dtype", dtypes.FLOATING)
def test_floating_range(dtype):
    if dtype is dtypes.bfloat16:
        pytest.importorskip("ml_dtypes")
    info = finfo(dtype.as_numpy_dtype)
    assert (dtype.min, dtype.max) == (info.min, info.max)


def test_limits_of_pixels():
    assert dtypes.float32.limits == dtypes.float64.limits == (0, 1)
    assert dtypes.bool.limits == (0, True)
    for dtype in (
        dtypes.float16,
        dtypes.bfloat16,
        dtypes.complex64,
        dtypes.string,
        dtypes.resource,
    ):
        with pytest.raises(ValueError, match="limits"):
            _ = dtype.limits


@pytest.mark.parametrize("dtype", [*dtypes.COMPLEX, dtypes.bool, dtypes.string, dtypes.resource])
def test_values_without_order(dtype):
    with pytest.raises(TypeError, match="minimum"):
        _ = dtype.min
    with pytest.raises(TypeError, match="maximum"):
        _ = dtype.max


def test_compatibility():
    assert dtypes.float32.is_compatible_with("float32")
    assert not dtypes.float32.is_compatible_with(np.float64)
    with pytest.raises(TypeError):
        dtypes.float32.is_compatible_with("what")


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.bool_ref, dtypes.resource])
def test_one_object(dtype):
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.deepcopy(dtype) is dtype
    with pytest.raises(AttributeError, match="read only"):
        dtype.name = "other"


def test_sets_hold_what_they_say():
    assert all(d.is_floating for d in dtypes.FLOATING)
    assert all(d.is_integer for d in dtypes.INTEGRAL)
    assert all(d.is_complex for d in dtypes.COMPLEX)
    assert set(dtypes.REAL) == {*dtypes.FLOATING, *dtypes.INTEGRAL}
    assert {d.name for d in dtypes.NUMERIC} == set(NUMERIC)
    quantized = {d.name for d in dtypes.QUANTIZED}
    assert {d.name for d in dtypes.ALL} == {*NUMBERS, "variant", *quantized}
    assert len(dtypes.ALL) == len(NUMBERS) + 6
