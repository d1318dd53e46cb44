"""Variables: their ops, the attributes that they keep, the ops that may change them, their
errors.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import raw_ops


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def listing(graph: tf.Graph) -> str:
    """Return the graph as text: a line `name = Type(inputs; ^control inputs)` for each
    operation.
    """
    lines = []
    for op in graph.get_operations():
        inputs = ", ".join(tensor.name.removesuffix(":0") for tensor in op.inputs)
        controls = ", ".join(f"^{each.name}" for each in op.control_inputs)
        lines.append(f"{op.name} = {op.type}({'; '.join(filter(None, [inputs, controls]))})")
    return "\n".join(lines)


def text(lines: str) -> str:
    return "\n".join(line.strip() for line in lines.strip().splitlines())


def groups(graph: tf.Graph, name: str) -> list[bytes]:
    return graph.get_operation_by_name(name).colocation_groups()


def initialized() -> tf.Session:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


# -- the ops of a variable


def test_a_variable_is_four_operations(graph):
    tf.Variable(1.0)
    tf.Variable([2, 3], name="w")
    assert listing(graph) == text("""
        Variable/initial_value = Const()
        Variable = VariableV2()
        Variable/Assign = Assign(Variable, Variable/initial_value)
        Variable/read = Identity(Variable)
        w/initial_value = Const()
        w = VariableV2()
        w/Assign = Assign(w, w/initial_value)
        w/read = Identity(w)
    """)
    assert groups(graph, "w/Assign") == groups(graph, "w/read") == [b"loc:@w"]


def test_names_are_unique_and_scoped(graph):
    first, second = tf.Variable(0, name="w"), tf.Variable(0, name="w")
    with tf.name_scope("layer"):
        third = tf.Variable(0, name="w")
    assert [each.name for each in (first, second, third)] == ["w:0", "w_1:0", "layer/w:0"]


def test_a_callable_is_called_in_a_scope_of_its_own_beside_the_variable(graph):
    tf.Variable(lambda: tf.zeros([2]), name="w")
    tf.Variable(lambda: 3.0, name="b")
    assert listing(graph) == text("""
        w/Initializer/zeros = Const()
        w = VariableV2()
        w/Assign = Assign(w, w/Initializer/zeros)
        w/read = Identity(w)
        b/Initializer/initial_value = Const()
        b = VariableV2()
        b/Assign = Assign(b, b/Initializer/initial_value)
        b/read = Identity(b)
    """)
    assert groups(graph, "w/Initializer/zeros") == [b"loc:@w"]


def test_a_tensor_is_the_initial_value_as_it_is(graph):
    value = tf.constant([1.0, 2.0])
    variable = tf.Variable(value)
    assert variable.initial_value is value
    assert variable.initializer.inputs[1] is value


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, None, tf.int32),
        (1.5, None, tf.float32),
        (True, None, tf.bool),
        (np.float64([1, 2]), None, tf.float64),
        ("text", None, tf.string),
        ([1, 2], tf.float16, tf.float16),
        (lambda: 1, tf.int64, tf.int64),
        (1 + 2j, tf.complex64, tf.complex64),
    ],
)
def test_dtype(value, dtype, expected):
    variable = tf.Variable(value, dtype=dtype)
    assert variable.dtype.base_dtype is expected
    assert variable.dtype.is_ref_dtype
    assert variable.value().dtype is expected


def test_what_it_says_of_itself(graph):
    with tf.device("/cpu:0"):
        variable = tf.Variable([[1.0, 2.0]], name="w")
    assert variable.shape.as_list() == variable.get_shape().as_list() == [1, 2]
    assert variable.op is graph.get_operation_by_name("w")
    assert variable.graph is graph
    assert variable.device == "/device:CPU:0"
    assert variable.initializer.name == "w/Assign"
    assert variable.value().name == "w/read:0"
    assert repr(variable) == "<tf.Variable 'w:0' shape=(1, 2) dtype=float32_ref>"
    assert variable in {variable: 1}


def test_control_dependencies_around_do_not_reach_into_it(graph):
    fed = tf.placeholder(tf.float32, name="fed")
    with tf.control_dependencies([fed]):
        variable = tf.Variable(lambda: tf.ones([2]) * 3.0, name="w")
        outside = tf.constant(0.0)
    for op in graph.get_operations():
        if op.name.startswith("w"):
            assert not op.control_inputs
    assert [op.name for op in outside.op.control_inputs] == ["fed"]
    with initialized() as session:
        assert session.run(variable).tolist() == [3, 3]


def test_a_caching_device_holds_the_reading(graph):
    with tf.device("/gpu:0"):
        variable = tf.Variable(1.0, caching_device="/cpu:0", name="w")
    assert variable.device == "/device:GPU:0"
    assert variable.value().device == "/device:CPU:0"
    assert groups(graph, "w/read") == [b"loc:@w/read"]


# -- collections


def test_collections():
    both = tf.Variable(1.0, name="both")
    fixed = tf.Variable(1.0, name="fixed", trainable=False)
    local = tf.Variable(1.0, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    nowhere = tf.Variable(1.0, name="nowhere", collections=(), trainable=False)
    assert tf.global_variables() == [both, fixed]
    assert tf.local_variables() == [local]
    assert tf.trainable_variables() == [both, local]
    assert both.trainable and not fixed.trainable
    assert nowhere.name == "nowhere:0"


def test_collections_by_scope():
    with tf.name_scope("a"):
        first = tf.Variable(1.0)
    with tf.name_scope("b"):
        tf.Variable(1.0)
    assert tf.global_variables("a/") == tf.trainable_variables(scope="a/") == [first]
    assert tf.local_variables("a/") == []


# -- its value


def test_a_reading_is_of_the_moment_and_precedes_writing():
    variable = tf.Variable([1.0, 2.0])
    before, doubled = variable.value(), variable * 2.0
    after = variable.assign([5.0, 6.0])
    with initialized() as session:
        old, twice, new = session.run([before, doubled, after])
        assert (old.tolist(), twice.tolist(), new.tolist()) == ([1, 2], [2, 4], [5, 6])
        assert session.run(variable).tolist() == [5, 6]


def test_control_dependencies_order_a_reading_after_writing():
    variable = tf.Variable(1.0)
    with tf.control_dependencies([variable.assign_add(1.0)]):
        after = variable.read_value()
        shared = tf.identity(variable.value())
    with initialized() as session:
        assert session.run([after, shared]) == [2, 2]


def test_two_variables_are_swapped():
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    swap = tf.group(a.assign(b), b.assign(a))
    with initialized() as session:
        session.run(swap)
        assert session.run([a, b]) == [2, 1]


def test_sessions_hold_values_of_their_own():
    variable = tf.Variable(1.0)
    with initialized() as first, initialized() as second:
        first.run(variable.assign(5.0))
        assert (first.run(variable), second.run(variable)) == (5, 1)


def test_what_was_fetched_stays_when_the_variable_changes():
    variable = tf.Variable([1.0])
    with initialized() as session:
        fetched = session.run(variable)
        fetched_reference = session.run(variable.assign([2.0]))
        session.run(variable.assign([3.0]))
        assert (fetched.tolist(), fetched_reference.tolist()) == ([1], [2])


def test_strings():
    variable = tf.Variable(["a", "bc"])
    with initialized() as session:
        assert session.run(variable).tolist() == [b"a", b"bc"]
        assert session.run(variable.assign(["longer", ""])).tolist() == [b"longer", b""]


@given(st.lists(st.tuples(st.sampled_from(["assign", "add", "sub"]), st.integers(-9, 9))))
def test_any_sequence_of_changes(changes):
    with tf.Graph().as_default():
        variable = tf.Variable(0)
        by = tf.placeholder(tf.int32, [])
        ops = {
            "assign": variable.assign(by),
            "add": variable.assign_add(by),
            "sub": variable.assign_sub(by),
        }
        expected = 0
        with initialized() as session:
            for change, value in changes:
                signs = {"assign": value, "add": expected + value, "sub": expected - value}
                expected = signs[change]
                assert session.run(ops[change], {by: value}) == expected
            assert session.run(variable) == expected


# -- changing


def test_assign_and_its_like_give_the_reference(graph):
    variable = tf.Variable([1.0, 2.0], name="v")
    made = [
        variable.assign([3.0, 4.0]),
        variable.assign_add([1.0, 1.0], name="more"),
        variable.assign_sub([2.0, 2.0]),
        tf.assign(variable, [0.0, 0.0]),
        tf.assign_add(variable, [1.0, 2.0]),
        tf.assign_sub(variable, [1.0, 1.0], name="less"),
    ]
    names = ["Assign", "more", "AssignSub", "Assign_1", "AssignAdd", "less"]
    assert [each.op.name for each in made] == names
    assert all(each.dtype.is_ref_dtype for each in made)
    assert all(each.op.colocation_groups() == [b"loc:@v"] for each in made)
    with initialized() as session:
        values = [session.run(each).tolist() for each in made]
    assert values == [[3, 4], [4, 5], [2, 3], [0, 0], [1, 2], [0, 1]]


def test_without_reading_they_give_the_operation():
    variable = tf.Variable(1.0)
    for function in (variable.assign, variable.assign_add, variable.assign_sub):
        assert isinstance(function(1.0, read_value=False), tf.Operation)


def test_assign_stays_with_its_variable_whatever_device_is_asked_for():
    with tf.device("/gpu:1"):
        variable = tf.Variable(1.0)
    with tf.device("/cpu:0"):
        made = variable.assign(2.0)
    assert made.device == "/device:GPU:1"
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=2))
    with tf.Session(config=config) as session:
        session.run(variable.initializer)
        assert session.run(made) == 2
        assert session.run(variable) == 2


def test_load_and_eval():
    variable = tf.Variable([1.0, 2.0])
    with initialized() as session:
        variable.load([3.0, 4.0], session)
        assert variable.eval(session).tolist() == [3, 4]
        variable.load([5.0, 6.0])
        assert variable.eval().tolist() == [5, 6]
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            variable.load([1.0])
        assert variable.eval().tolist() == [5, 6]
    with pytest.raises(ValueError, match="default session"):
        variable.eval()


def test_the_shape_may_change_where_it_is_not_validated():
    fed = tf.placeholder(tf.float32)
    variable = tf.Variable(fed, validate_shape=False)
    assert variable.shape.rank is None
    total = tf.reduce_sum(variable)
    with tf.Session() as session:
        session.run(variable.initializer, {fed: [1.0, 2.0]})
        assert session.run(total) == 3
        session.run(variable.assign([[1.0, 2.0, 3.0]]))
        assert session.run(variable).tolist() == [[1, 2, 3]]
        assert session.run(total) == 6


def test_a_failed_assign_leaves_the_value():
    variable = tf.Variable([1.0, 2.0])
    fed = tf.placeholder(tf.float32)
    assign = variable.assign(fed)
    with initialized() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Assign"):
            session.run(assign, {fed: [1.0, 2.0, 3.0]})
        assert session.run(variable).tolist() == [1, 2]


# -- wherever a tensor may stand


OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]


@pytest.mark.parametrize("function", OPERATORS, ids=lambda function: function.__name__)
def test_operators(function):
    x = np.float32([1, 2, 3])
    variable = tf.Variable(x)
    with initialized() as session:
        np.testing.assert_allclose(session.run(function(variable, 2.0)), function(x, 2))
        np.testing.assert_allclose(session.run(function(2.0, variable)), function(2, x))
        np.testing.assert_allclose(session.run(function(x, variable)), function(x, x))
        np.testing.assert_allclose(session.run(function(variable, variable)), function(x, x))


def test_other_operators():
    x = np.float32([[1, -2], [3, 4]])
    variable, flag = tf.Variable(x), tf.Variable([True, False])
    with initialized() as session:
        for made, expected in [
            (-variable, -x),
            (abs(variable), abs(x)),
            (variable[1], x[1]),
            (variable[:, 0], x[:, 0]),
            (variable @ variable, x @ x),
            (~flag, [False, True]),
            (flag & True, [True, False]),
            (flag | flag, [True, False]),
            (flag ^ True, [False, True]),
        ]:
            np.testing.assert_allclose(session.run(made), expected)


def test_an_operator_reads(graph):
    variable = tf.Variable(1.0, name="v")
    assert (variable + 1.0).op.inputs[0].name == "v/read:0"
    assert tf.negative(variable).op.inputs[0].name == "v/read:0"
    assert tf.convert_to_tensor(variable).name == "v/read:0"


def test_conversion_to_another_dtype_is_refused():
    variable = tf.Variable(1.0)
    with pytest.raises(ValueError, match="int32"):
        tf.convert_to_tensor(variable, tf.int32)


def test_as_control_dependency():
    variable = tf.Variable(1.0, name="v")
    with tf.control_dependencies([variable, variable.initializer]):
        made = tf.no_op()
    assert [op.name for op in made.control_inputs] == ["v", "v/Assign"]


def test_it_is_no_sequence_and_has_no_truth():
    variable = tf.Variable([1.0])
    with pytest.raises(TypeError, match="not iterable"):
        list(variable)
    assert (variable == variable, variable == 1.0) == (True, False)


# -- initialization


def test_uninitialized_use_names_the_variable_and_the_line():
    variable = tf.Variable([1.0], name="forgotten")
    for fetch in (variable, variable + 1.0, variable.assign_add([1.0]), variable.assign_sub([1.0])):
        with tf.Session() as session:
            with pytest.raises(tf.errors.FailedPreconditionError) as caught:
                session.run(fetch)
        assert "uninitialized value forgotten" in str(caught.value)
        assert re.search(r"test_variable\.py:\d+", str(caught.value))


def test_a_session_goes_on_after_uninitialized_use():
    variable = tf.Variable([1.0])
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(variable)
        session.run(variable.initializer)
        assert session.run(variable).tolist() == [1]


def test_initializers_name_the_assignments(graph):
    tf.Variable(1.0, name="a")
    tf.Variable(1.0, name="b", collections=["local_variables"])
    init, local = tf.global_variables_initializer(), tf.local_variables_initializer()
    assert (init.name, [op.name for op in init.control_inputs]) == ("init", ["a/Assign"])
    assert (local.name, [op.name for op in local.control_inputs]) == ("init_1", ["b/Assign"])
    assert tf.variables_initializer([], name="none").control_inputs == []


def test_reports():
    a, b = tf.Variable(1.0, name="a"), tf.Variable([1], name="b")
    tf.Variable(1.0, name="c", collections=["local_variables"])
    every = tf.report_uninitialized_variables()
    some = tf.report_uninitialized_variables([a, b], name="some")
    none = tf.report_uninitialized_variables([])
    flag = tf.is_variable_initialized(b)
    with tf.Session() as session:
        assert session.run(every).tolist() == [b"a", b"b", b"c"]
        assert not session.run(flag)
        session.run(b.initializer)
        assert session.run(some).tolist() == [b"a"]
        assert session.run(flag)
        assert session.run(none).tolist() == []


@pytest.mark.parametrize("is_resource", [False, True])
def test_whether_the_tensor_of_a_variable_is_initialized(is_resource):
    v = tf.Variable(1.0, name="handle", use_resource=is_resource)
    tensor = tf.get_default_graph().get_tensor_by_name("handle:0")
    flag = tf.is_variable_initialized(tensor)
    with tf.Session() as session:
        assert not session.run(flag)
        session.run(v.initializer)
        assert session.run(flag)
    for other in (tf.constant(1.0), 3):
        with pytest.raises(TypeError, match=r"Expected a tf\.Variable"):
            tf.is_variable_initialized(other)


def test_reports_run_beside_gpus():
    with tf.device("/gpu:0"):
        tf.Variable(1.0, name="there")
    missing = tf.report_uninitialized_variables()
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1))
    with tf.Session(config=config) as session:
        assert session.run(missing).tolist() == [b"there"]


def test_a_variable_made_from_another():
    first = tf.Variable(tf.random_normal([3], seed=1), name="first")
    second = tf.Variable(first.initialized_value() * 2.0, name="second")
    third = tf.Variable(tf.reshape(second + first, [1, 3]), name="third")
    with initialized() as session:
        a, b, c = session.run([first, second, third])
    np.testing.assert_array_equal(b, a * 2)
    np.testing.assert_array_equal(c, [b + a])


def test_a_later_variable_takes_the_value_not_the_initial_one():
    first = tf.Variable(1.0)
    second = tf.Variable(first)
    with tf.Session() as session:
        session.run(second.initializer)
        assert session.run(second) == 1
        session.run(first.initializer)
        session.run(first.assign(5.0))
        session.run(second.initializer)
        assert session.run([first, second]) == [5, 5]


def chain(length: int, place: Callable[[int], Any]) -> list[tf.Variable]:
    """Variables of which each is made of the one before, plus 1."""
    made: list[tf.Variable] = []
    for at in range(length):
        with place(at):
            made.append(tf.Variable(made[-1] + 1.0 if made else 1.0))
    return made


@pytest.mark.parametrize("gpus", [0, 2])
@pytest.mark.parametrize("length", range(2, 9))
def test_a_chain_of_initial_values_is_initialized_in_one_run(length, gpus):
    places = ["/gpu:0", "/gpu:1", "/cpu:0"] if gpus else [None]
    made = chain(length, lambda at: tf.device(places[at % len(places)]))
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=gpus))
    expected = [at + 1.0 for at in range(length)]
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(made) == expected
    with tf.Session(config=config) as session:
        session.run(tf.variables_initializer(made[::-1]))
        assert session.run(made) == expected


@given(st.permutations(range(5)))
def test_a_chain_of_initial_values_is_initialized_one_by_one_in_any_order(order):
    with tf.Graph().as_default(), tf.Session() as session:
        made = chain(5, lambda _: tf.device(None))
        for at in order:
            session.run(made[at].initializer)
        assert session.run(made) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("gpus", [0, 2])
def test_initial_values_that_meet_again_are_of_one_value(gpus):
    places = ["/gpu:0", "/gpu:1"] if gpus else [None, None]
    top = tf.Variable(tf.random_normal([3]))
    with tf.device(places[0]):
        left = tf.Variable(top * 2.0)
    with tf.device(places[1]):
        right = tf.Variable(lambda: top - 1.0)
    low = tf.Variable(left + right * left + top)
    last = tf.Variable(tf.stack([low, left, low]))
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=gpus))
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        a, b, c, d, e = session.run([top, left, right, low, last])
    np.testing.assert_array_equal(b, a * 2)
    np.testing.assert_array_equal(c, a - 1)
    np.testing.assert_array_equal(d, b + c * b + a)
    np.testing.assert_array_equal(e, [d, b, d])


def test_a_long_chain_of_initial_values_takes_a_few_operations_each(graph):
    made = chain(200, lambda _: tf.device(None))
    assert len(graph.get_operations()) <= 8 * 200
    with initialized() as session:
        assert session.run(made[-1]) == 200


@pytest.mark.parametrize("gpus", [0, 2])
def test_trained_variables_are_initialized_again_as_a_whole(gpus):
    # TensorFlow races here: a variable gets the one before it as it was or as it is made anew.
    places = ["/gpu:0", "/gpu:1"] if gpus else [None]
    made = chain(4, lambda at: tf.device(places[at % len(places)]))
    trained = tf.group(*[each.assign(100.0) for each in made])
    initialize = tf.global_variables_initializer()
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=gpus))
    with tf.Session(config=config) as session:
        session.run(initialize)
        for _ in range(2):
            session.run(trained)
            session.run(initialize)
            assert session.run(made) == [1, 2, 3, 4]
        session.run(trained)
        session.run(made[2].initializer)
        assert session.run(made) == [100, 100, 101, 100]


# -- misuse


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({}, ValueError, "initial_value must be specified"),
        ({"initial_value": 1.0, "constraint": 3}, ValueError, "must be a callable"),
        ({"initial_value": 1.0, "collections": "variables"}, ValueError, "list, tuple, or set"),
        ({"initial_value": 1.0, "collections": 3}, ValueError, "list, tuple, or set"),
        ({"initial_value": 1.5, "dtype": tf.int32}, TypeError, "Expected int32"),
        ({"initial_value": 1.0, "variable_def": object()}, ValueError, "variable_def"),
        ({"initial_value": 1.0, "name": "not a name"}, ValueError, "not a valid scope name"),
        ({"initial_value": [[1.0], [1.0, 2.0]]}, ValueError, "dense tensor"),
        ({"initial_value": object()}, TypeError, "Failed to convert"),
    ],
)
def test_bad_arguments(arguments, error, match):
    with pytest.raises(error, match=match):
        tf.Variable(**arguments)
    assert tf.global_variables() == []


def test_an_initial_value_of_unknown_shape_is_refused_by_name():
    fed = tf.placeholder(tf.float32, [None, 2], name="fed")
    with pytest.raises(ValueError, match=r"shape specified.*fed.*'w'.*validate_shape=False"):
        tf.Variable(fed, name="w")


def test_an_initial_value_of_another_dtype_is_refused():
    with pytest.raises(ValueError, match="float64 for Tensor with dtype float32"):
        tf.Variable(tf.constant(1.0), dtype=tf.float64)


def test_assign_refuses_other_shapes_and_dtypes_and_what_is_no_variable():
    variable = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match=r"\[2\] and.*test_variable\.py"):
        variable.assign([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"must be equal rank"):
        tf.assign_add(variable, [[1.0, 2.0]])
    with pytest.raises(TypeError, match="float32"):
        variable.assign(["a", "b"])
    with pytest.raises(TypeError, match="mutable tensor"):
        tf.assign(tf.constant(1.0), 2.0)
    with pytest.raises(TypeError, match="bool"):
        tf.Variable(True).assign_add(False)


def test_a_variable_of_another_graph_is_refused():
    with tf.Graph().as_default():
        other = tf.Variable(1.0)
    mine = tf.Variable(1.0)
    with pytest.raises(ValueError, match="same graph"):
        mine.assign(other)


def test_a_finalized_graph_takes_no_variable(graph):
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        tf.Variable(1.0)


# -- group and tuple


def test_group(graph):
    a, b = tf.constant(1.0, name="a"), tf.no_op(name="b")
    tf.group(a, [b, (a,)], name="both")
    tf.group()
    with tf.device("/gpu:0"):
        c = tf.constant(1.0, name="c")
    tf.group(a, c, name="far")
    assert (
        listing(graph).splitlines()[2:]
        == text("""
        both = NoOp(^a, ^b)
        group_deps = NoOp()
        c = Const()
        far/NoOp = NoOp(^a)
        far/NoOp_1 = NoOp(^c)
        far = NoOp(^far/NoOp, ^far/NoOp_1)
    """).splitlines()
    )
    assert graph.get_operation_by_name("far/NoOp_1").device == "/device:GPU:0"
    with pytest.raises(TypeError):
        tf.group(3)


def test_tuple():
    variable = tf.Variable(1.0)
    first = variable.read_value()
    given, nothing = tf.tuple([first, None], control_inputs=[variable.assign(2.0)])
    assert nothing is None
    with initialized() as session:
        assert session.run(given) == 1
        assert session.run(variable) == 2
    with pytest.raises(ValueError, match="at least one"):
        tf.tuple([None])


def test_ops_that_write_take_only_references():
    with pytest.raises(TypeError, match="mutable tensor"):
        raw_ops.AssignAdd(tf.constant(1.0), 1.0)


def test_a_variable_may_be_fed():
    variable = tf.Variable([1.0, 2.0])
    doubled = variable * 2.0
    with tf.Session() as session:
        assert session.run(doubled, {variable: [3.0, 4.0]}).tolist() == [6, 8]
        assert session.run(doubled, {variable.value(): [5.0, 6.0]}).tolist() == [10, 12]
        session.run(variable.initializer)
        fed, twice = session.run([variable, doubled], {variable: [3.0, 4.0]})
        assert (fed.tolist(), twice.tolist()) == ([3, 4], [6, 8])
        assert session.run(variable).tolist() == [1, 2]


@pytest.mark.parametrize("use_resource", [False, True])
def test_an_initial_value_may_come_out_of_a_loop(use_resource):
    with tf.Graph().as_default():
        other = tf.Variable(1)
        result = tf.while_loop(lambda i: i < 3, lambda i: i + other, [0])
        v = tf.Variable(tf.identity(result), use_resource=use_resource)
        with tf.Session() as session:
            session.run(other.initializer)
            session.run(v.initializer)
            assert session.run(v) == 3


def test_operators_look_like_those_of_tensors():
    for name in ("__add__", "__rmul__", "__neg__", "__lt__"):
        of_variable, of_tensor = getattr(tf.Variable, name), getattr(tf.Tensor, name)
        for key in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
            assert getattr(of_variable, key) == getattr(of_tensor, key)


def test_what_it_says_of_itself_is_a_property_of_the_class():
    for name in ("trainable", "constraint", "synchronization", "aggregation"):
        assert isinstance(getattr(tf.Variable, name), property)
    with tf.Graph().as_default():
        v = tf.Variable(1.0, aggregation=tf.VariableAggregation.ONLY_FIRST_TOWER)
    assert v.aggregation is tf.VariableAggregation.ONLY_FIRST_REPLICA
    assert v.trainable
    with pytest.raises(AttributeError):
        v.trainable = False  # type: ignore[misc]
