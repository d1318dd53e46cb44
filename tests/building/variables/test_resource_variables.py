"""Resource variables: their ops, the values seen by reads and writes, rows, errors."""

from __future__ import annotations

import copy
from collections.abc import Iterator
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


def resource(value: Any, **how: Any) -> Any:
    return tf.Variable(value, use_resource=True, **how)


def run(fetches: Any, feeds: Any = None, gpus: int = 0) -> Any:
    """Initialize all variables, and return the values of one run."""
    config = tf.ConfigProto(allow_soft_placement=True, gpu_options=tf.GPUOptions(virtual_gpus=gpus))
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def listing(graph: tf.Graph, since: int = 0) -> list[str]:
    """Return the ops as TensorFlow would make them: `name = Type(inputs; ^control inputs)`."""
    lines = []
    for op in graph.get_operations()[since:]:
        inputs = ", ".join(tensor.name.removesuffix(":0") for tensor in op.inputs)
        controls = ", ".join(f"^{each.name}" for each in op.control_inputs)
        lines.append(f"{op.name} = {op.type}({'; '.join(filter(None, [inputs, controls]))})")
    return lines


# -- the ops


def test_a_variable_is_a_handle_what_initializes_it_and_a_read(graph):
    v = resource([1.0, 2.0], name="v")
    assert listing(graph) == [
        "v/Initializer/initial_value = Const()",
        "v = VarHandleOp()",
        "v/IsInitialized/VarIsInitializedOp = VarIsInitializedOp(v)",
        "v/Assign = AssignVariableOp(v, v/Initializer/initial_value)",
        "v/Read/ReadVariableOp = ReadVariableOp(v)",
    ]
    assert (v.name, v.op.name, v.op.type) == ("v:0", "v", "VarHandleOp")
    assert (v.handle.dtype, v.handle.shape.as_list()) == (tf.resource, [])
    assert (v.dtype, v.shape.as_list()) == (tf.float32, [2])
    assert v.initializer.name == v.create.name == "v/Assign"
    assert v.op.attrs["shared_name"] == "v"
    assert isinstance(v, tf.Variable)
    assert repr(v) == "<tf.Variable 'v:0' shape=(2,) dtype=float32>"
    assert graph.get_operation_by_name("v/Initializer/initial_value").colocation_groups() == [
        b"loc:@v"
    ]
    assert tf.global_variables() == tf.trainable_variables() == [v]


def test_each_use_reads_anew(graph):
    v = resource(1.0, name="v")
    since = graph.version
    v.value()
    v.read_value()
    tf.negative(v)
    v + 1.0
    assert listing(graph, since) == [
        "ReadVariableOp = ReadVariableOp(v)",
        "Read/ReadVariableOp = ReadVariableOp(v)",
        "Identity = Identity(Read/ReadVariableOp)",
        "Neg/ReadVariableOp = ReadVariableOp(v)",
        "Neg = Neg(Neg/ReadVariableOp)",
        "ReadVariableOp_1 = ReadVariableOp(v)",
        "add/y = Const()",
        "add = AddV2(ReadVariableOp_1, add/y)",
    ]


def test_what_changes_it_is_read_after(graph):
    v = resource([1.0, 2.0], name="v")
    since = graph.version
    changed = v.assign_add([1.0, 1.0])
    tf.negative(changed)
    assert listing(graph, since) == [
        "Const = Const()",
        "AssignAddVariableOp = AssignAddVariableOp(v, Const)",
        "ReadVariableOp = ReadVariableOp(v; ^AssignAddVariableOp)",
        "Neg/ReadVariableOp = ReadVariableOp(v; ^AssignAddVariableOp)",
        "Neg = Neg(Neg/ReadVariableOp)",
    ]
    assert isinstance(changed, tf.Variable)
    assert (changed.name, changed.op.type) == ("AssignAddVariableOp", "AssignAddVariableOp")
    assert changed.handle is v.handle
    with tf.control_dependencies([changed, v]):
        assert [each.name for each in tf.no_op().control_inputs] == ["AssignAddVariableOp", "v"]


@pytest.mark.parametrize(
    ("write", "op_type"),
    [
        (lambda v: v.assign([0.0, 0.0], read_value=False), "AssignVariableOp"),
        (lambda v: v.assign_add([0.0, 0.0], read_value=False), "AssignAddVariableOp"),
        (lambda v: v.assign_sub([0.0, 0.0], read_value=False), "AssignSubVariableOp"),
    ],
)
def test_without_a_read_it_is_the_operation(write, op_type):
    made = write(resource([1.0, 2.0]))
    assert isinstance(made, tf.Operation)
    assert made.type == op_type


def test_a_caching_device_keeps_one_read_for_all_users(graph):
    c = resource([1.0], name="c", caching_device="/cpu:0")
    since = graph.version
    total = c + 1.0
    assert c.value().name == "c/Read/Identity:0"
    assert c.value().device == "/device:CPU:0"
    assert listing(graph, since) == ["add/y = Const()", "add = AddV2(c/Read/Identity, add/y)"]
    assert run(total).tolist() == [2.0]


# -- the values that reads and writes see


def test_values_live_in_sessions():
    v = resource([1.0, 2.0])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v.assign_add([1.0, 1.0])).tolist() == [2, 3]
        assert session.run(v.assign_sub([0.5, 0.5], read_value=False)) is None
        assert session.run([v, v * 2.0])[1].tolist() == [3, 5]
        v.load([7.0, 8.0], session)
        assert v.eval(session).tolist() == [7, 8]
        assert session.run(v.op) is None


def test_a_read_is_what_the_variable_is_at_its_place():
    w = resource(1.0)
    before = w.read_value()
    with tf.control_dependencies([before]):
        written = w.assign(5.0)
    with tf.control_dependencies([written]):
        after, used = w.read_value(), w + 1.0
    assert run([before, after, used, written]) == [1, 5, 6, 5]


def test_changes_in_a_row_come_one_after_the_other():
    w = resource(1.0)
    assert run(w.assign(2.0).assign_add(3.0).assign_sub(1.0)) == 4.0


@given(st.lists(st.tuples(st.sampled_from("=+-r"), st.integers(-9, 9)), max_size=12))
def test_an_order_asked_for_is_kept(steps):
    with tf.Graph().as_default():
        w = resource(1.0)
        value, seen, last = 1.0, [], []
        expected = []
        for kind, number in steps:
            with tf.control_dependencies(last):
                if kind == "r":
                    seen.append(w.read_value())
                    expected.append(value)
                    last = [seen[-1]]
                    continue
                write = {"=": w.assign, "+": w.assign_add, "-": w.assign_sub}[kind]
                last = [write(float(number), read_value=False)]
            value = {"=": number, "+": value + number, "-": value - number}[kind]
        with tf.control_dependencies(last):
            seen.append(w.read_value())
        assert run(seen) == [*expected, value]


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.float64, tf.bool, tf.string])
def test_values_of_its_dtype_are_assigned(dtype):
    value = {tf.bool: True, tf.string: "x"}.get(dtype, 3)
    other = {tf.bool: False, tf.string: b"y"}.get(dtype, 4)
    v = resource(tf.constant(value, dtype))
    assert v.dtype is dtype
    assert run(v.assign(other)) == other


def test_a_fed_variable_is_its_read_and_not_the_variable():
    w = resource([1.0, 2.0])
    fetched = run([w, w.value(), w * 2.0], {w: [5.0, 6.0]})
    assert [each.tolist() for each in fetched] == [[5, 6], [1, 2], [2, 4]]


def test_it_runs_where_the_variable_is():
    with tf.device("/gpu:1"):
        v = resource([1.0, 2.0])
    with tf.device("/gpu:0"):
        doubled = v * 2.0
        with tf.control_dependencies([doubled]):
            changed = v.assign_add([1.0, 1.0])
    fetched = run([doubled, changed], gpus=2)
    assert [each.tolist() for each in fetched] == [[2, 4], [2, 3]]


def test_a_variable_of_open_shape_takes_values_of_other_shapes():
    first = tf.placeholder_with_default([1.0], [None])
    n = resource(first, validate_shape=False)
    assert n.shape.as_list() == [None]
    (grad,) = tf.gradients(tf.reduce_sum(n * n), n)
    longer = n.assign([1.0, 2.0, 3.0])
    with tf.Session() as session:
        session.run(n.initializer)
        assert session.run(n).tolist() == [1]
        assert session.run(longer).tolist() == [1, 2, 3]
        assert session.run(grad).tolist() == [2, 4, 6]


@pytest.mark.parametrize(
    ("use_resource", "method", "words"),
    [
        (
            True,
            "assign",
            r"Trying to assign to variable .* wrong shape. Expected \[2\] got \[1,2\]",
        ),
        (True, "assign_add", r"Cannot update variable with shape \[2\] using .* shape \[1,2\], "),
        (False, "assign", r"requires shapes of both .* match. lhs shape= \[2\] rhs shape= \[1,2\]"),
        (False, "assign_sub", "Parameters and update must be the same size"),
    ],
)
def test_a_run_refuses_a_change_of_another_shape(use_resource, method, words):
    variable = tf.get_variable("v", [2], use_resource=use_resource)
    fed = tf.placeholder(tf.float32)
    changed = getattr(variable, method)(fed)
    with tf.Session() as session:
        session.run(variable.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(changed, {fed: [[1.0, 2.0]]})


# -- rows


def test_rows_are_read_without_the_rest(graph):
    v = resource(np.arange(6, dtype=np.float32).reshape(3, 2), name="v")
    rows = [tf.gather(v, [2, 0]), v.sparse_read([2, 0]), tf.nn.embedding_lookup(v, [2, 0])]
    slices = [tf.gather_nd(v, [[0, 1], [2, 0]]), v.gather_nd([[0, 1], [2, 0]])]
    assert [each.op.inputs[0].op.type for each in rows[:2]] == ["ResourceGather"] * 2
    assert [each.op.inputs[0].op.type for each in slices] == ["ResourceGatherNd"] * 2
    assert {each.op.type for each in rows + slices} == {"Identity"}
    found = run([*rows, *slices])
    assert [each.tolist() for each in found] == [[[4, 5], [0, 1]]] * 3 + [[1, 4]] * 2


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("update", [8, 2, 4]),
        ("add", [9, 2, 8]),
        ("sub", [-7, 2, 0]),
        ("mul", [8, 2, 16]),
        ("div", [0.125, 2, 1]),
        ("min", [1, 2, 4]),
        ("max", [8, 2, 4]),
    ],
)
def test_rows_are_changed(kind, expected):
    for change in (
        lambda v: getattr(tf, f"scatter_{kind}")(v, [0, 2], [8, 4]),
        lambda v: getattr(v, f"scatter_{kind}")(tf.IndexedSlices(tf.constant([8.0, 4]), [0, 2])),
    ):
        v = resource([1.0, 2.0, 4.0])
        changed = change(v)
        assert changed.op.type == f"ResourceScatter{kind.capitalize()}"
        assert run(changed).tolist() == expected


@pytest.mark.parametrize(
    ("kind", "expected"), [("update", [[1, 7]]), ("add", [[1, 9]]), ("sub", [[1, -5]])]
)
def test_elements_are_changed_by_coordinates(kind, expected):
    for change in (
        lambda v: getattr(tf, f"scatter_nd_{kind}")(v, [[0, 1]], [7.0]),
        lambda v: getattr(v, f"scatter_nd_{kind}")([[0, 1]], [7.0]),
    ):
        changed = change(resource([[1.0, 2.0]]))
        assert changed.op.type == f"ResourceScatterNd{kind.capitalize()}"
        assert run(changed).tolist() == expected


def test_a_row_outside_is_refused_and_nothing_changes():
    v = resource([1.0, 2.0])
    changed, read = tf.scatter_add(v, [0, 2], [1.0, 1.0]), tf.gather(v, [2])
    with tf.Session() as session:
        session.run(v.initializer)
        for fetch in (changed, read):
            with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
                session.run(fetch)
        assert session.run(v).tolist() == [1, 2]


# -- whether there is a value


def test_without_a_value_a_read_fails_and_names_the_variable():
    v = resource([1.0], name="v")
    with tf.Session() as session:
        for fetch in (v, v + 1.0, v.assign_add([1.0]), tf.gather(v, [0])):
            with pytest.raises(
                tf.errors.FailedPreconditionError,
                match=(
                    r"Error while reading resource variable v from Container: localhost.*"
                    r"Resource localhost/v/.* does not exist"
                ),
            ):
                session.run(fetch)


def test_it_is_told_whether_there_is_a_value():
    a = resource(1.0, name="a")
    resource(2.0, name="b")
    missing, flag = tf.report_uninitialized_variables(), a.is_initialized()
    also = tf.is_variable_initialized(a)
    with tf.Session() as session:
        assert session.run(missing).tolist() == [b"a", b"b"]
        assert session.run([flag, also]) == [False, False]
        session.run(a.initializer)
        assert session.run(missing).tolist() == [b"b"]
        assert session.run([flag, also]) == [True, True]


def test_the_initialized_value_is_the_initial_one_until_there_is_another():
    v = resource([1.0])
    safe = v.initialized_value()
    with tf.Session() as session:
        assert session.run(safe).tolist() == [1]
        session.run(v.assign([5.0], read_value=False))
        assert session.run(safe).tolist() == [5]


# -- errors


@pytest.mark.parametrize(
    ("misuse", "error", "match"),
    [
        (lambda v: v.assign([1.0]), ValueError, r"\(2,\) and \(1,\) are incompatible.*'v:0'"),
        (
            lambda v: v.assign_add([1.0, 2.0, 3.0]),
            ValueError,
            r"Dimension 0 in both shapes must be equal, but are 2 and 3\. Shapes are \[2\] and",
        ),
        (lambda v: v.assign_add(1.0), ValueError, "Shapes must be equal rank, but are 1 and 0"),
        (
            lambda v: raw_ops.AssignVariableOp(v.handle, np.int32([1, 2])),
            ValueError,
            "with wrong dtype. Expected float got int32",
        ),
        (lambda v: copy.deepcopy(v), NotImplementedError, "deepcopy"),
        (lambda v: v.assign(tf.constant([1, 2])), ValueError, "float32.*int32"),
        (lambda v: raw_ops.Assign(v, [1.0, 2.0]), TypeError, "mutable tensor"),
        (lambda v: tf.scatter_add(v, [0], [[1.0]]), ValueError, "Shapes must be equal rank"),
        (lambda v: list(v), TypeError, "not iterable"),
        (lambda v: run(v.handle), tf.errors.InvalidArgumentError, "handle of the variable 'v'"),
        (lambda v: run(v + 1.0, {v.handle: 1}), TypeError, "resource"),
        (
            lambda v: run(raw_ops.ReadVariableOp(tf.TensorArray("int32", 1).handle, dtype="int32")),
            tf.errors.InvalidArgumentError,
            "needs the handle of a variable",
        ),
    ],
)
def test_misuse_is_an_error_that_says_what(misuse, error, match):
    v = resource([1.0, 2.0], name="v")
    with pytest.raises(error, match=match):
        misuse(v)


def test_an_initial_value_from_inside_a_loop_is_refused():
    def body(i):
        return resource(i).value()

    with pytest.raises(ValueError, match="inside a control-flow construct"):
        tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])


def test_the_shape_may_be_open_without_further_ado():
    open_value = tf.placeholder_with_default([1.0, 2.0], None)
    for v in (resource(open_value), resource([1.0, 2.0], shape=tf.TensorShape(None))):
        assert v.shape.rank is None
        larger = v.assign([[1.0], [2.0], [3.0]], read_value=False)
        with tf.Session() as session:
            session.run(v.initializer)
            assert session.run(v).tolist() == [1.0, 2.0]
            session.run(larger)
            assert session.run(v.read_value()).tolist() == [[1.0], [2.0], [3.0]]
    with pytest.raises(ValueError, match="not compatible with the explicitly supplied `shape`"):
        resource([1.0, 2.0], shape=[3])


def test_reads_and_the_initializer_ask_for_the_device_of_the_variable():
    with tf.device("/cpu:0"):
        v = resource([1.0])
    with tf.device("/gpu:0"):
        devices = {v.value().device, tf.convert_to_tensor(v).device, v.initializer.device}
    assert devices == {"/device:CPU:0"}


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_it_counts(dtype):
    v = resource(0, dtype=dtype)
    count = v.count_up_to(2)
    with tf.Session() as session:
        session.run(v.initializer)
        assert [session.run(count), session.run(count), session.run(v)] == [0, 1, 2]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(count)


def test_a_value_that_is_assigned_is_made_in_the_graph_of_the_variable(graph):
    v = resource(1.0)
    with tf.Graph().as_default():
        changed = v.assign(2.0)
    assert changed.graph is graph
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(changed) == 2.0
