"""The common parts of all optimizers: which variables, in which order, on which device, and
misuse.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf

from ..linear import Linear

OPTIMIZERS = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(1.0),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1),
    "centered rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
    "shrinking ftrl": lambda: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1),
    "proximal descent": lambda: tf.train.ProximalGradientDescentOptimizer(0.1),
    "proximal adagrad": lambda: tf.train.ProximalAdagradOptimizer(0.1),
    "dual averaging": lambda: tf.train.AdagradDAOptimizer(
        0.1, tf.train.get_or_create_global_step()
    ),
}
FIRST_STEP_IS_THE_RATE = [OPTIMIZERS[name] for name in ("descent", "momentum", "adam")]
EACH = pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS.keys())


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def descent() -> tf.train.Optimizer:
    return tf.train.GradientDescentOptimizer(1.0)


def run_step(step, fetches):
    """Return the fetches' values after one step."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        return session.run(fetches)


# -- minimize, compute, apply


@EACH
def test_minimize_is_compute_and_apply(make):
    model = Linear()
    whole = make().minimize(model.loss)
    optimizer = make()
    parts = optimizer.apply_gradients(optimizer.compute_gradients(model.loss))
    first = run_step(whole, [model.w, model.b])
    second = run_step(parts, [model.w, model.b])
    for value, other in zip(first, second):
        np.testing.assert_array_equal(value, other)


@EACH
def test_what_a_step_is(make, graph):
    optimizer = make()
    step = optimizer.minimize(Linear().loss)
    assert step.type == "NoOp"
    assert step.name == optimizer.get_name()
    assert graph.get_collection(tf.GraphKeys.TRAIN_OP) == [step]
    named = make().minimize(graph.get_tensor_by_name("loss:0"), name="again")
    assert named.name == "again"
    assert graph.get_collection("train_op") == [step, named]


@EACH
def test_name_scopes(make):
    with tf.name_scope("model"):
        model = Linear()
        optimizer = make()
        step = optimizer.minimize(model.loss)
    assert step.name == f"model/{optimizer.get_name()}"
    assert all(variable.name.startswith("model/") for variable in optimizer.variables())


def test_compute_gradients():
    a, b = tf.Variable(2.0), tf.Variable(3.0)
    fixed = tf.Variable(5.0, trainable=False)
    x = tf.constant(7.0)
    loss = a * fixed * x
    optimizer = descent()
    pairs = optimizer.compute_gradients(loss)
    assert [variable for _, variable in pairs] == [a, b]
    assert pairs[1][0] is None
    chosen = optimizer.compute_gradients(loss, [fixed, x])
    assert [value for _, value in chosen] == [fixed, x]
    alone = optimizer.compute_gradients(loss, a, grad_loss=tf.constant(10.0))
    called = optimizer.compute_gradients(lambda: loss, (a,))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(pairs[0][0]) == 35
        assert session.run([grad for grad, _ in chosen]) == [14, 10]
        assert session.run(alone[0][0]) == 350
        assert session.run(called[0][0]) == 35


def test_gradients_may_be_changed_before_they_are_applied():
    v = tf.Variable([3.0, -4.0])
    optimizer = descent()
    pairs = optimizer.compute_gradients(tf.reduce_sum(v * v))
    clipped = [(tf.minimum(grad, 1.0), variable) for grad, variable in pairs]
    assert run_step(optimizer.apply_gradients(clipped), v).tolist() == [2, 4]


def test_gradients_may_be_arrays():
    v = tf.Variable([3.0, -4.0])
    step = descent().apply_gradients([(np.float32([1, 2]), v)])
    assert run_step(step, v).tolist() == [2, -6]


def test_only_the_listed_variables_change():
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    step = descent().minimize(a * 2.0 + b * 3.0, var_list=[b])
    assert run_step(step, [a, b]) == [1, -2]


def test_a_variable_without_gradient_stays_and_has_no_slot():
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = tf.train.MomentumOptimizer(0.5, 0.9)
    step = optimizer.minimize(a * 2.0)
    assert optimizer.get_slot(a, "momentum") is not None
    assert optimizer.get_slot(b, "momentum") is None
    assert run_step(step, [a, b]) == [0, 1]


def test_all_gradients_are_of_the_values_before_the_step():
    a, b = tf.Variable(2.0), tf.Variable(3.0)
    step = descent().minimize(a * b)
    assert run_step(step, [a, b]) == [-1, 1]


def test_the_loss_fetched_beside_the_step_is_the_one_before():
    model = Linear()
    step = tf.train.AdamOptimizer(0.1).minimize(model.loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(model.loss)
        _, beside = session.run([step, model.loss])
        assert before == beside != session.run(model.loss)


@pytest.mark.parametrize("gate", [0, 1, 2])
def test_gates(gate):
    a, b = tf.Variable(2.0), tf.Variable(3.0)
    optimizer = descent()
    pairs = optimizer.compute_gradients(a * b, gate_gradients=gate)
    gated = {
        optimizer.GATE_NONE: "gradients/mul_grad/Mul",
        optimizer.GATE_OP: "gradients/mul_grad/tuple/control_dependency",
        optimizer.GATE_GRAPH: "tuple/control_dependency",
    }
    assert pairs[0][0].op.name == gated[gate]
    assert run_step(optimizer.apply_gradients(pairs), [a, b]) == [-1, 1]


def test_gradients_beside_their_ops():
    with tf.device("/gpu:0"):
        v = tf.Variable(2.0)
        loss = tf.square(v)
    ((grad, _),) = descent().compute_gradients(loss, colocate_gradients_with_ops=True)
    assert grad.device == "/device:GPU:0"


# -- the global step


@EACH
def test_the_global_step_counts(make):
    step = tf.train.get_or_create_global_step()
    train = make().minimize(Linear().loss, global_step=step)
    assert train.type == "AssignAdd"
    assert train.colocation_groups() == [b"loc:@global_step"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for expected in (1, 2, 3):
            session.run(train)
            assert session.run(step) == expected


def test_any_integer_variable_is_a_global_step():
    count, v = tf.Variable(40, trainable=False), tf.Variable(1.0)
    optimizer = descent()
    pairs = optimizer.compute_gradients(v * 2.0)
    first = optimizer.apply_gradients(pairs, count, name="apply")
    second = optimizer.apply_gradients(pairs, global_step=count, name="apply")
    assert (first.name, second.name) == ("apply", "apply_1")
    assert run_step([first, second], [count, v]) == [42, -3]


# -- constraints


@pytest.mark.parametrize("make", FIRST_STEP_IS_THE_RATE)
def test_a_constraint_holds_after_the_update(make):
    v = tf.Variable([1.0, 5.0], constraint=lambda value: tf.maximum(value, 0.99))
    step = make().minimize(tf.reduce_sum(v))
    low, high = run_step(step, v)
    assert low == np.float32(0.99)
    np.testing.assert_allclose(high, 4.9, rtol=1e-6)


# -- devices


@pytest.mark.parametrize("gpus", [0, 1, 2])
@EACH
def test_slots_live_beside_their_variables(make, gpus):
    with tf.device("/gpu:0"):
        v = tf.Variable([1.0, 2.0], name="v")
    with tf.device("/gpu:1"):
        w = tf.Variable([3.0, 4.0], name="w")
    with tf.device("/cpu:0"):
        loss = tf.reduce_sum(v * w)
    optimizer = make()
    step = optimizer.minimize(loss)
    for slot in optimizer.get_slot_names():
        assert optimizer.get_slot(v, slot).device == "/device:GPU:0"
        assert optimizer.get_slot(w, slot).device == "/device:GPU:1"
    config = tf.ConfigProto(
        allow_soft_placement=gpus < 2, gpu_options=tf.GPUOptions(virtual_gpus=gpus)
    )
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        actual = session.run([v, w])
    expected = run_step_on_the_cpu(make)
    for value, other in zip(actual, expected):
        np.testing.assert_array_equal(value, other)


def run_step_on_the_cpu(make):
    with tf.Graph().as_default():
        v, w = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
        return run_step(make().minimize(tf.reduce_sum(v * w)), [v, w])


# -- optimizers of others


class SignDescent(tf.train.Optimizer):
    """Moves by `rate` against the gradient's sign; counts its steps for each variable."""

    def __init__(self, rate):
        super().__init__(False, "SignDescent")
        self._rate = rate

    def _create_slots(self, var_list):
        for var in var_list:
            self._get_or_make_slot(var, tf.constant(0.0), "count", "Count")
            self._zeros_slot(var, "last", "Last")
        self._create_non_slot_variable(10.0, "total", min(var_list, key=lambda var: var.name))

    def _apply_dense(self, grad, var):
        count, last = self.get_slot(var, "count"), self.get_slot(var, "last")
        rate = self._call_if_callable(self._rate)
        return tf.group(
            var.assign_sub(rate * tf.sign(grad)), count.assign_add(1.0), last.assign(grad)
        )

    def _finish(self, update_ops, name_scope):
        with tf.control_dependencies(update_ops):
            total = self._get_non_slot_variable("total").assign_add(1.0)
        return tf.group(*update_ops, total, name=name_scope)


def test_an_optimizer_written_outside():
    v = tf.Variable([1.0, -1.0], name="v")
    optimizer = SignDescent(lambda: 0.5)
    step = optimizer.minimize(tf.reduce_sum(v * v))
    names = [variable.name for variable in optimizer.variables()]
    assert names == ["total:0", "v/Count:0", "v/Last:0"]
    value, *rest = run_step(step, [v, *optimizer.variables()])
    assert value.tolist() == [0.5, -0.5]
    assert [np.asarray(value).tolist() for value in rest] == [11, 1, [2, -2]]


# -- misuse


def test_nothing_to_optimize():
    with pytest.raises(ValueError, match="No variables to optimize"):
        descent().minimize(tf.constant(1.0))
    v = tf.Variable(1.0, name="v")
    with pytest.raises(ValueError, match=r"No gradients.*'v:0'.*loss"):
        descent().minimize(tf.constant(1.0, name="loss"))
    with pytest.raises(ValueError, match=r"No gradients.*'v:0'"):
        descent().apply_gradients([(None, v)])
    with pytest.raises(ValueError, match="No variables provided"):
        descent().apply_gradients([])
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == []


def test_what_can_not_be_optimized():
    v, whole = tf.Variable([1.0]), tf.Variable([1])
    one = tf.constant([1.0])
    with pytest.raises(NotImplementedError, match=r"is no tf\.Variable"):
        descent().compute_gradients(v * 2.0, ["v"])
    with pytest.raises(NotImplementedError, match=r"is no tf\.Variable"):
        descent().apply_gradients([(one, one)])
    with pytest.raises(ValueError, match="Invalid type int32"):
        descent().compute_gradients(tf.cast(v, tf.int32))
    with pytest.raises(ValueError, match="Invalid type int32"):
        descent().apply_gradients([(tf.constant([1]), whole)])
    with pytest.raises(TypeError, match="tensor or None"):
        descent().apply_gradients([(object(), v)])
    with pytest.raises(TypeError, match="int32"):
        descent().apply_gradients([(tf.constant([1]), v)])
    with pytest.raises(ValueError, match=r"\[2\]"):
        descent().apply_gradients([(tf.constant([1.0, 2.0]), v)])


def test_bad_gates_and_names():
    v = tf.Variable(1.0)
    with pytest.raises(ValueError, match=r"GATE_NONE.*7"):
        descent().compute_gradients(v * v, gate_gradients=7)
    with pytest.raises(ValueError, match="name"):
        tf.train.Optimizer(False, "")
    with pytest.raises(NotImplementedError, match="how a variable changes"):
        tf.train.Optimizer(False, "Abstract").minimize(v * v)


def test_var_list_of_any_structure():
    model = {"v": tf.Variable(1.0), "more": [tf.Variable(2.0), {"w": tf.Variable(3.0)}]}
    loss = tf.add_n([variable * variable for variable in tf.nest.flatten(model)])
    for var_list in (model, model.values(), tuple(model.values())):
        pairs = descent().compute_gradients(loss, var_list)
        assert [variable for _, variable in pairs] == tf.nest.flatten(var_list)


def test_minimize_calls_by_keyword():
    """So that a subclass may have other signatures, as programs do."""
    calls = []

    class Clipped(tf.train.GradientDescentOptimizer):
        def compute_gradients(self, loss, var_list, **kwargs):
            calls.append(sorted(kwargs))
            return super().compute_gradients(loss, var_list=var_list, **kwargs)

        def apply_gradients(self, grads_and_vars, name=None, global_step=None):
            calls.append((name, global_step))
            return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    v, step = tf.Variable(3.0), tf.train.get_or_create_global_step()
    Clipped(0.5).minimize(v * v, global_step=step, name="step")
    keywords = ["aggregation_method", "colocate_gradients_with_ops", "gate_gradients", "grad_loss"]
    assert calls == [keywords, ("step", step)]


def test_variables_are_those_of_the_default_graph():
    optimizer = tf.train.AdamOptimizer()
    for _ in range(2):
        with tf.Graph().as_default() as graph:
            optimizer.minimize(tf.get_variable("b", initializer=1.0) * tf.get_variable("a", []))
            variables = optimizer.variables()
            assert {variable.graph for variable in variables} == {graph}
            names = "a/Adam a/Adam_1 b/Adam b/Adam_1 beta1_power beta2_power"
            assert [variable.op.name for variable in variables] == names.split()


def test_adagrad_of_a_variable_of_unknown_shape():
    start = tf.placeholder_with_default(np.ones(3, np.float32), None)
    v = tf.Variable(start, validate_shape=False, use_resource=False)
    optimizer = tf.train.AdagradOptimizer(0.1)
    step = optimizer.apply_gradients([(tf.ones([3]), v)])
    value, sums = run_step(step, [v, optimizer.get_slot(v, "accumulator")])
    np.testing.assert_allclose(sums, [1.1] * 3, 1e-6)
    np.testing.assert_allclose(value, [1 - 0.1 / np.sqrt(1.1)] * 3, 1e-6)


def test_the_global_step_may_be_the_tensor_of_its_variable():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.Variable(0, name="global_step", trainable=False)
        weight = tf.Variable(1.0)
        step = graph.get_tensor_by_name("global_step:0")
        train = tf.train.GradientDescentOptimizer(0.1).minimize(weight * weight, global_step=step)
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(step) == 1
