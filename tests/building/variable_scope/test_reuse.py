"""Reuse of variables: when one is created or found, how reuse is inherited, and its errors."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

import gpugraph as tf

MODES = (None, False, True, tf.AUTO_REUSE)
HERE = r"test_reuse\.py:\d+"


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def get(name="v", shape=(1,), **given):
    return tf.get_variable(name, shape, initializer=tf.zeros_initializer(), **given)


def test_a_variable_is_shared_by_its_name():
    with tf.variable_scope("a"):
        first = get()
    with tf.variable_scope("a", reuse=True):
        assert get() is first
        assert tf.get_variable("v") is first
    assert tf.global_variables() == [first]


def test_auto_reuse_makes_it_once():
    def get_it():
        with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
            return get()

    assert get_it() is get_it()


def test_from_reuse_variables_on_variables_must_exist():
    with tf.variable_scope("a") as scope:
        first = get()
        scope.reuse_variables()
        assert scope.reuse is True
        assert get() is first
        with tf.variable_scope("b") as inner:
            assert inner.reuse is True
    with tf.variable_scope("a") as again:
        assert again.reuse is False


def test_reuse_variables_of_a_jump_is_only_its_own():
    with tf.variable_scope("a") as scope:
        pass
    with tf.variable_scope(scope) as jump:
        jump.reuse_variables()
    assert scope.reuse is False
    with tf.variable_scope(scope) as jump:
        assert jump.reuse is False


@pytest.mark.parametrize("inner", MODES)
@pytest.mark.parametrize("outer", MODES)
def test_how_parents_and_children_mix(outer, inner):
    """None and False inherit the root's False; a child's own setting goes first."""
    expected = inner or outer or False
    with tf.variable_scope("a", reuse=outer) as parent:
        assert parent.reuse is (outer or False)
        with tf.variable_scope("b", reuse=inner) as child:
            assert child.reuse is expected
        with tf.variable_scope(parent, reuse=inner) as jump:
            assert jump.reuse is expected


@given(st.lists(st.sampled_from(MODES), min_size=1, max_size=6))
def test_the_innermost_that_says_something_is_heard(modes):
    with tf.Graph().as_default():
        scopes = [tf.variable_scope(f"s{depth}", reuse=mode) for depth, mode in enumerate(modes)]
        for scope in scopes:
            scope.__enter__()
        expected = next((mode for mode in reversed(modes) if mode), False)
        assert tf.get_variable_scope().reuse is expected
        for scope in reversed(scopes):
            scope.__exit__(None, None, None)
        assert tf.get_variable_scope().reuse is False


def test_a_reused_variable_is_not_regularized_again():
    with tf.variable_scope("a", regularizer=tf.nn.l2_loss) as scope:
        get()
    with tf.variable_scope(scope, reuse=True):
        get()
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1


# -- errors


def test_what_exists_must_not_be_made_again():
    first = get()
    with pytest.raises(ValueError, match="Variable v already exists, disallowed") as caught:
        get()
    assert re.search(HERE, str(caught.value))
    assert "reuse=tf.AUTO_REUSE" in str(caught.value)
    assert tf.global_variables() == [first]


def test_what_does_not_exist_is_not_found():
    with (
        tf.variable_scope("a", reuse=True),
        pytest.raises(ValueError, match="Variable a/v does not exist") as caught,
    ):
        get()
    assert "reuse=tf.AUTO_REUSE" in str(caught.value)
    assert tf.global_variables() == []


def test_names_that_are_near_are_told():
    with tf.variable_scope("layer"):
        get("weights")
        get("bias")
    with (
        tf.variable_scope("layer", reuse=True),
        pytest.raises(ValueError, match=r"Names that exist: layer/weights, "),
    ):
        get("weight")


def test_a_variable_of_that_name_that_is_not_shared_is_told():
    tf.Variable(0.0, name="v")
    with (
        tf.variable_scope(tf.get_variable_scope(), reuse=True),
        pytest.raises(ValueError, match=rf"tf.Variable of this name, made at .*{HERE}"),
    ):
        get()


def test_another_shape():
    get()
    with (
        tf.variable_scope(tf.get_variable_scope(), reuse=True),
        pytest.raises(
            ValueError, match=rf"variable v, but specified shape \(2,\) and .* \(1,\).*{HERE}"
        ),
    ):
        get(shape=[2])


def test_another_dtype():
    get()
    with (
        tf.variable_scope(tf.get_variable_scope(), reuse=True),
        pytest.raises(ValueError, match=rf"dtype int32 and found dtype float32_ref.*{HERE}"),
    ):
        get(dtype=tf.int32)


def test_the_dtype_of_a_reference_is_that_of_its_value():
    first = get()
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        assert get(dtype=first.dtype) is first


@pytest.mark.parametrize("reuse", ["yes", 1, 0.0, []])
def test_no_other_value(reuse):
    with pytest.raises(ValueError, match="The reuse parameter must be True or False or None"):
        tf.variable_scope("a", reuse=reuse)


@pytest.mark.parametrize("reuse", [True, tf.AUTO_REUSE])
def test_a_default_name_has_nothing_to_reuse(reuse):
    with (
        pytest.raises(ValueError, match="reuse=True cannot be used without a name_or_scope"),
        tf.variable_scope(None, "d", reuse=reuse),
    ):
        pass
    assert tf.get_variable_scope().name == ""


def test_graphs_share_nothing(graph):
    first = get()
    with tf.Graph().as_default():
        assert get() is not first
