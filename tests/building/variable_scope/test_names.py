"""Names of variables and operations: scopes by name, jumps, default names, the root."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def variable(name: str) -> str:
    """Return the name of a new variable got as `name`."""
    return str(tf.get_variable(name, [1], initializer=tf.zeros_initializer()).op.name)


def operation() -> str:
    """Return the name of a new operation called `c`."""
    return str(tf.constant(0, name="c").op.name)


def text(lines: str) -> str:
    return "\n".join(line.strip() for line in lines.strip().splitlines())


def listing(graph: tf.Graph) -> str:
    lines = []
    for op in graph.get_operations():
        inputs = ", ".join(tensor.name.removesuffix(":0") for tensor in op.inputs)
        lines.append(f"{op.name} = {op.type}({inputs})")
    return "\n".join(lines)


# -- the ops of a variable


def test_a_float_variable_begins_as_glorot_says(graph):
    tf.get_variable("v", [2, 3])
    assert listing(graph) == text("""
        v/Initializer/random_uniform/shape = Const()
        v/Initializer/random_uniform/min = Const()
        v/Initializer/random_uniform/max = Const()
        v/Initializer/random_uniform/RandomUniform = \
RandomUniform(v/Initializer/random_uniform/shape)
        v/Initializer/random_uniform/sub = Sub(v/Initializer/random_uniform/max, \
v/Initializer/random_uniform/min)
        v/Initializer/random_uniform/mul = Mul(v/Initializer/random_uniform/RandomUniform, \
v/Initializer/random_uniform/sub)
        v/Initializer/random_uniform = Add(v/Initializer/random_uniform/mul, \
v/Initializer/random_uniform/min)
        v = VariableV2()
        v/Assign = Assign(v, v/Initializer/random_uniform)
        v/read = Identity(v)
    """)
    assert {tuple(op.colocation_groups()) for op in graph.get_operations()} == {(b"loc:@v",)}


def test_an_integer_variable_begins_as_zeros(graph):
    tf.get_variable("v", [2], tf.int32)
    assert listing(graph) == text("""
        v/Initializer/zeros = Const()
        v = VariableV2()
        v/Assign = Assign(v, v/Initializer/zeros)
        v/read = Identity(v)
    """)


def test_an_initial_value_is_a_constant_beside_it(graph):
    tf.get_variable("v", initializer=[1.0, 2.0])
    assert listing(graph) == text("""
        v/initial_value = Const()
        v = VariableV2()
        v/Assign = Assign(v, v/initial_value)
        v/read = Identity(v)
    """)


# -- scopes by name


def test_scopes_prefix_variables_and_operations():
    with tf.variable_scope("a") as a:
        assert (variable("v"), operation()) == ("a/v", "a/c")
        with tf.variable_scope("b") as b:
            assert (variable("v"), operation()) == ("a/b/v", "a/b/c")
    assert (a.name, a.original_name_scope) == ("a", "a/")
    assert (b.name, b.original_name_scope) == ("a/b", "a/b/")


def test_a_name_may_hold_a_slash():
    with tf.variable_scope("p/q") as scope:
        assert (variable("v"), operation()) == ("p/q/v", "p/q/c")
    assert scope.original_name_scope == "p/q/"


def test_opened_again_the_variables_are_under_the_same_name_and_the_operations_are_not():
    with tf.variable_scope("a"):
        assert (variable("v"), operation()) == ("a/v", "a/c")
    with tf.variable_scope("a") as again:
        assert (variable("w"), operation()) == ("a/w", "a_1/c")
    assert again.original_name_scope == "a_1/"


def test_name_scopes_are_nothing_to_get_variable_and_something_to_variable():
    with tf.name_scope("n"):
        assert variable("v") == "v"
        assert tf.Variable(0.0, name="w").op.name == "n/w"
        with tf.variable_scope("a"):
            assert (variable("v"), operation()) == ("a/v", "n/a/c")
            assert tf.Variable(0.0, name="w").op.name == "n/a/w"


def test_a_scope_object_of_the_with_statement_may_be_entered_again():
    named, default = tf.variable_scope("a"), tf.variable_scope(None, "d")
    seen = []
    for _ in range(2):
        for scope in (named, default):
            with scope as entered:
                seen.append((entered.name, operation()))
    assert seen == [("a", "a/c"), ("d", "d/c"), ("a", "a_1/c"), ("d", "d_1/c")]


# -- jumps


def test_a_scope_that_is_given_is_jumped_to():
    with tf.variable_scope("a"), tf.variable_scope("b") as b:
        pass
    with tf.variable_scope(b) as again:
        assert (variable("v"), operation()) == ("a/b/v", "b/c")
    assert again is not b
    assert again.original_name_scope == "a/b/"
    with tf.variable_scope("z"), tf.variable_scope(b):
        assert (variable("w"), operation()) == ("a/b/w", "z/b/c")
        with tf.variable_scope("in"):
            assert (variable("v"), operation()) == ("a/b/in/v", "z/b/in/c")
    assert tf.get_variable_scope().name == ""


def test_the_root_may_be_jumped_to_and_opens_no_name_scope():
    root = tf.get_variable_scope()
    with tf.variable_scope("a"):
        with tf.variable_scope(root, reuse=tf.AUTO_REUSE) as again:
            assert (variable("v"), operation()) == ("v", "a/c")
            assert (again.name, again.original_name_scope) == ("", "")
            with tf.variable_scope("b"):
                assert (variable("v"), operation()) == ("b/v", "a/b/c")
        with tf.variable_scope(root, auxiliary_name_scope=False):
            assert (variable("w"), operation()) == ("w", "a/c_1")
    assert root.reuse is False


# -- default names


def opened(*default_names: str) -> list[str]:
    names = []
    for name in default_names:
        with tf.variable_scope(None, name) as scope:
            names.append(scope.name)
    return names


def test_default_names_are_made_unique():
    assert opened("d", "d", "d") == ["d", "d_1", "d_2"]
    with tf.variable_scope("d_3"):
        pass
    assert opened("d") == ["d_4"]


def test_default_names_of_which_one_begins_another_stay_apart():
    names = ["defaultScope1", "defaultScope", "defaultScope1", "defaultScope"]
    assert opened(*names) == [
        "defaultScope1", "defaultScope", "defaultScope1_1", "defaultScope_1",
    ]  # fmt: skip


def test_a_name_that_is_given_counts_too():
    with tf.variable_scope("d"):
        pass
    assert opened("d") == ["d_1"]


def test_default_names_begin_anew_in_a_scope_that_was_closed():
    for _ in range(2):
        with tf.variable_scope("o"):
            assert opened("d", "d") == ["o/d", "o/d_1"]


def test_a_jump_leaves_default_names_as_they_were():
    with tf.variable_scope("o") as o:
        assert opened("d") == ["o/d"]
        with tf.variable_scope(o):
            assert opened("d") == ["o/d_1"]
        assert opened("d") == ["o/d_1"]
    with tf.variable_scope(o):
        assert opened("d") == ["o/d"]


def test_a_name_goes_before_the_default_one():
    with tf.variable_scope("n", "d") as scope:
        assert scope.name == "n"


def test_the_older_function_takes_values_first():
    tensor = tf.constant(1.0)
    with tf.variable_op_scope([tensor], None, "d") as scope:
        assert variable("v") == "d/v"
    with tf.variable_op_scope([tensor], "n", "d") as scope:
        assert scope.name == "n"


def test_values_say_the_graph(graph):
    with tf.Graph().as_default() as other:
        value = tf.constant(1.0)
    with tf.variable_scope("a", values=[value]):
        assert tf.get_variable("v", [1]).graph is other
    assert tf.get_default_graph() is graph
    with pytest.raises(ValueError, match="same graph"):
        tf.variable_scope("a", values=[value, tf.constant(2.0)])


# -- no name scope


def test_without_a_name_scope_operations_stay_where_they_are():
    with tf.name_scope("n"):
        with tf.variable_scope("s", auxiliary_name_scope=False) as scope:
            assert (variable("v"), operation()) == ("s/v", "n/c")
            assert scope.original_name_scope == "n/"
            with tf.variable_scope("in"):
                assert (variable("v"), operation()) == ("s/in/v", "n/in/c")
        with tf.variable_scope(None, "d", auxiliary_name_scope=False):
            assert (variable("v"), operation()) == ("d/v", "n/c_1")
    with tf.variable_scope("t", auxiliary_name_scope=False) as scope:
        assert (variable("v"), operation()) == ("t/v", "c")
        assert scope.original_name_scope == ""


def test_the_original_name_scope_is_entered_again():
    with tf.variable_scope("s") as s:
        assert operation() == "s/c"
    with tf.variable_scope(s, auxiliary_name_scope=False) as again:
        with tf.name_scope(again.original_name_scope):
            assert (variable("v"), operation()) == ("s/v", "s/c_1")


# -- invalid names


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"name_or_scope": None}, TypeError, "default_name is None then name_or_scope is required"),
        ({"name_or_scope": 3}, TypeError, "must be a string or VariableScope: 3"),
        ({"name_or_scope": "a b"}, ValueError, "'a b' is not a valid scope name"),
        (
            {"name_or_scope": "a", "auxiliary_name_scope": "x"},
            TypeError,
            "must be `True` or `False`, while get 'x'",
        ),
    ],
)
def test_bad_names(arguments, error, message):
    with pytest.raises(error, match=message), tf.variable_scope(**arguments):
        pass
    assert (tf.get_variable_scope().name, operation()) == ("", "c")
