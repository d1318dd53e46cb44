"""Reductions, positions of extremes, ranges, running sums: values, shapes, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph.ops  # noqa: F401
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.reductions import (
    argmax_and_argmin as arg_reductions,
    ranges_and_running_sums as sequences,
    reduction_functions,
)

from ..evaluator import check_gradient, evaluate, gradients

NAN, INF = np.nan, np.inf
AXES = [None, 0, 1, -1, [0], [0, 2], [0, 1, 2], [1, 2], [], [-1, 0]]


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as graph:
        yield graph


def reduce(name, x, *args, **kwargs):
    return getattr(reduction_functions, f"reduce_{name}")(constant(x), *args, **kwargs)


def as_axis(axis):
    return tuple(axis) if isinstance(axis, list) else axis


NUMPY = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keep", [False, True])
def test_values(name, axis, keep):
    x = np.random.default_rng(2).uniform(0.5, 1.5, (2, 3, 4))
    output = reduce(name, x, axis, keep)
    wanted = NUMPY[name](x, axis=as_axis(axis), keepdims=keep)
    assert output.shape == wanted.shape
    np.testing.assert_allclose(evaluate(output), wanted, rtol=1e-14)


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "int8", "uint8", "int16", "int32", "int64"]
)
def test_dtypes(name, dtype):
    x = np.array([[1, 2, 3], [4, 5, 2]], dtype)
    result = evaluate(reduce(name, x, 1))
    assert result.dtype == dtype
    wanted = NUMPY[name](x.astype(np.float64), axis=1)
    wanted = np.trunc(wanted) if np.dtype(dtype).kind in "iu" else wanted
    np.testing.assert_allclose(result, wanted, rtol=1e-3)


def test_complex_numbers():
    x = np.complex64([[1 + 1j, 2], [3, 4j]])
    for name in ("sum", "mean", "prod"):
        np.testing.assert_allclose(evaluate(reduce(name, x)), NUMPY[name](x))


def test_half_precision_is_accumulated_in_single():
    assert evaluate(reduce("sum", np.ones((5000, 1), np.float16), 0)).tolist() == [5000]
    assert evaluate(reduce("mean", np.ones(100000, np.float16))) == 1


def test_integer_mean_is_cut_towards_zero():
    assert evaluate(reduce("mean", np.int32([-1, -2, -4]))) == -2
    assert evaluate(reduce("mean", np.int32([2**31 - 1] * 4))) == 2**31 - 1


@pytest.mark.parametrize(
    ("name", "dtype", "wanted"),
    [
        ("sum", "float32", 0),
        ("prod", "float32", 1),
        ("max", "float32", -INF),
        ("min", "float32", INF),
        ("max", "int32", -(2**31)),
        ("min", "int64", 2**63 - 1),
        ("max", "uint8", 0),
        ("mean", "float32", NAN),
        ("mean", "int32", 0),
        ("all", "bool", True),
        ("any", "bool", False),
    ],
)
def test_reducing_nothing(name, dtype, wanted):
    np.testing.assert_array_equal(
        evaluate(reduce(name, np.zeros((0, 2), dtype), 0)), np.array([wanted] * 2, dtype)
    )
    assert evaluate(reduce(name, np.zeros((2, 0), dtype), 0)).shape == (0,)
    np.testing.assert_array_equal(evaluate(reduce(name, np.zeros(0, dtype))), wanted)


def test_scalars():
    for name in NUMPY:
        assert evaluate(reduce(name, np.float32(3))) == 3
        assert evaluate(reduce(name, np.float16(3))) == 3


def test_nan_wins():
    x = np.float32([1, NAN, 2])
    assert np.isnan(evaluate([reduce("max", x), reduce("min", x)])).all()


@pytest.mark.parametrize("axis", [None, 0, 1, [0, 1]])
def test_logic(axis):
    x = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(evaluate(reduce("all", x, axis)), np.all(x, as_axis(axis)))
    np.testing.assert_array_equal(evaluate(reduce("any", x, axis)), np.any(x, as_axis(axis)))


def test_shapes_known_in_part():
    x = placeholder("float32", [None, 3])
    assert reduction_functions.reduce_sum(x, 1).shape.as_list() == [None]
    assert reduction_functions.reduce_sum(x, 1, True).shape.as_list() == [None, 1]
    axis = placeholder("int32", [])
    assert reduction_functions.reduce_sum(x, axis).shape.rank is None
    assert reduction_functions.reduce_sum(x, axis, True).shape.as_list() == [None, None]
    unknown = placeholder("float32")
    output = reduction_functions.reduce_sum(unknown)
    assert output.shape == ()
    assert evaluate(output, {unknown: [[1, 2], [3, 4]]}) == 10


def test_axes():
    x = np.arange(6.0).reshape(2, 3)
    with pytest.raises(ValueError, match="Invalid reduction dimension 2 for input"):
        reduce("sum", x, 2)
    with pytest.raises(ValueError, match="must be at most rank 1 but is rank 2"):
        reduce("sum", x, [[0, 1]])
    with pytest.raises(ValueError, match="Cannot specify both"):
        reduce("sum", x, 1, reduction_indices=1)
    with pytest.raises(TypeError, match="not in list of allowed values"):
        reduce("sum", x, 1.0)
    axis = placeholder("int32")
    output = reduce("sum", x, axis)
    assert evaluate(output, {axis: [0, 0]}).tolist() == [3, 5, 7]
    with pytest.raises((InvalidArgumentError, ValueError), match="Invalid reduction dimension 5"):
        evaluate(output, {axis: 5})
    assert reduce("sum", x, np.int64(1)).shape == (2,)
    assert reduce("sum", x, reduction_indices=[1], keep_dims=True).shape == (2, 1)


def test_names_and_graphs(graph):
    x = placeholder("float32", [2, 3], name="x")
    reduction_functions.reduce_sum(x)
    reduction_functions.reduce_mean(x, 1)
    assert [op.name for op in graph.get_operations()] == [
        "x", "Const", "Sum", "Mean/reduction_indices", "Mean",
    ]  # fmt: skip


@pytest.mark.parametrize("name", [*NUMPY, "logsumexp"])
@pytest.mark.parametrize("axis", [None, 0, [0, 2], []])
@pytest.mark.parametrize("keep", [False, True])
def test_gradients(name, axis, keep):
    x = np.random.default_rng(4).uniform(0.5, 1.5, (2, 2, 3))
    function = getattr(reduction_functions, f"reduce_{name}")
    order = 1 if name == "prod" else 2
    check_gradient(lambda t: function(t, axis, keep), x, order=order, tolerance=1e-4)


def test_gradient_along_axes_that_are_fed():
    x = constant(np.arange(1.0, 7.0).reshape(2, 3))
    axis = placeholder("int32")
    for name, wanted in (("sum", 1), ("mean", 0.5)):
        output = getattr(reduction_functions, f"reduce_{name}")(x, axis)
        (dx,) = gradients(output, [x])
        np.testing.assert_array_equal(evaluate(dx, {axis: [0]}), np.full((2, 3), wanted))
    (dx,) = gradients(reduction_functions.reduce_prod(x, axis), [x])
    np.testing.assert_allclose(evaluate(dx, {axis: [0]}), [[4, 5, 6], [1, 2, 3]])


def test_gradient_of_a_batch_of_unknown_size():
    x = placeholder("float64", [None, 3])
    y = placeholder("float64", [None, None, 3])
    for tensor, value in ((x, np.ones((2, 3))), (y, np.ones((2, 4, 3)))):
        for axis in (0, 1, None):
            output = reduction_functions.reduce_mean(tensor, axis)
            (dx,) = gradients(output, [tensor])
            count = value.size if axis is None else value.shape[axis]
            np.testing.assert_allclose(
                evaluate(dx, {tensor: value}), np.full(value.shape, 1 / count)
            )


def test_ties_share_the_gradient():
    x = constant([2.0, 2.0, 1.0])
    (dx,) = gradients(reduction_functions.reduce_max(x), [x])
    assert evaluate(dx).tolist() == [0.5, 0.5, 0]


def test_zeros_do_not_spoil_the_gradient_of_a_product():
    x = constant([[0.0, 2.0, 3.0], [0.0, 0.0, 4.0]])
    (dx,) = gradients(reduction_functions.reduce_prod(x, 1), [x])
    np.testing.assert_array_equal(evaluate(dx), [[6, 0, 0], [0, 0, 0]])
    one = constant([[1.0, 0.0], [3.0, 4.0]])
    (dx,) = gradients(reduction_functions.reduce_prod(one), [one])
    np.testing.assert_array_equal(evaluate(dx), [[0, 12], [0, 0]])


def test_logsumexp_does_not_overflow():
    x = np.float32([[1000, 1000], [-INF, -INF], [0, -INF]])
    result = evaluate(reduce("logsumexp", x, 1))
    np.testing.assert_allclose(result, [1000 + np.log(2), -INF, 0])
    assert reduce("logsumexp", x).op.name == "ReduceLogSumExp_1"


def test_l2_loss():
    for dtype in ("float16", "float32", "float64"):
        assert evaluate(raw_ops.L2Loss(constant(np.array([[3, 4]], dtype)))) == 12.5
    assert evaluate(raw_ops.L2Loss(constant(np.zeros(0)))) == 0
    check_gradient(raw_ops.L2Loss, [[1.0, 2.0], [3.0, 4.0]], order=2)


# -- argmax, argmin


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("output_type", ["int32", "int64"])
def test_arg_extremes(axis, output_type):
    x = np.random.default_rng(6).integers(0, 5, (3, 4, 5)).astype(np.float32)
    for function, wanted in (
        (arg_reductions.argmax, np.argmax),
        (arg_reductions.argmin, np.argmin),
    ):
        output = function(constant(x), axis, output_type=output_type)
        result = evaluate(output)
        assert output.shape == result.shape
        assert result.dtype == output_type
        np.testing.assert_array_equal(result, wanted(x, axis))


def test_numbers_win_against_nan():
    x = np.float32([[1, NAN, 2], [NAN, 1, 2], [NAN, NAN, NAN]])
    assert evaluate(arg_reductions.argmax(constant(x), 1)).tolist() == [2, 2, 0]
    assert evaluate(arg_reductions.argmin(constant(x), 1)).tolist() == [0, 1, 0]


def test_arguments_of_argmax():
    x = placeholder("float32", [2, 3])
    assert arg_reductions.argmax(x).shape == (3,)
    assert arg_reductions.argmax(x, dimension=1).shape == (2,)
    assert arg_reductions.argmax(x, placeholder("int32", [])).shape.as_list() == [None]
    with pytest.raises(ValueError, match="not in the range"):
        arg_reductions.argmax(x, 2)
    with pytest.raises(ValueError, match="Cannot specify both"):
        arg_reductions.argmax(x, 1, dimension=1)
    assert evaluate(arg_reductions.argmax(constant([False, True]))) == 1
    with pytest.raises(InvalidArgumentError, match="is empty"):
        evaluate(arg_reductions.argmax(constant(np.zeros((0, 3)))))
    assert evaluate(arg_reductions.argmax(constant(np.zeros((3, 0))))).shape == (0,)


# -- ranges


@pytest.mark.parametrize(
    ("arguments", "wanted", "dtype"),
    [
        ((5,), [0, 1, 2, 3, 4], "int32"),
        ((1, 10, 3), [1, 4, 7], "int32"),
        ((5, 0, -2), [5, 3, 1], "int32"),
        ((3, 3), [], "int32"),
        ((1.0, 2, 0.25), [1, 1.25, 1.5, 1.75], "float32"),
        ((0.0, 0.3, 0.1), [0, 0.1, 0.2], "float32"),
        ((np.int64(3),), [0, 1, 2], "int64"),
    ],
)
def test_range(arguments, wanted, dtype):
    output = sequences.range(*arguments)
    assert output.op.name == "range"
    assert output.shape == (len(wanted),)
    assert output.dtype == dtype
    np.testing.assert_array_equal(evaluate(output), np.array(wanted, dtype))


def test_range_refuses():
    for wrong in ((1, 5, 0), (5, 1), (1, 5, -1)):
        with pytest.raises(ValueError, match="Requires"):
            sequences.range(*wrong)
    with pytest.raises(ValueError, match="rank"):
        sequences.range(constant([1, 2]))


def test_range_of_what_is_fed():
    limit = placeholder("int32", [])
    output = sequences.range(limit)
    assert output.shape.as_list() == [None]
    assert evaluate(output, {limit: 3}).tolist() == [0, 1, 2]
    assert sequences.range(5, dtype="float32").dtype == "float32"


# -- running sums and products


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(
    ("function", "total"), [(sequences.cumsum, np.cumsum), (sequences.cumprod, np.cumprod)]
)
def test_running(function, total, exclusive, reverse, axis):
    x = np.random.default_rng(1).uniform(0.5, 1.5, (2, 3))
    wanted = total(np.moveaxis(x, axis, 0)[:: -1 if reverse else 1], 0)
    if exclusive:
        first = np.full((1, wanted.shape[1]), float(total is np.cumprod))
        wanted = np.concatenate([first, wanted[:-1]])
    wanted = np.moveaxis(wanted[:: -1 if reverse else 1], 0, axis)
    result = evaluate(function(constant(x), axis, exclusive, reverse))
    np.testing.assert_allclose(result, wanted)
    check_gradient(lambda t: function(t, axis, exclusive, reverse), x, order=2, tolerance=1e-4)


def test_running_sums_of_little():
    assert evaluate(sequences.cumsum(constant(np.zeros((0, 2))), exclusive=True)).shape == (0, 2)
    result = evaluate(sequences.cumsum(constant(np.float16([1, 2, 3])), 0, True, True))
    assert result.tolist() == [5, 3, 0]
    with pytest.raises(InvalidArgumentError, match="ScanOp: Expected scan axis in the range"):
        evaluate(sequences.cumsum(constant([1.0]), 1))


def test_an_empty_axis_has_no_largest_element():
    with pytest.raises(InvalidArgumentError, match=r"Reduction axis 1 is empty in shape \[2,0,3\]"):
        evaluate(arg_reductions.argmax(constant(np.zeros((2, 0, 3))), 1))
