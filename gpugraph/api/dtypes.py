"""Element types and conversions between them, as in `tf.dtypes`."""

from gpugraph.base.dtypes import (
    ALL as ALL, QUANTIZED_DTYPES as QUANTIZED_DTYPES, COMPLEX as COMPLEX,
    FLOATING as FLOATING, INTEGRAL as INTEGRAL, NUMERIC as NUMERIC,
    REAL as REAL, DType as DType, as_dtype as as_dtype, bfloat16 as bfloat16,
    bfloat16_ref as bfloat16_ref, bool as bool, bool_ref as bool_ref, complex64 as complex64,
    complex64_ref as complex64_ref, complex128 as complex128, complex128_ref as complex128_ref,
    double as double, double_ref as double_ref, float16 as float16, float16_ref as float16_ref,
    float32 as float32, float32_ref as float32_ref, float64 as float64, float64_ref as float64_ref,
    half as half, half_ref as half_ref, int8 as int8, int8_ref as int8_ref, int16 as int16,
    int16_ref as int16_ref, int32 as int32, int32_ref as int32_ref, int64 as int64,
    int64_ref as int64_ref, resource as resource, resource_ref as resource_ref, string as string,
    string_ref as string_ref, uint8 as uint8, uint8_ref as uint8_ref, uint16 as uint16,
    uint16_ref as uint16_ref, uint32 as uint32, uint32_ref as uint32_ref, uint64 as uint64,
    uint64_ref as uint64_ref,
    qint8 as qint8, qint8_ref as qint8_ref, qint16 as qint16, qint16_ref as qint16_ref,
    qint32 as qint32, qint32_ref as qint32_ref, quint8 as quint8, quint8_ref as quint8_ref,
    quint16 as quint16, quint16_ref as quint16_ref, variant as variant, variant_ref as variant_ref,
)
from gpugraph.ops.arrays.cast import cast as cast, saturate_cast as saturate_cast
from gpugraph.ops.elementwise.complex_parts import complex as complex
from gpugraph.ops.strings.string_to_number import as_string as as_string
