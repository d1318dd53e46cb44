"""Symbolic gradients: against finite differences, and the options of `tf.gradients`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf

STEP = 1e-6


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def names(tensors: list[tf.Tensor]) -> list[str]:
    return [tensor.op.name for tensor in tensors]


def values(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def numeric(function: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    """Return the gradient of a function of an array by central differences, in float64."""
    actual = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        moved = x.copy()
        moved[index] += STEP
        up = function(moved)
        moved[index] -= 2 * STEP
        actual[index] = (up - function(moved)) / (2 * STEP)
    return actual


# -- values


FUNCTIONS = {
    "products": lambda x: tf.reduce_sum(x * x * 3.0 / (x + 4.0)),
    "matrices": lambda x: tf.reduce_sum(tf.matmul(x, tf.transpose(x)) @ x),
    "row and all": lambda x: tf.reduce_sum(x[0] * x + tf.reduce_mean(x, 0)),
    "layer": lambda x: tf.reduce_mean(tf.tanh(tf.matmul(x, x[:, :2], transpose_a=True)) ** 2.0),
    "softmax": lambda x: tf.reduce_sum(tf.nn.softmax(x) * tf.exp(x)),
    "cut": lambda x: tf.reduce_sum(tf.concat([tf.square(x[1:]), x], 0) * 0.5),
    "parts": lambda x: tf.add_n([tf.reduce_sum(value**2.0) for value in tf.split(x, 3, 1)]),
    "one part": lambda x: tf.reduce_sum(tf.split(x, 3, 1)[1] ** 3.0),
    "shape": lambda x: tf.reduce_sum(tf.reshape(x, [3, 2]) @ x) / tf.cast(tf.size(x), tf.float64),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_finite_differences(name):
    function = FUNCTIONS[name]
    x0 = np.random.default_rng(0).uniform(0.5, 1.5, (2, 3))
    x = tf.placeholder(tf.float64, [2, 3])
    y = function(x)
    (dx,) = tf.gradients(y, x)
    with tf.Session() as session:
        expected = numeric(lambda value: session.run(y, {x: value}), x0)
        np.testing.assert_allclose(session.run(dx, {x: x0}), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_order_against_finite_differences(name):
    function = FUNCTIONS[name]
    rng = np.random.default_rng(1)
    x0, direction = rng.uniform(0.5, 1.5, (2, 3)), rng.normal(size=(2, 3))
    x = tf.placeholder(tf.float64, [2, 3])
    (dx,) = tf.gradients(function(x), x)
    slope = tf.reduce_sum(dx * direction)
    (second,) = tf.gradients(slope, x)
    with tf.Session() as session:
        expected = numeric(lambda value: session.run(slope, {x: value}), x0)
        np.testing.assert_allclose(session.run(second, {x: x0}), expected, rtol=1e-5, atol=1e-7)


BINARY = st.sampled_from([tf.add, tf.subtract, tf.multiply, tf.maximum])
UNARY = st.sampled_from([tf.tanh, tf.sigmoid, tf.sin, tf.identity, tf.negative])


@given(st.data())
def test_any_dag_against_finite_differences(data):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [3])
        result = [x, tf.constant(np.array([0.31, -0.7, 1.1]))]
        for _ in range(data.draw(st.integers(1, 8))):
            pick = st.sampled_from(result)
            if data.draw(st.booleans()):
                result.append(data.draw(UNARY)(data.draw(pick)))
            else:
                result.append(data.draw(BINARY)(data.draw(pick), data.draw(pick)))
        ys = [result[-1], data.draw(st.sampled_from(result))]
        (dx,) = tf.gradients(ys, x, unconnected_gradients="zero")
        total = tf.reduce_sum(ys[0]) + tf.reduce_sum(ys[1])
        x0 = np.array([0.21, -0.53, 0.87])
        with tf.Session() as session:
            # maximum(a, a) has no derivative by differences where its sides meet at other rates
            actual = session.run(dx, {x: x0})
            expected = numeric(lambda value: session.run(total, {x: value}), x0)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


# -- the requested gradients


def test_names_and_scopes():
    x = tf.constant([3.0], name="x")
    y = tf.multiply(tf.square(x, name="square"), x, name="y")
    assert names(tf.gradients(y, x)) == ["gradients/AddN"]
    assert names(tf.gradients(y, x, name="mine")) == ["mine/AddN"]
    with tf.name_scope("outer"):
        assert names(tf.gradients(y, x)) == ["outer/gradients/AddN"]
    z = tf.nn.relu(x, name="relu")
    assert names(tf.gradients(z, x)) == ["gradients_1/relu_grad/ReluGrad"]
    assert names(tf.gradients(x, x)) == ["gradients_2/grad_ys_0"]


def test_each_op_once(graph):
    x = tf.constant(2.0)
    y = x
    for _ in range(20):
        y = y + y
    before = len(graph.get_operations())
    (dx,) = tf.gradients(y, x)
    assert len(graph.get_operations()) - before < 100
    assert values(dx) == 2**20


def test_several_ys_and_grad_ys():
    x = tf.constant([1.0, 2.0])
    y, z = x * 3.0, x * x
    weights = tf.placeholder(tf.float32, [2])
    actual = [
        tf.gradients([y, z], x)[0],
        tf.gradients([y, z], x, grad_ys=[[1.0, 10.0], None])[0],
        tf.gradients([y, z], x, grad_ys=[None, weights])[0],
        tf.gradients([y, y], x)[0],
    ]
    results = values(actual, {weights: [0.0, 1.0]})
    assert [value.tolist() for value in results] == [[5, 7], [5, 34], [3, 7], [6, 6]]


def test_grad_ys_take_the_dtype_of_y():
    x = tf.constant(np.float64([1, 2]))
    (dx,) = tf.gradients(x * x, x, grad_ys=[[0.1, 0.2]])
    np.testing.assert_array_equal(values(dx), [0.2, 0.8])


def test_xs_that_depend_on_each_other():
    x = tf.constant(3.0)
    y = x * 2.0
    z = y * x
    assert values(tf.gradients(z, [x, y, z])) == [12, 3, 1]


def test_the_same_x_twice():
    x = tf.constant(3.0)
    first, second = tf.gradients(x * x, [x, x])
    assert first is second
    assert values(first) == 6


def test_stop_gradients():
    a = tf.constant(0.0)
    b = 2.0 * a
    assert values(tf.gradients(a + b, [a, b])) == [3, 1]
    assert values(tf.gradients(a + b, [a, b], stop_gradients=[a, b])) == [1, 1]
    assert values(tf.gradients(a + b, a, stop_gradients=b)) == [1]
    assert tf.gradients(b * 2.0, a, stop_gradients=b) == [None]
    assert values(tf.gradients(tf.stop_gradient(a + 1.0) * a, a)) == [1]


def test_unconnected_gradients():
    x, other = tf.constant([1.0, 2.0]), tf.placeholder(tf.float32, [None, 3])
    assert tf.gradients(x * 2.0, [other]) == [None]
    zero = tf.UnconnectedGradients.ZERO
    actual = tf.gradients(x * 2.0, [x, other], unconnected_gradients=zero)
    dx, dother = values(actual, {other: np.ones((2, 3))})
    assert dx.tolist() == [2, 2]
    assert dother.tolist() == [[0, 0, 0]] * 2
    with pytest.raises(ValueError, match="'some'"):
        tf.gradients(x, x, unconnected_gradients="some")


def test_variables_and_their_readings():
    v = tf.Variable([1.0, 2.0])
    loss = tf.reduce_sum(v * v + v.read_value() * 3.0)
    by_variable, by_reading = tf.gradients(loss, [v, v.value()])
    assert [value.tolist() for value in values([by_variable, by_reading])] == [[5, 7], [2, 4]]


def test_nothing_flows_through_integers():
    x = tf.constant(3.0)
    whole = tf.cast(x, tf.int32)
    assert tf.gradients(whole, x) == [None]
    assert values(tf.gradients(tf.cast(whole, tf.float32) * x, x)) == [3]
    n = tf.constant(3)
    assert tf.gradients(n * n, n) == [None]


def test_nothing_flows_through_what_has_no_gradient():
    x = tf.constant([3.5, 1.0])
    assert tf.gradients(tf.floor(x), x) == [None]
    assert tf.gradients(tf.ones_like(x) * tf.sign(x) * 0.0, x)[0] is not None
    v = tf.Variable([1.0, 2.0])
    assert tf.gradients(tf.assign(v, x * 2.0) * 3.0, x) == [None]


def test_outputs_that_nobody_needs_have_zero_gradients():
    x = tf.constant([[1.0, 5.0, 3.0]])
    best, _ = tf.nn.top_k(x)
    assert values(tf.gradients(best, x))[0].tolist() == [[0, 1, 0]]


def test_gradients_of_unknown_shape_know_that_of_x():
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.reshape(x, tf.placeholder(tf.int32, [None]))
    assert tf.gradients(y, x)[0].shape.as_list() == [None, 4]


def test_second_order_of_a_given_gradient():
    x = tf.constant(2.0)
    (first,) = tf.gradients(x**3.0, x)
    (second,) = tf.gradients(first, x)
    (third,) = tf.gradients(second, x)
    assert values([first, second, third]) == [12, 12, 6]


def test_gate_gradients(graph):
    x, w = tf.constant(3.0), tf.constant(2.0)
    y = tf.multiply(x, w, name="y")
    actual = tf.gradients(tf.negative(y), [x, w], gate_gradients=True)
    scope = "gradients/y_grad/tuple"
    assert names(actual) == [f"{scope}/control_dependency", f"{scope}/control_dependency_1"]
    gate = graph.get_operation_by_name(f"{scope}/group_deps")
    assert all(tensor.op.control_inputs == [gate] for tensor in actual)
    assert {op.name for op in gate.control_inputs} == {
        "gradients/y_grad/Mul",
        "gradients/y_grad/Mul_1",
    }
    assert values(actual) == [-2, -3]


def test_colocation_with_the_ops(graph):
    with tf.device("/gpu:1"):
        x = tf.constant([3.0], name="x")
        y = tf.square(x, name="y")
        z = tf.multiply(y, y, name="z")
    (plain,) = tf.gradients(z, x)
    (beside,) = tf.gradients(z, x, colocate_gradients_with_ops=True)
    assert plain.device == ""
    assert (beside.device, beside.op.colocation_groups()) == ("/device:GPU:1", [b"loc:@y"])
    total = graph.get_operation_by_name("gradients/AddN")
    assert total.colocation_groups() == total.inputs[0].op.colocation_groups()


@pytest.mark.parametrize("method", [None, 0, 1, 2])
def test_aggregation(method):
    x = tf.constant(3.0)
    (dx,) = tf.gradients([x * 1.0, x * 2.0, x * 3.0], x, aggregation_method=method)
    assert dx.op.type == "AddN"
    assert len(dx.op.inputs) == 3
    assert values(dx) == 6


def test_nothing_to_do():
    x = tf.constant(3.0)
    assert tf.gradients([], x) == [None]
    assert tf.gradients(x, []) == []


def test_of_another_graph_than_the_default():
    x = tf.constant(3.0)
    y = x * x
    with tf.Graph().as_default() as other:
        (dx,) = tf.gradients(y, x)
        assert other.get_operations() == []
    assert dx.graph is x.graph


def test_long_chains_are_no_recursion():
    x = tf.constant(1.0)
    y = x
    for _ in range(3000):
        y = tf.identity(y)
    assert values(tf.gradients(y, x)) == [1]


# -- misuse


def test_bad_arguments():
    x, text = tf.constant(3.0), tf.constant("text")
    wave = tf.constant(1 + 2j)
    for error, match, call in [
        (ValueError, "2 grad_ys for 1 ys", lambda: tf.gradients(x, x, grad_ys=[1.0, 2.0])),
        (
            ValueError,
            r"^Incompatible shapes between op input and calculated input gradient.*mul.*\(2,\)",
            lambda: tf.gradients(x * 2.0, x, grad_ys=[[1.0, 2.0]]),
        ),
        (
            TypeError,
            "^Gradient type bool generated for real or integer-valued",
            lambda: tf.gradients(x, x, grad_ys=[tf.constant(True)]),
        ),
        (TypeError, "only numbers", lambda: tf.gradients(text, x)),
        (TypeError, "must set grad_ys", lambda: tf.gradients(wave * 2.0, wave)),
        (ValueError, "77", lambda: tf.gradients(x, x, aggregation_method=77)),
        (TypeError, "Failed to convert", lambda: tf.gradients(x, object())),
    ]:
        with pytest.raises(error, match=match):
            call()


def test_several_graphs_are_refused():
    with tf.Graph().as_default():
        foreign = tf.constant(1.0)
    with pytest.raises(ValueError, match="same graph"):
        tf.gradients(tf.constant(1.0), foreign)


def test_an_op_without_declaration_is_named(graph):
    x = tf.constant(1.0, name="x")
    odd = tf.OpDef(
        "NobodyDeclaredThis",
        inputs=tf.raw_ops.Neg.op_def.inputs,
        outputs=tf.raw_ops.Neg.op_def.outputs,
        attrs=tf.raw_ops.Neg.op_def.attrs,
    )
    result = graph.create_op("NobodyDeclaredThis", [x], [tf.float32], name="odd", op_def=odd)
    with pytest.raises(
        LookupError, match=r"'odd' \(op type: NobodyDeclaredThis\).*test_backpropagation"
    ):
        tf.gradients(result.outputs[0], x)


def declare(name: str, grad: Callable) -> Callable:
    return tf.register_op(
        name,
        inputs="x: T",
        outputs="y: T",
        attrs={"T": (tf.float32,)},
        infer=lambda context: [context.shapes[0]],
        cpu=tf.Call(np.copyto),
        gpu=tf.HostOnly("a test has none"),
        grad=grad,
        doc="For a test.",
    )


def test_grad_ys_of_another_shape():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    reshaped = tf.gradients(tf.reshape(x, [4]), x, grad_ys=tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    summed = tf.gradients(tf.reduce_sum(x), x, grad_ys=[3.0])
    of_one = tf.gradients(tf.reduce_sum(x), x, grad_ys=tf.constant([3.0]))
    broadcast = tf.gradients(x * x, x, grad_ys=tf.constant([1.0, 10.0]))
    with tf.Session() as session:
        values = session.run([reshaped, summed, of_one, broadcast])
    np.testing.assert_array_equal(values[0], [[[1, 2], [3, 4]]])
    np.testing.assert_array_equal(values[1], np.full((1, 2, 2), 3))
    np.testing.assert_array_equal(values[2], values[1])
    np.testing.assert_array_equal(values[3], [[[2, 40], [6, 80]]])


def test_gradient_functions_that_give_too_much_or_another_shape():
    x = tf.constant([1.0, 2.0])
    twice = declare("GivesTwo", lambda op, dy: [dy, dy])
    wrong = declare("GivesScalar", lambda op, dy: tf.reduce_sum(dy))
    with pytest.raises(ValueError, match=r"'GivesTwo'.*gave 2 gradients for 1 inputs"):
        tf.gradients(twice(x), x)
    with pytest.raises(ValueError, match=r"GivesScalar.*\(2,\).*shape: \(\)"):
        tf.gradients(wrong(x), x)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: x / y, [0.5, -1.5]),
        (lambda x, y: tf.raw_ops.Div(x=x, y=y), [0.5, -1.5]),
        (tf.div_no_nan, [0.5, -1.5]),
        (lambda x, y: tf.tan(x * y), [2 / np.cos(12) ** 2, 6 / np.cos(12) ** 2]),
    ],
    ids=["RealDiv", "Div", "DivNoNan", "Tan"],
)
def test_a_fed_result_does_not_change_a_gradient_of_the_inputs(function, expected):
    x, y = tf.constant(6.0), tf.constant(2.0)
    z = function(x, y)
    actual = values(tf.gradients(z, [x, y]), {z: 100.0})
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_a_division_by_zero_without_nan_has_no_gradient_there():
    x, y = tf.constant([6.0, 6.0]), tf.constant([0.0, 2.0])
    dx, dy = values(tf.gradients(tf.div_no_nan(x, y), [x, y]))
    np.testing.assert_array_equal(dx, [0, 0.5])
    np.testing.assert_array_equal(dy, [0, -1.5])


@pytest.mark.parametrize("shape", [[], None], ids=["known", "unknown"])
def test_the_gradient_of_a_chain_grows_with_its_length(graph, shape):
    """Each product has as many new operations as the one before it, and no longer lists."""
    result = []
    for length in (50, 100, 200):
        x = tf.placeholder(tf.float32, shape)
        y = x
        for _ in range(length):
            y = y * x
        before = graph.version
        tf.gradients(y, x, colocate_gradients_with_ops=True, gate_gradients=True)
        new = graph.get_operations()[before:]
        assert max(len(op.control_inputs) for op in new) <= 2
        assert max(len(op.colocation_groups()) for op in new) <= 2
        result.append(len(new))
    assert result[2] - result[1] == 2 * (result[1] - result[0])


def test_gradients_of_products_follow_the_inputs_though_the_product_is_fed():
    x = tf.constant([2.0, 3.0])
    axes = tf.placeholder(tf.int32, [None])
    running, product = tf.cumprod(x), tf.reduce_prod(x, axes)
    with tf.Session() as session:
        slope = tf.gradients(running, x)[0]
        assert session.run(slope, {running: [7.0, 7.0]}).tolist() == [4.0, 2.0]
        slope = tf.gradients(product, x)[0]
        assert session.run(slope, {product: 7.0, axes: [0]}).tolist() == [3.0, 2.0]


def test_a_disabled_gradient() -> None:
    x = tf.constant(1.0)
    y = tf.raw_ops.PreventGradient(input=x, message="not yet")
    with pytest.raises(LookupError, match=r"^Gradient explicitly disabled\. Reason: not yet"):
        tf.gradients(y, x)


def test_of_an_assignment_to_a_resource_variable() -> None:
    z = tf.constant(1.0)
    variable = tf.get_variable("v", initializer=2.0, use_resource=True)
    assert tf.gradients(tf.assign(variable, z * 2.0), z) == [None]
    assert values(tf.gradients(variable, variable)) == [1.0]


def test_complex_ys_name_their_dtype() -> None:
    x = tf.placeholder(tf.complex64, [2])
    with pytest.raises(TypeError, match=r"must set grad_ys \(y\.dtype = tf\.complex64\)"):
        tf.gradients(x * x, x)


def test_sums_of_gradients_of_several_devices_are_with_their_x() -> None:
    with tf.device("/gpu:0"):
        x = tf.constant(1.0, name="x")
    with tf.device("/gpu:1"):
        first = tf.exp(x)
    with tf.device("/gpu:2"):
        second = tf.sin(x)
    (grad,) = tf.gradients([first, second], x, colocate_gradients_with_ops=True)
    assert grad.op.type == "AddN"
    assert grad.op.colocation_groups() == [b"loc:@x"]


def test_the_second_gradient_of_a_cross_entropy_has_a_product_of_matrices(graph: tf.Graph) -> None:
    x = tf.constant([[1.0, 2.0]])
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[0.0, 1.0]], logits=x)
    second = tf.gradients(tf.gradients(loss, x)[0][0, 0], x)
    assert "BatchMatMulV2" in {op.type for op in graph.get_operations()}
    part = 1 / (1 + np.exp(1.0))
    np.testing.assert_allclose(values(second)[0], [[part * (1 - part), -part * (1 - part)]], 1e-5)
