"""Templates: functions whose variables are made at the first call and shared by all others."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def add_w():
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    return tf.add(w, 1.0, name="add")


def names(variables):
    return [each.op.name for each in variables]


# -- names and scopes


def test_variables_are_where_it_was_called_first_and_operations_where_it_is_called():
    shared = tf.make_template("fn", add_w)
    with tf.variable_scope("abc"):
        first = shared()
    with tf.variable_scope("def"):
        second = shared()
    assert names(tf.global_variables()) == ["abc/fn/w"]
    assert [first.op.name, second.op.name] == ["abc/fn/add", "def/fn/add"]
    assert first.op.inputs[0] is second.op.inputs[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([first, second]) == [2, 2]


def test_the_scope_is_opened_at_the_first_call():
    shared = tf.make_template("fn", add_w)
    assert shared.variable_scope is shared.var_scope is shared.variable_scope_name is None
    with tf.variable_scope("fn"):
        pass
    shared()
    assert shared.variable_scope.name == "fn_1"
    assert shared.variable_scope_name == "fn_1/"
    assert shared.var_scope is shared.variable_scope


def test_the_scope_may_be_opened_at_once():
    with tf.variable_scope("maker"):
        first = tf.make_template("foo", add_w, create_scope_now_=True)
        second = tf.make_template("foo", add_w, create_scope_now_=True)
    assert first.variable_scope.name == "maker/foo"
    with tf.variable_scope("caller"):
        made = [each().op.name for each in (first, first, second)]
    assert made == ["caller/foo/add", "caller/foo_1/add", "caller/foo_1_1/add"]
    assert names(tf.global_variables()) == ["maker/foo/w", "maker/foo_1/w"]


def test_opening_a_scope_at_once_opens_no_name_scope():
    tf.make_template("foo", add_w, create_scope_now_=True)
    with tf.name_scope("foo") as scope:
        assert scope == "foo/"


@pytest.mark.parametrize("now", [False, True])
def test_a_name_of_its_own_is_not_made_unique(now):
    first = tf.make_template("n", add_w, now, unique_name_="u")
    second = tf.make_template("n", add_w, now, unique_name_="u")
    first()
    assert names(first.variables) == ["u/w"]
    with pytest.raises(ValueError, match=r"Variable u/w already exists.*originally defined at"):
        try:
            second()
        except ValueError as error:
            raise ValueError(str(error).replace("\n", " ")) from None
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        third = tf.make_template("n", add_w, now, unique_name_="u")
        third()
    assert third.variables == first.variables


@pytest.mark.parametrize("now", [False, True])
def test_templates_nest(now):
    def nested():
        tf.get_variable("dummy", [1])
        return tf.no_op("op")

    def outer():
        first = tf.make_template("nested", nested, now)
        second = tf.make_template("nested", nested, now)
        first()
        return [first(), second()]

    one, two = tf.make_template("s1", outer, now), tf.make_template("s1", outer, now)
    one()
    one()
    two()
    expected = [
        f"{scope}/{each}/dummy" for scope in ("s1", "s1_1") for each in ("nested", "nested_1")
    ]
    assert names(tf.global_variables()) == expected
    assert names(one.variables) == expected[:2]
    assert names(two.variables) == expected[2:]


def test_scopes_inside_keep_their_names():
    def layers():
        with tf.variable_scope(None, "layer"):
            tf.get_variable("w", [1])
        with tf.variable_scope(None, "layer"):
            return tf.get_variable("w", [1])

    shared = tf.make_template("net", layers)
    assert shared() is shared()
    assert names(tf.global_variables()) == ["net/layer/w", "net/layer_1/w"]


# -- arguments


def test_arguments_given_beforehand_may_be_given_again():
    def scaled(x, by, add=0.0):
        return x * tf.get_variable("w", [], initializer=tf.ones_initializer()) * by + add

    shared = tf.make_template("scaled", scaled, by=2.0)
    values = [shared(3.0), shared(3.0, by=5.0), shared(3.0, add=1.0)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(values) == [6, 15, 7]
    assert shared.func.func is scaled
    assert tf.make_template("f", scaled).func is scaled
    with pytest.raises(TypeError, match="missing 1 required"):
        shared()


def test_positions_and_names_reach_the_function():
    shared = tf.make_template("f", lambda *args, **kwargs: (args, kwargs))
    assert shared(1, "two", three=3) == ((1, "two"), {"three": 3})


@pytest.mark.parametrize("now", [False, True])
def test_its_custom_getter_is_called_to_make_and_to_find(now):
    asked = []

    def getter(getter, name, *args, **kwargs):
        asked.append(name)
        return 2.0 * getter(name, *args, **kwargs)

    shared = tf.make_template("f", add_w, now, custom_getter_=getter)
    first, second = shared(), shared()
    assert asked == ["f/w", "f/w"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([first, second]) == [3, 3]
    tf.get_variable("other", [])
    assert len(asked) == 2


def test_the_getter_of_the_scope_around_is_called_too():
    asked = []

    def noting(word):
        def getter(getter, *args, **kwargs):
            asked.append(word)
            return getter(*args, **kwargs)

        return getter

    shared = tf.make_template("f", add_w, custom_getter_=noting("own"))
    with tf.variable_scope("around", custom_getter=noting("around")):
        shared()
    assert asked == ["own", "around"]


def test_a_template_has_a_name():
    with pytest.raises(ValueError, match="name cannot be None"):
        tf.make_template(None, add_w)


# -- attributes


@pytest.mark.parametrize("now", [False, True])
def test_it_tells_its_variables(now):
    def function():
        tf.get_variable("a", [])
        tf.get_variable("b", [], trainable=False)
        tf.get_local_variable("c", [])

    shared = tf.make_template("f", function, now)
    kinds = [
        "variables", "weights", "trainable_variables", "trainable_weights", "global_variables",
        "non_trainable_variables", "non_trainable_weights", "local_variables",
    ]  # fmt: skip
    assert [getattr(shared, kind) for kind in kinds] == [[]] * len(kinds)
    shared()
    with tf.variable_scope("f2"):
        tf.get_variable("not_its_own", [])
    told = {kind: names(getattr(shared, kind)) for kind in kinds}
    everything = ["f/a", "f/b", "f/c"]
    assert told["variables"] == told["weights"] == everything
    assert told["trainable_variables"] == told["trainable_weights"] == everything[:1]
    assert told["non_trainable_variables"] == told["non_trainable_weights"] == everything[1:2]
    assert told["global_variables"] == everything[:2]
    assert told["local_variables"] == everything[2:]
    assert shared.name == "f"


def test_it_says_what_it_is():
    shared = tf.make_template("f", add_w)
    assert repr(shared) == "<Template 'f' not called yet>"
    shared()
    assert repr(shared) == "<Template 'f' scope 'f'>"


# -- errors


@pytest.mark.parametrize("now", [False, True])
def test_after_a_first_call_that_fails_the_next_is_the_first(now):
    shared = tf.make_template("f", lambda x: x * add_w(), now)
    with pytest.raises(TypeError):
        shared(1.0, is_training=True)
    assert shared.variables == []
    shared(1.0)
    shared(2.0)
    assert names(shared.variables) == ["f/w"]


@pytest.mark.parametrize("kind", [KeyError, ValueError, ZeroDivisionError])
@pytest.mark.parametrize("args", [(), ("what",), (3, 4)])
def test_what_is_raised_says_where_the_template_was_made(kind, args):
    def fails():
        raise kind(*args)

    shared = tf.make_template("f", fails)
    with pytest.raises(kind) as caught:
        shared()
    told, *others = caught.value.args
    assert told.startswith(str(args[0]) if args else "\n\noriginally defined at:")
    assert "\n\noriginally defined at:\n" in told and "test_make_template.py" in told
    assert 'tf.make_template("f", fails)' in told
    assert tuple(others) == args[1:]


def test_an_error_of_the_runtime_says_it_too():
    def fails():
        with tf.Session() as session:
            session.run(add_w())

    with pytest.raises(tf.errors.FailedPreconditionError, match="originally defined at"):
        tf.make_template("f", fails)()


def test_a_trainable_variable_of_its_own_in_each_call_is_refused():
    shared = tf.make_template("f", lambda: tf.Variable(1.0))
    shared()
    for index in (1, 2):
        with pytest.raises(ValueError) as caught:
            shared()
        told = str(caught.value)
        assert "Trainable variable created when calling a template after the first time" in told
        assert f"'f_{index}/Variable:0'" in told and "originally defined at" in told


def test_another_variable_of_its_own_in_each_call_is_logged(caplog):
    shared = tf.make_template("f", lambda: tf.Variable(1.0, trainable=False))
    with caplog.at_level(logging.INFO, "gpugraph"):
        shared()
        assert caplog.records == []
        shared()
    (record,) = caplog.records
    assert "'f'" in record.getMessage() and "f_1/Variable:0" in record.getMessage()


def test_a_variable_that_another_thread_makes_meanwhile_is_not_blamed_on_it(graph):
    def elsewhere():
        with graph.as_default():
            tf.Variable(1.0)

    def function():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return add_w()

    shared = tf.make_template("f", function)
    shared()
    assert shared().op.inputs[0].op.name == "f/w/read"


def test_a_template_may_call_itself():
    def function(depth):
        w = tf.get_variable("w", [])
        return w if depth == 0 else shared(depth - 1)

    shared = tf.make_template("f", function)
    assert shared(3) is shared(1)
    assert names(tf.global_variables()) == ["f/w"]


@pytest.mark.parametrize("now", [False, True])
def test_first_calls_in_several_threads_make_the_variables_once(graph, now):
    count = 4
    together = threading.Barrier(count, timeout=30)

    def function():
        with tf.variable_scope("inner"):
            together.wait()
            return tf.get_variable("w", [])

    shared = tf.make_template("f", function, now)
    found = []

    def work():
        with graph.as_default():
            found.append(shared())

    threads = [threading.Thread(target=work) for _ in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == count and len(set(map(id, found))) == 1
    assert names(tf.global_variables()) == ["f/inner/w"]
    assert shared.variable_scope.reuse is False


def test_its_variables_train():
    shared = tf.make_template("line", lambda x: x * tf.get_variable("slope", []))
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    loss = tf.reduce_mean(tf.square(shared(x) - 3 * x) + tf.square(shared(-x) + 3 * x))
    step = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(60):
            session.run(step)
        assert abs(session.run(shared.variables[0]) - 3) < 1e-3
