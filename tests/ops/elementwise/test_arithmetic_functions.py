"""Arithmetic of two tensors: values, broadcasting, gradients, divisions by zero."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
import gpugraph.ops
from gpugraph.base import dtypes
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.graph.client.client_graph import Graph
from gpugraph.kernel import Elementwise
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.elementwise import arithmetic_functions as math, division
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS, raw_ops
from gpugraph.ops.framework.op_evaluation import ArrayContext, run_kernel
from gpugraph.ops.framework.tensor_conversion import constant

from ..evaluator import check_gradient, evaluate, gradients

NAN, INF = np.nan, np.inf


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as graph:
        yield graph


def run(op_type, x, y):
    return evaluate(getattr(raw_ops, op_type)(constant(x), constant(y)))


@pytest.mark.parametrize(
    ("op_type", "reference"),
    [
        ("Add", np.add),
        ("AddV2", np.add),
        ("Sub", np.subtract),
        ("Mul", np.multiply),
        ("Maximum", np.maximum),
        ("Minimum", np.minimum),
        ("SquaredDifference", lambda x, y: (x - y) ** 2),
        ("FloorDiv", np.floor_divide),
        ("FloorMod", np.mod),
        ("TruncateMod", np.fmod),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
@pytest.mark.parametrize(
    ("left", "right"), [((3, 4), (3, 4)), ((3, 1), (4,)), ((), (2, 3)), ((0, 3), (1, 3))]
)
def test_values_follow_numpy(op_type, reference, dtype, left, right):
    random = np.random.default_rng(3)
    x = random.integers(-9, 10, left).astype(dtype)
    y = (random.integers(1, 5, right) * random.choice([-1, 1], right)).astype(dtype)
    result = run(op_type, x, y)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, reference(x, y))


@pytest.mark.parametrize(
    ("op_type", "values"),
    [
        ("FloorDiv", [3, -4, -4, 3]),
        ("TruncateDiv", [3, -3, -3, 3]),
        ("Div", [3, -3, -3, 3]),
        ("FloorMod", [1, 1, -1, -1]),
        ("TruncateMod", [1, -1, 1, -1]),
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_integer_quotients(op_type, values, dtype):
    x, y = np.array([7, -7, 7, -7], dtype), np.array([2, 2, -2, -2], dtype)
    np.testing.assert_array_equal(run(op_type, x, y), values)


@pytest.mark.parametrize("op_type", ["FloorDiv", "TruncateDiv", "Div", "FloorMod", "TruncateMod"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_integers_by_zero_are_an_error(op_type, dtype):
    with pytest.raises(InvalidArgumentError, match="division by zero"):
        run(op_type, np.array([7, 1], dtype), np.array([0, 1], dtype))


def test_the_lowest_integer_by_minus_one_wraps():
    x = np.array([-(2**31)], np.int32)
    for op_type in ("FloorDiv", "TruncateDiv", "Div"):
        np.testing.assert_array_equal(run(op_type, x, np.int32([-1])), x)
    for op_type in ("FloorMod", "TruncateMod"):
        np.testing.assert_array_equal(run(op_type, x, np.int32([-1])), [0])


def test_floats_divide_as_ieee_says():
    x = np.float32([7, -7, 1, 0, INF, 1])
    y = np.float32([2, 2, 0, 0, 2, INF])
    np.testing.assert_array_equal(run("FloorDiv", x, y), np.float32([3, -4, INF, NAN, INF, 0]))
    np.testing.assert_array_equal(run("TruncateDiv", x, y), np.float32([3, -3, INF, NAN, INF, 0]))
    np.testing.assert_array_equal(run("RealDiv", x, y), np.float32([3.5, -3.5, INF, NAN, INF, 0]))
    np.testing.assert_array_equal(
        run("FloorMod", np.float32([1, -1]), np.float32(-INF)), [-INF, -1]
    )


def test_div_no_nan():
    x = np.float32([1, 0, NAN, INF, 1, 6])
    y = np.float32([0, 0, 0, 0, NAN, 3])
    np.testing.assert_array_equal(run("DivNoNan", x, y), np.float32([0, 0, 0, 0, NAN, 2]))
    np.testing.assert_array_equal(run("DivNoNan", np.ones((2, 2)), np.zeros(2)), np.zeros((2, 2)))


def test_nan_wins_in_extremes():
    x, y = np.float32([NAN, 1]), np.float32([1, NAN])
    assert np.isnan(run("Maximum", x, y)).all()
    assert np.isnan(run("Minimum", x, y)).all()


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -1, -2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers(exponent, dtype):
    x = np.array([0, 1, 2.5, 7, -3], dtype)
    with np.errstate(all="ignore"):
        wanted = np.power(x, np.array(exponent, dtype))
    np.testing.assert_array_equal(run("Pow", x, np.array(exponent, dtype)), wanted)
    result = run("Pow", x, np.full(5, exponent, dtype))
    np.testing.assert_allclose(result, wanted, rtol=1e-6)


def test_integer_powers():
    np.testing.assert_array_equal(run("Pow", np.int32([2, -2, 3]), np.int32(3)), [8, -8, 27])
    np.testing.assert_array_equal(run("Pow", np.int32([2, -2, 3]), np.int32(2)), [4, 4, 9])
    with pytest.raises(InvalidArgumentError, match="negative integer powers"):
        run("Pow", np.int32([2]), np.int32([-1]))


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_add_n(count):
    arrays = [np.full((2, 3), i, np.float32) for i in range(count)]
    output = raw_ops.AddN([constant(array) for array in arrays])
    np.testing.assert_array_equal(evaluate(output), sum(arrays))


def takes(op_def, dtype):
    """Return whether the op's first input may have that dtype."""
    known = op_def.inputs[0].type or next(iter(op_def.attrs.values())).allowed
    return dtypes.as_dtype(dtype) in (known if isinstance(known, tuple) else (known,))


IN_PLACE = [
    (name, index, dtype)
    for name, decl in sorted(DECLARATIONS.items())
    for index in range(len(decl.op_def.inputs))
    if decl.memory.alias and len({arg.type_attr for arg in decl.op_def.inputs}) == 1
    if name == "AddN" or isinstance(find_kernel(name, "GPU", {}).kernel, Elementwise)
    for dtype in ("float32", "int32", "bool")
    if takes(decl.op_def, dtype)
]


@pytest.mark.parametrize(("op_type", "index", "dtype"), IN_PLACE)
def test_elementwise_ops_may_write_over_any_input(op_type, index, dtype):
    op_def = DECLARATIONS[op_type].op_def
    attrs = {key: attr.default for key, attr in op_def.attrs.items() if attr.has_default}
    for key, attr in op_def.attrs.items():
        if attr.kind == "type":
            attrs.setdefault(key, dtypes.as_dtype(dtype))
    number = 3 if op_def.inputs[0].number_attr else len(op_def.inputs)
    attrs["N"] = number
    random = np.random.default_rng(1)
    shape = (4, 5)
    for repeated in (False, True):
        values = [(random.integers(1, 4, shape) / 2).astype(dtype) + 1 for _ in range(number)]
        values = [value.astype(dtype) for value in values]
        if repeated:
            values = values[:1] * number
        kernel = find_kernel(op_type, "CPU", attrs).kernel
        wanted = run_kernel(op_def, kernel, attrs, values)[0]
        if wanted.itemsize != values[0].itemsize:
            pytest.skip("another size")
        copies = [value.copy() for value in values]
        if repeated:
            copies = copies[:1] * number
        out = copies[index].view(wanted.dtype)
        types = [dtypes.as_dtype(wanted.dtype)]
        context = ArrayContext(op_type, attrs, copies, [shape], types)
        with np.errstate(all="ignore"):
            kernel.bind(context, [*copies, out])()
        np.testing.assert_array_equal(out, wanted)


def test_add_n_takes_one_shape_and_at_least_one():
    x = constant([1.0, 2.0])
    assert math.add_n([x]) is x
    assert math.add_n([x], name="same").op.type == "Identity"
    with pytest.raises(ValueError):
        math.add_n([])
    with pytest.raises(ValueError, match="in both shapes must be equal"):
        math.add_n([x, constant([1.0, 2.0, 3.0])])
    assert math.add_n([placeholder("float32"), x]).shape == (2,)


def test_strings_are_joined():
    result = evaluate(math.add(constant(["a", "b"]), constant("c")))
    assert result.tolist() == [b"ac", b"bc"]


PAIRS = ["Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "DivNoNan", "SquaredDifference", "Pow"]
PAIRS += ["Maximum", "Minimum"]


@pytest.mark.parametrize("op_type", PAIRS)
@pytest.mark.parametrize(("left", "right"), [((2, 3), (2, 3)), ((2, 1), (3,)), ((), (2,))])
def test_gradients(op_type, left, right):
    random = np.random.default_rng(5)
    x, y = random.uniform(0.5, 2, left), random.uniform(0.5, 2, right)
    check_gradient(getattr(raw_ops, op_type), x, y, order=2, tolerance=1e-4)


def test_gradient_of_the_remainder():
    check_gradient(raw_ops.FloorMod, [5.3, -5.3, 7.1], [2.0, 2.0, -3.0])
    check_gradient(raw_ops.TruncateMod, [5.3, -5.3, 7.1], [2.0, 2.0, -3.0])


def test_gradient_of_add_n():
    check_gradient(lambda x, y: raw_ops.AddN([x, y, x]), [1.0, 2.0], [3.0, 4.0])


def test_ties_go_to_the_first():
    for function in (raw_ops.Maximum, raw_ops.Minimum):
        x, y = constant([1.0, 2.0, 3.0]), constant([1.0, 3.0, 2.0])
        dx, dy = evaluate(gradients(function(x, y), [x, y]))
        assert dx[0] == 1
        np.testing.assert_array_equal(dx + dy, 1)


def test_gradient_of_powers_of_zero_and_negatives():
    x, y = constant([0.0, -1.0, 2.0]), constant([2.0, 2.0, 0.0])
    dx, dy = evaluate(gradients(raw_ops.Pow(x, y), [x, y]))
    np.testing.assert_allclose(dx, [0, -2, 0])
    np.testing.assert_allclose(dy, [0, 0, np.log(2)], rtol=1e-6)


def test_complex_gradients_are_conjugated():
    x, y = constant(np.complex128([1 + 2j])), constant(np.complex128([3 - 1j]))
    dx, dy = evaluate(gradients(raw_ops.Mul(x, y), [x, y]))
    np.testing.assert_allclose(dx, [3 + 1j])
    np.testing.assert_allclose(dy, [1 - 2j])


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 2"):
        math.add(placeholder("float32", [2, 3]), placeholder("float32", [2]))
    assert math.multiply(placeholder("float32", [None, 3]), 2.0).shape.as_list() == [None, 3]


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [("int8", "float32"), ("int16", "float32"), ("int32", "float64"), ("int64", "float64")],
)
def test_integers_divide_truly(dtype, wanted):
    result = division.truediv(constant([7, 2], dtype), 2)
    assert result.dtype == wanted
    assert result.name == "truediv:0"
    np.testing.assert_array_equal(evaluate(result), [3.5, 1])


def test_division_by_name():
    x = placeholder("float32", [2], name="x")
    whole = placeholder("int32", [2], name="i")
    assert division.div(x, 2.0).op.type == "RealDiv"
    assert division.div(whole, 2).op.type == "FloorDiv"
    assert division.divide(3, 2).dtype is dtypes.float64
    assert division.floordiv(x, 2.0).op.name == "floordiv"
    assert division.floor_div(x, 2.0).op.name == "FloorDiv_1"  # names differ by more than case
    with pytest.raises(TypeError, match="must have the same dtype"):
        division.truediv(whole, x)


@pytest.mark.parametrize(
    ("function", "op_type"),
    [
        ("add", "Add"),
        ("subtract", "Sub"),
        ("multiply", "Mul"),
        ("mod", "FloorMod"),
        ("floormod", "FloorMod"),
        ("pow", "Pow"),
        ("maximum", "Maximum"),
        ("minimum", "Minimum"),
        ("squared_difference", "SquaredDifference"),
        ("div_no_nan", "DivNoNan"),
    ],
)
def test_functions_make_their_op(function, op_type):
    x = placeholder("float32", [2], name="x")
    module = math if hasattr(math, function) else division
    output = getattr(module, function)(x, 2.0)
    assert (output.op.type, output.op.name) == (op_type, op_type)
    assert output.op.inputs[1].name == f"{op_type}/y:0"
    assert getattr(module, function)(x, 2.0, "mine").op.name == "mine"


@pytest.mark.parametrize(
    ("s0", "s1", "r0", "r1"),
    [
        ([2, 1], [1, 3], [1], [0]),
        ([], [2, 3], [0, 1], []),
        ([2, 3], [2, 3], [], []),
        ([1, 1], [2, 1, 3], [0, 1, 2], [1]),
        ([1, 1], [1, 1], [], []),
        ([1, 1], [1, 1, 1], [0, 1, 2], [0, 1, 2]),
        ([1, 3], [5, 1, 1, 3], [0, 1, 2], [1, 2]),
        ([1, 3], [0, 3], [0], []),
    ],
)
def test_broadcast_gradient_args(s0, s1, r0, r1):
    output = raw_ops.BroadcastGradientArgs(np.array(s0, np.int32), np.array(s1, np.int32))
    assert [array.shape.as_list() for array in output] == [[len(r0)], [len(r1)]]
    assert [array.tolist() for array in evaluate(list(output))] == [r0, r1]


def test_broadcast_gradient_args_of_unknown_sizes():
    sizes = placeholder("int32", [2])
    output = raw_ops.BroadcastGradientArgs(sizes, np.array([1, 3], np.int32))
    assert output.r0.shape.as_list() == [None]
    assert [array.tolist() for array in evaluate(list(output), {sizes: [2, 1]})] == [[1], [0]]
    with pytest.raises(ValueError, match="Incompatible shapes"):
        raw_ops.BroadcastGradientArgs(np.int32([2]), np.int32([3]))


def test_squared_difference_of_complex_values():
    with tf.Graph().as_default(), tf.Session() as session:
        for x in ([1j], np.array([1j]), tf.constant([1j])):
            assert session.run(tf.squared_difference(x, [1.0 + 0j])).tolist() == [2.0]
