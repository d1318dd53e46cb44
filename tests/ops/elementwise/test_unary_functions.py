"""Functions of one element: values against NumPy and math, gradients, dtypes, names."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gpugraph.ops  # noqa: F401
from gpugraph import Session
from gpugraph.base import dtypes
from gpugraph.base.errors import UnimplementedError
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.arrays import cast as casting
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.elementwise import complex_conjugate as complex_numbers, unary_functions
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant

from ..evaluator import check_gradient, evaluate, gradients

NAN, INF = np.nan, np.inf


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as graph:
        yield graph


def run(op_type, x):
    return evaluate(getattr(raw_ops, op_type)(constant(x)))


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


REFERENCES = {
    "Neg": np.negative,
    "Abs": np.abs,
    "Sign": np.sign,
    "Square": np.square,
    "Sqrt": np.sqrt,
    "Rsqrt": lambda x: 1 / np.sqrt(x),
    "Reciprocal": np.reciprocal,
    "Inv": np.reciprocal,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Log": np.log,
    "Log1p": np.log1p,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Softplus": softplus,
    "Erf": erf,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Rint": np.rint,
    "Round": np.rint,
}
POSITIVE = {"Sqrt", "Rsqrt", "Log", "Log1p", "Reciprocal", "Inv"}


def points(op_type):
    positive = op_type in POSITIVE
    return np.linspace(0.1, 4, 30) if positive else np.linspace(-4, 4, 31)


@pytest.mark.parametrize("op_type", REFERENCES)
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float16", 4e-3), ("float32", 2e-6), ("float64", 4e-15)]
)
def test_values(op_type, dtype, tolerance):
    x = points(op_type).astype(dtype)
    result = run(op_type, x)
    assert result.dtype == dtype
    wanted = REFERENCES[op_type](x.astype(np.float64))
    np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance / 10)
    assert run(op_type, np.zeros((0, 2), dtype)).shape == (0, 2)
    assert run(op_type, x[3]) == result[3]


@pytest.mark.parametrize("op_type", ["Neg", "Abs", "Sign", "Square", "Round"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_integers(op_type, dtype):
    x = np.array([-3, 0, 5], dtype)
    wanted = x if op_type == "Round" else REFERENCES[op_type](x)
    np.testing.assert_array_equal(run(op_type, x), wanted)


@pytest.mark.parametrize("op_type", ["Exp", "Log", "Sqrt", "Rsqrt", "Tanh", "Sigmoid", "Sign"])
def test_complex_numbers(op_type):
    x = np.complex128([1 + 2j, 0.5 - 1j])
    np.testing.assert_allclose(run(op_type, x), REFERENCES[op_type](x))


def test_erf_is_precise():
    x = np.concatenate([np.linspace(-7, 7, 20001), np.logspace(-30, 0, 50), [INF, -INF]])
    np.testing.assert_allclose(run("Erf", x), erf(x), rtol=1e-15)
    small = x.astype(np.float32)
    np.testing.assert_allclose(run("Erf", small), erf(small), rtol=5e-7)
    assert np.abs(run("Erf", small)).max() == 1
    assert np.isnan(run("Erf", np.array([NAN]))).all()
    assert np.signbit(run("Erf", np.array([-0.0])))[0]


def test_nothing_overflows():
    x = np.float32([-INF, -100, 0, 100, INF])
    np.testing.assert_array_equal(run("Sigmoid", x), np.float32([0, 0, 0.5, 1, 1]))
    np.testing.assert_allclose(run("Softplus", x), [0, 0, np.log(2), 100, INF], atol=1e-30)
    assert run("Softplus", np.float32([-20]))[0] == pytest.approx(math.exp(-20), rel=1e-6)


def test_halves_are_rounded_to_even():
    x = np.float32([0.5, 1.5, 2.5, -0.5, -1.5])
    np.testing.assert_array_equal(run("Round", x), [0, 2, 2, 0, -2])
    np.testing.assert_array_equal(run("Rint", x), [0, 2, 2, 0, -2])


def test_kinds_of_numbers():
    x = np.float32([1, NAN, INF, -INF])
    assert run("IsNan", x).tolist() == [False, True, False, False]
    assert run("IsInf", x).tolist() == [False, False, True, True]
    assert run("IsFinite", x).tolist() == [True, False, False, False]


SMOOTH = sorted(set(REFERENCES) - {"Floor", "Ceil", "Rint", "Round", "Sign", "Abs"})


@pytest.mark.parametrize("op_type", SMOOTH)
def test_gradients(op_type):
    x = points(op_type)[1::5] + 0.03
    if op_type == "Tan":
        x = x / 4
    check_gradient(getattr(raw_ops, op_type), x, order=2, tolerance=1e-4)


@pytest.mark.parametrize(
    "op_type", ["SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad", "TanhGrad", "SigmoidGrad"]
)
def test_gradients_of_gradient_ops(op_type):
    check_gradient(getattr(raw_ops, op_type), [0.5, 0.7, 0.9], [1.0, 2.0, 3.0], tolerance=1e-4)


def test_gradient_of_softplus_grad():
    check_gradient(raw_ops.SoftplusGrad, [0.5, 0.7, 0.9], [-1.0, 2.0, 0.0], order=2)


def test_gradient_of_abs_and_sign():
    x = constant([0.0, -1.0, 2.0])
    assert evaluate(gradients(raw_ops.Abs(x), [x]))[0].tolist() == [0, -1, 1]
    assert evaluate(gradients(raw_ops.Sign(x), [x]))[0].tolist() == [0, 0, 0]
    assert gradients(raw_ops.Floor(x), [x]) == [None]


def test_gradient_ops_take_one_shape():
    with pytest.raises(ValueError, match="in both shapes must be equal"):
        raw_ops.TanhGrad(placeholder("float32", [2]), placeholder("float32", [3]))


@pytest.mark.parametrize(
    ("source", "target", "values", "wanted"),
    [
        ("float32", "int32", [1.9, -1.9, 0.5], [1, -1, 0]),
        ("float64", "float32", [1.5, 1e300], [1.5, INF]),
        ("int64", "int32", [2**32 + 5], [5]),
        ("float32", "bool", [0.0, -0.0, 0.5, NAN], [False, False, True, True]),
        ("bool", "float32", [True, False], [1, 0]),
        ("complex64", "float32", [1 + 2j], [1]),
        ("complex64", "bool", [2j], [False]),
        ("float32", "complex64", [1.5], [1.5]),
        ("float32", "float16", [1.0009765625], [1.0009765625]),
        ("float32", "uint8", [3.7], [3]),
    ],
)
def test_cast(source, target, values, wanted):
    output = casting.cast(constant(np.array(values, source)), target)
    assert output.dtype == target
    np.testing.assert_array_equal(evaluate(output), np.array(wanted, target))


def test_cast_of_nan_warns_nobody():
    result = evaluate(casting.cast(constant([NAN, INF]), "int32"))
    assert result.tolist() == [-(2**31)] * 2


def test_cast_makes_nothing_where_it_can():
    x = placeholder("float32", [2], name="x")
    assert casting.cast(x, dtypes.float32) is x
    assert casting.to_float(x) is x
    assert casting.to_int32(x).op.name == "ToInt32"
    assert casting.to_int64(x).op.name == "ToInt64"
    assert casting.to_double(x).op.name == "ToDouble"
    output = casting.cast(3, "float32")
    assert [output.op.name, output.op.inputs[0].op.name] == ["Cast", "Cast/x"]
    assert casting.cast(3.0, "float32").op.type == "Const"


def test_gradient_of_cast():
    x = constant([1.0])
    (dx,) = gradients(casting.cast(casting.cast(x, "float64"), "float16"), [x])
    assert dx.dtype is dtypes.float32
    assert evaluate(dx).tolist() == [1]
    assert gradients(casting.cast(casting.cast(x, "int32"), "float32"), [x]) == [None]


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        (["1"], "float32", "Cast string to float is not supported"),
        ([1], "string", "Cast int32 to string is not supported: tf.as_string"),
    ],
)
def test_strings_can_not_be_cast(value, dtype, message):
    result = casting.cast(constant(value), dtype)
    assert result.shape.as_list() == [1] and result.dtype.name == dtype
    with Session(graph=result.graph) as session, pytest.raises(UnimplementedError, match=message):
        session.run(result)


def test_conj():
    x = constant([1.0])
    assert complex_numbers.conj(x) is x
    assert evaluate(complex_numbers.conj(constant(np.complex64([1 + 2j])))).tolist() == [1 - 2j]


PUBLIC = {
    name
    for name, value in vars(unary_functions).items()
    if getattr(value, "__module__", "") == unary_functions.__name__ and not name.startswith("_")
}
NOT_NAMED_SO = {"negative", "absolute", "log_sigmoid", "unary", "from_slope"}
"""Functions whose op type is none of theirs."""


@pytest.mark.parametrize("name", sorted(PUBLIC - NOT_NAMED_SO))
def test_functions_make_their_op(name):
    x = placeholder("float32", [2, None], name="features")
    output = getattr(unary_functions, name)(x)
    assert output.op.name == output.op.type == name.title().replace("_", "").replace("1P", "1p")
    assert output.shape.as_list() == [2, None]
    assert getattr(unary_functions, name)(x, "mine").op.name == "mine"


def test_functions_refuse_dtypes():
    with pytest.raises(TypeError, match="DataType int32 not in list of allowed values"):
        unary_functions.tanh(constant([1]))
    whole = constant([1, 2])
    assert unary_functions.round(whole) is whole
    assert unary_functions.negative(2.0).op.name == "Neg"
