# ruff: noqa: SIM108 -- statements that AutoGraph converts
"""tf.function: traces by signature, variables, effects, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.building.autograph import function_conversion
from gpugraph.building.function_calls.concrete_function import ConcreteFunction

SCALAR = tf.TensorSpec([], tf.float32)


def run(fetches, feed_dict=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed_dict)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_a_function_is_traced_once_for_each_signature():
    traces = []

    @tf.function
    def scaled(x, by=2):
        traces.append((x.dtype, x.shape.as_list(), by))
        return x * by

    x = tf.constant([1.0, 2.0])
    results = [
        scaled(x), scaled(x + 1), scaled(x, 2), scaled(x, by=3),
        scaled(tf.constant([1, 2])), scaled(np.float32(5)), scaled(tf.constant(6.0)),
    ]  # fmt: skip
    assert len(traces) == 4
    values = run(results)
    assert [np.asarray(value).tolist() for value in values] == [
        [2, 4], [4, 6], [2, 4], [3, 6], [2, 4], 10, 12,
    ]  # fmt: skip
    with tf.Graph().as_default():
        scaled(tf.constant(6.0))
    assert len(traces) == 5


def test_results_keep_their_structure():
    @tf.function
    def several(x):
        sparse = tf.SparseTensor([[0]], [x], [2])
        return {"b": x + 1, "a": (x, None)}, [sparse]

    result = several(tf.constant(3.0))
    assert result[0]["a"][1] is None
    assert isinstance(result[1][0], tf.SparseTensor)
    assert run([result[0]["b"], result[1][0].values]) == [4.0, [3.0]]

    @tf.function
    def nothing(x):
        tf.identity(x)

    assert nothing(1.0).type == "NoOp"


def test_arguments_may_be_nested_and_sparse():
    @tf.function
    def total(pair, options):
        return pair[0] * pair[1] + tf.sparse.reduce_sum(options["sparse"])

    sparse = tf.SparseTensor([[0], [1]], [1.0, 2.0], [3])
    assert run(total((tf.constant(2.0), 5.0), {"sparse": sparse})) == 13.0


def test_statements_on_tensors():
    pytest.importorskip("malt")

    @tf.function
    def power(x, n):
        y = 1.0
        for _ in tf.range(n):
            y *= x
        if y > 10.0:
            y = y + 0.5
        else:
            y = y - 0.5
        return y

    x, n = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])
    y = power(x, n)
    gradient = tf.gradients(y, x)
    assert run([y, gradient], {x: 3.0, n: 3}) == [27.5, [27.0]]
    assert run([y, gradient], {x: 2.0, n: 2}) == [3.5, [4.0]]


def test_without_autograph_a_branch_on_a_tensor_is_refused():
    @tf.function(autograph=False)
    def branches(x):
        return x if x > 0 else -x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="as a Python `bool`"):
        branches(tf.constant(1.0))


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(function_conversion, "is_available", lambda: False)

    @tf.function
    def branches(x):
        return x if x > 0 else -x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=r"gpugraph\[autograph\]"):
        branches(tf.constant(1.0))


def test_effects_happen_in_program_order_and_once():
    v = tf.Variable(1.0, use_resource=True)

    @tf.function
    def update(x):
        v.assign(v * 10.0)
        before = v.read_value()
        tf.cond(x > 0.0, lambda: v.assign_add(x), lambda: v.assign_sub(5.0))
        tf.while_loop(lambda i: i < 3, lambda i: (v.assign_add(100.0), i + 1)[1:], [0])
        return before

    first, second = update(tf.constant(2.0)), update(tf.constant(-2.0))
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(first) == 10.0
        assert session.run(v) == 312.0
        assert session.run(second) == 3120.0
        assert session.run(v) == 3415.0


def test_nested_calls_are_ordered():
    v = tf.Variable(1.0, use_resource=True)

    @tf.function
    def double():
        v.assign(v * 2.0)

    @tf.function
    def outer():
        double()
        v.assign_add(1.0)
        double()
        return v.read_value()

    result = outer()
    assert run(result) == 6.0


class Layer:
    def __init__(self):
        self.w = None
        self.calls = 0

    @tf.function
    def __call__(self, x):
        self.calls += 1
        if self.w is None:
            self.w = tf.Variable(x.shape.as_list()[0] * tf.constant(1.5), name="w")
        return x * self.w

    @tf.function
    def bad(self, x):
        return x * tf.Variable(1.0)


def test_variables_are_created_in_the_first_call():
    one, two = Layer(), Layer()
    x = tf.constant([1.0, 2.0])
    y = one(x)
    assert one.calls == 2  # as in TensorFlow: the second trace finds the variable
    again = one(x)
    assert one.calls == 2
    two(x)
    assert tf.global_variables() == [one.w, two.w]
    assert one.w.op.type == "VarHandleOp"
    assert run([y, again, tf.gradients(y, one.w)])[2] == [3.0]
    assert run(y).tolist() == [3.0, 6.0]
    with pytest.raises(ValueError, match="tried to create variables on non-first call"):
        one.bad(x)


def test_get_variable_and_layers():
    @tf.function
    def model(x):
        with tf.variable_scope("m", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [2, 3], initializer=tf.ones_initializer())
        return tf.matmul(x, w)

    y = model(tf.constant([[1.0, 2.0]]))
    assert [v.name for v in tf.trainable_variables()] == ["m/w:0"]
    assert run(y).tolist() == [[3.0, 3.0, 3.0]]
    train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(y))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(y).tolist() == [[0.5, 0.5, 0.5]]


def test_the_initial_value_may_not_need_an_argument():
    @tf.function
    def initial(x):
        return tf.Variable(x) + 1.0

    with pytest.raises(ValueError, match="needs the argument 'x'"):
        initial(tf.constant(1.0))


def test_defun_creates_variables_in_each_trace():
    @tf.contrib.eager.defun
    def f(x):
        return x + tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)

    assert run(f(tf.constant(1.0))) == 1.0


def test_input_signature():
    traces = []

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="values")])
    def total(x):
        traces.append(x)
        return tf.reduce_sum(x)

    assert run([total([1.0, 2.0]), total(tf.constant([1.0]))]) == [3.0, 1.0]
    assert len(traces) == 1
    assert traces[0].op.name == "values"
    assert total.input_signature[0].shape.as_list() == [None]
    for arguments, kind, words in [
        ((1.0,), ValueError, "Python inputs incompatible with input_signature"),
        (([1.0], 2), TypeError, "When input_signature is provided, only pass arguments covered"),
        ((tf.constant([1]),), ValueError, "Python inputs incompatible with input_signature"),
        ((object(),), ValueError, "must be convertible to tensors"),
    ]:
        with pytest.raises(kind, match=words):
            total(*arguments)
    with pytest.raises(TypeError, match="input_signature must be either a tuple or a list"):
        tf.function(lambda x: x, input_signature=tf.TensorSpec([], tf.float32))


def test_a_concrete_function():
    v = tf.Variable(2.0, use_resource=True)

    @tf.function
    def f(x, y):
        return {"sum": x + y * v}

    concrete = f.get_concrete_function(SCALAR, tf.TensorSpec([], tf.float32))
    assert isinstance(concrete, ConcreteFunction)
    assert concrete.name.startswith("__inference_f_")
    assert [tensor.dtype.name for tensor in concrete.inputs] == ["float32", "float32", "resource"]
    assert concrete.outputs[0].dtype == tf.float32
    assert concrete.variables == concrete.trainable_variables == (v,)
    assert concrete.structured_input_signature[0][0] == tf.TensorSpec([], tf.float32, "x")
    assert concrete.function_def.signature.name == concrete.name
    assert run(concrete(tf.constant(1.0), y=tf.constant(3.0))) == {"sum": 7.0}
    with pytest.raises(TypeError, match=r"Missing: \['y'\]"):
        concrete(1.0)
    with pytest.raises(TypeError, match="Expected at most 2 positional arguments"):
        concrete(1.0, 2.0, 3.0)
    with pytest.raises(TypeError, match="Got two values for keyword 'x'"):
        concrete(1.0, y=2.0, x=3.0)
    with pytest.raises(ValueError, match="is not compatible with the shape this function"):
        concrete([1.0], 2.0)


def test_relaxed_shapes():
    traces = []

    @tf.function(experimental_relax_shapes=True)
    def f(x):
        traces.append(x.shape.as_list())
        return tf.reduce_sum(x)

    results = [f(tf.ones([n, 2])) for n in (1, 2, 3, 4)]
    assert traces == [[1, 2], [None, 2]]
    assert run(results) == [2.0, 4.0, 6.0, 8.0]


def test_results_that_are_no_tensors_are_refused():
    @tf.function
    def bad(x):
        return object()

    with pytest.raises(TypeError, match=r"must return zero or more Tensors; in compilation of bad"):
        bad(1.0)
    with pytest.raises(TypeError, match="must be hashable"):
        tf.function(lambda x: x)({1, 2})


def test_a_custom_gradient_inside():
    @tf.function
    def f(x):
        @tf.custom_gradient
        def clipped(y):
            squared = y * y
            return squared, lambda dy: dy * squared * 10.0

        return clipped(x) + x

    x = tf.placeholder(tf.float32, [])
    y = f(x)
    assert run([y, tf.gradients(y, x)], {x: 3.0}) == [12.0, [91.0]]


def test_calls_in_conditions_and_loops():
    @tf.function
    def step(x):
        return tf.cond(x > 5.0, lambda: x * 2.0, lambda: x + 1.0)

    x = tf.placeholder(tf.float32, [])
    looped = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, step(y)), [0, x])[1]
    chosen = tf.cond(x > 100.0, lambda: x, lambda: step(x))
    gradient = tf.gradients(looped, x)
    assert run([looped, chosen, gradient], {x: 3.0}) == [12.0, 4.0, [2.0]]


def test_a_graph_def_has_the_call_and_the_function(graph):
    @tf.function
    def f(x):
        return x * 3.0

    @tf.function
    def g(x):
        return f(x) + 1.0

    y = g(tf.constant(2.0))
    message = graph.as_graph_def()
    assert [node.op for node in message.node] == ["Const", "PartitionedCall"]
    bodies = {f.signature.name: [n.op for n in f.node_def] for f in message.library.function}
    assert bodies[message.node[1].attr["f"].func.name][0] == "PartitionedCall"
    with tf.Graph().as_default(), tf.Session() as session:
        (copy,) = tf.import_graph_def(message, return_elements=[y.name])
        assert session.run(copy) == 7.0


def test_seeds_and_devices():
    @tf.function
    def noise():
        return tf.random_normal([2], seed=3)

    with tf.device("/cpu:0"):
        one = noise()
    two = noise()
    first, second = run([one, two])
    assert first.tolist() != second.tolist() or first.shape == (2,)


def test_methods_and_decorated_attributes():
    @tf.function
    def documented(x):
        """Say what it does."""
        return x

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "Say what it does."
    assert documented.python_function(3) == 3


def test_gradients_of_a_loop_in_a_function_that_a_loop_calls():
    @tf.function
    def f(x):
        return tf.map_fn(lambda row: tf.reduce_sum(row) * row[0], x)

    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    _, z = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + f(a)[:, None]), [0, x])
    assert {
        type(group) for op in f(x).graph.get_operations() for group in op.colocation_groups()
    } == {bytes}
    with tf.Session() as session:
        (slopes,) = session.run(tf.gradients(z, x))
    np.testing.assert_allclose(slopes, [[27783, 7209], [10120000, 3056500]], 1e-4)


def test_calls_with_gradients_stay_calls_in_graph_defs():
    x = tf.placeholder(tf.float32, [None], name="x")
    w = tf.Variable(2.0, use_resource=True, name="w")

    @tf.function
    def inner(a):
        return tf.tanh(a) * w

    @tf.function
    def outer(a):
        b = inner(a)
        return tf.square(b) + tf.sin(b), tf.reduce_sum(b)

    y, total = outer(x)
    z, _ = outer(y)
    slopes = tf.gradients([z, total], [x, w])
    names = [tf.identity(value, name=f"slope{n}").name for n, value in enumerate(slopes)]
    feed = {"x:0": [1.0, -2.0]}
    with tf.Session() as session:
        session.run(w.initializer)
        expected = session.run(names, feed)
    graph_def = tf.get_default_graph().as_graph_def()
    calls = [node for node in graph_def.node if node.op == "StatefulPartitionedCall"]
    assert [node.name for node in calls] == ["StatefulPartitionedCall", "StatefulPartitionedCall_1"]
    written = {node.name for node in graph_def.node}
    for node in graph_def.node:
        assert all(name.lstrip("^").partition(":")[0] in written for name in node.input)
    functions = [function.signature.name for function in graph_def.library.function]
    assert len(functions) == len(set(functions))
    for _ in range(2):  # as it was read, and as it is written again
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.import_graph_def(graph_def, name="")
            session.run("w/Assign")
            for value, wanted in zip(session.run(names, feed), expected):
                np.testing.assert_allclose(value, wanted, rtol=1e-6)
            graph_def = graph.as_graph_def()


def test_gradients_through_loops_of_functions_are_written_as_ops():
    @tf.function
    def power(a):
        return tf.while_loop(lambda i, b: i < 3, lambda i, b: (i + 1, b * a), [0, a])[1]

    x = tf.placeholder(tf.float32, [], name="x")
    (slope,) = tf.gradients(power(x), x)
    name = tf.identity(slope, name="slope").name
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        assert session.run(name, {"x:0": 2.0}) == 32.0
