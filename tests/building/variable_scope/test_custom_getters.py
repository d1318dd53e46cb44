"""Custom getters and variable creators: which are called, in which order, and their arguments."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def get(name="v", **given):
    return tf.get_variable(name, [1], initializer=tf.zeros_initializer(), **given)


def noting(letter, notes):
    def getter_of(getter, name, *args, **kwargs):
        notes.append(f"{letter}>")
        made = getter(f"{name}_{letter}", *args, **kwargs)
        notes.append(f"<{letter}")
        return made

    return getter_of


# -- custom getters


def test_the_innermost_scopes_getter_is_called_first():
    notes = []
    with tf.variable_scope("a", custom_getter=noting("A", notes)):
        with tf.variable_scope("b", custom_getter=noting("B", notes)):
            made = get()
    assert notes == ["B>", "A>", "<A", "<B"]
    assert made.op.name == "a/b/v_B_A"


def test_a_getter_of_the_call_takes_the_place_of_the_scopes():
    notes = []
    with tf.variable_scope("a", custom_getter=noting("A", notes)):
        assert get(custom_getter=noting("C", notes)).op.name == "a/v_C"


def test_a_getter_is_called_on_reuse_too_and_added_to_at_a_jump():
    notes = []
    with tf.variable_scope("a", custom_getter=noting("A", notes)) as scope:
        first = get()
    with tf.variable_scope(scope, reuse=True):
        assert get() is first
    with tf.variable_scope(scope, custom_getter=noting("D", notes)):
        assert get().op.name == "a/v_D_A"
    assert notes == ["A>", "<A"] * 2 + ["D>", "A>", "<A", "<D"]


def test_a_getter_is_given_everything_by_name():
    given = {}

    def keep(getter, **kwargs):
        given.update(kwargs)
        return getter(**kwargs)

    with tf.variable_scope("a", custom_getter=keep, dtype=tf.float64):
        made = tf.get_variable("v", [2])
        assert made.op.name == "a/v"
        assert given.pop("constraint") is None
        assert given == {
            "name": "a/v",
            "shape": [2],
            "dtype": tf.float64,
            "initializer": None,
            "regularizer": None,
            "reuse": False,
            "trainable": True,
            "collections": None,
            "caching_device": None,
            "partitioner": None,
            "validate_shape": True,
            "use_resource": None,
            "synchronization": tf.VariableSynchronization.AUTO,
            "aggregation": tf.VariableAggregation.NONE,
        }
        tf.get_local_variable("w", [2])
    assert given["trainable"] is False
    assert given["collections"] == [tf.GraphKeys.LOCAL_VARIABLES]


def test_a_getter_that_knows_of_no_constraint_is_not_given_one():
    names = []

    def old(
        getter, name, shape, dtype, initializer, regularizer, reuse, trainable, collections,
        caching_device, partitioner, validate_shape, use_resource, synchronization, aggregation,
    ):  # fmt: skip
        names.append(name)
        return getter(name, shape, initializer=initializer)

    with tf.variable_scope("a", custom_getter=old, constraint=tf.nn.relu):
        assert get().constraint is None
    with tf.variable_scope("b", custom_getter=noting("B", [])):
        with tf.variable_scope("c", custom_getter=old, constraint=tf.nn.relu):
            assert get().constraint is None
    assert names == ["a/v", "b/c/v"]


def test_a_getter_may_make_several_variables_and_give_a_tensor():
    def summed(getter, name, **given):
        return getter(f"{name}/a", **given) + getter(f"{name}/b", **given)

    with tf.variable_scope("s", custom_getter=summed):
        made = get()
    assert isinstance(made, tf.Tensor)
    assert [each.op.name for each in tf.global_variables()] == ["s/v/a", "s/v/b"]


def test_what_cannot_be_called_is_no_getter():
    with pytest.raises(ValueError, match="custom_getter which is not callable: 3"):
        get(custom_getter=3)
    with tf.variable_scope("a", custom_getter=noting("A", [])):
        with tf.variable_scope("b", custom_getter=3), pytest.raises(ValueError, match="callable"):
            get()


# -- creators


def test_the_innermost_creator_runs_first_for_both_kinds_of_making():
    notes = []

    def creator(letter):
        def create(next_creator, **given):
            notes.append(f"{letter}:{given['name']}")
            return next_creator(**given)

        return create

    with tf.variable_creator_scope(creator("A")):
        with tf.variable_creator_scope(creator("B")):
            get()
        tf.Variable(1.0, name="w")
    tf.Variable(1.0, name="x")
    assert notes == ["B:v", "A:v", "A:w"]


def test_a_creator_is_given_everything_by_name():
    seen = []

    def create(next_creator, **given):
        seen.append(given)
        return next_creator(**given)

    with tf.variable_creator_scope(create):
        tf.Variable(1.0)
    assert seen == [
        {
            "initial_value": 1.0,
            "trainable": None,
            "collections": None,
            "validate_shape": True,
            "caching_device": None,
            "name": None,
            "variable_def": None,
            "dtype": None,
            "expected_shape": None,
            "import_scope": None,
            "constraint": None,
            "use_resource": None,
            "synchronization": tf.VariableSynchronization.AUTO,
            "aggregation": tf.VariableAggregation.NONE,
            "shape": None,
        }
    ]


def test_a_creator_may_change_what_is_made_or_give_something_else():
    def fixed(next_creator, **given):
        return next_creator(**{**given, "trainable": False})

    given_back = tf.constant(3.0)
    with tf.variable_creator_scope(fixed):
        assert not get().trainable
    with tf.variable_creator_scope(lambda next_creator, **given: given_back):
        assert tf.Variable(1.0) is given_back


def test_creators_belong_to_their_graph():
    with tf.variable_creator_scope(lambda next_creator, **given: None):
        with tf.Graph().as_default():
            assert isinstance(get(), tf.Variable)
        assert get() is None


def test_a_class_made_from_variable_makes_its_own():
    class Counter(tf.Variable):
        pass

    with tf.variable_creator_scope(lambda next_creator, **given: None):
        assert isinstance(Counter(0), Counter)


def test_creator_scopes_must_nest():
    def create(next_creator, **given):
        return next_creator(**given)

    outer, inner = tf.variable_creator_scope(create), tf.variable_creator_scope(create)
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="without proper nesting"):
        outer.__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="without proper nesting"):
        inner.__exit__(None, None, None)
