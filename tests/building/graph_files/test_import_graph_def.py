"""GraphDefs as operations of the default graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import gpugraph as tf
from gpugraph.building.graph_files import import_graph_def as importing
from gpugraph.formats import messages_pb2

FLOAT, INT = {"type": 1}, {"type": 3}


def node(name: str, op: str, *inputs: str, **attrs: Any) -> Any:
    values = {key: messages_pb2.AttrValue(**value) for key, value in attrs.items()}
    return tf.NodeDef(name=name, op=op, input=inputs, attr=values)


def placeholder(name: str = "a") -> Any:
    return node(name, "Placeholder", dtype=FLOAT)


def graph_def(*nodes: Any, **fields: Any) -> Any:
    return tf.GraphDef(node=nodes, versions={"producer": 134}, **fields)


def imported(graph: Any, **options: Any) -> tuple[Any, Any]:
    """Import a graph, and return the new graph and the import's return value."""
    with tf.Graph().as_default() as new:
        return new, tf.import_graph_def(graph, **options)


def built(make: Callable[[], Any]) -> Any:
    with tf.Graph().as_default() as graph:
        make()
    return graph.as_graph_def()


# -- the imported graph equals the written one


def layers() -> None:
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    w = tf.Variable(tf.ones([8, 2]), name="w")
    with tf.device("/gpu:1"), tf.control_dependencies([tf.no_op(name="first")]):
        tf.nn.relu(x @ w, name="y")
    tf.constant([1, 2], shape=[3])
    tf.constant([b"a", b"\xff"])
    tf.constant(np.ones([2, 2], np.float16))
    tf.strided_slice([1, 2, 3], [0], [2])


def branches() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    tf.identity(tf.cond(x > 1, lambda: x * 2, lambda: -x), name="y")


def loops() -> None:
    x = tf.placeholder(tf.float32, [], name="x")

    def inner(i: Any, v: Any) -> Any:
        return i + 1, tf.while_loop(lambda w: w < v + 3, lambda w: w + 2, [v])

    tf.identity(tf.while_loop(lambda i, v: i < 3, inner, [0, x])[1], name="y")


@pytest.mark.parametrize("make", [layers, branches, loops])
def test_a_graph_is_the_same_after_an_import(make: Callable[[], Any]) -> None:
    original = built(make)
    graph, _ = imported(original, name="")
    assert {op.name: op.node_def for op in graph.get_operations()} == {
        item.name: item for item in original.node
    }
    assert tf.GraphDef.FromString(original.SerializeToString()) == original


@pytest.mark.parametrize(("make", "fed", "expected"), [(branches, 3, 6.0), (loops, 1, 13.0)])
def test_control_flow_runs(make: Callable[[], Any], fed: Any, expected: float) -> None:
    graph, (x, y) = imported(built(make), return_elements=["x:0", "y:0"])
    with tf.Session(graph=graph) as session:
        assert session.run(y, {x: fed}) == expected


def test_an_imported_branch_has_gradients() -> None:
    graph, (x, y) = imported(built(branches), return_elements=["x:0", "y:0"])
    with graph.as_default(), tf.Session() as session:
        gradient = tf.gradients(y, x)[0]
        assert session.run([gradient, gradient], {x: 3.0}) == [2.0, 2.0]
        assert session.run(gradient, {x: 0.5}) == -1.0


def test_names_are_in_a_scope_of_their_own_or_unique() -> None:
    original = graph_def(placeholder(), node("b/c", "Neg", "a", T=FLOAT))
    with tf.Graph().as_default() as graph:
        for name in (None, None, "", "", "s"):
            tf.import_graph_def(original, name=name)
    names = [op.name for op in graph.get_operations()]
    assert names[:4] == ["import/a", "import/b/c", "import_1/a", "import_1/b/c"]
    assert names[4:] == ["a", "b/c", "a_1", "b/c_1", "s/a", "s/b/c"]
    assert graph.unique_name("a") == "a_2"


def test_inputs_are_mapped() -> None:
    original = graph_def(placeholder(), node("n", "NoOp"), node("b", "Neg", "a", "^n", T=FLOAT))
    with tf.Graph().as_default():
        x, first = tf.constant(3.0, name="x"), tf.no_op(name="first")
        b, a = tf.import_graph_def(
            original, {"a:0": x, "^n": first}, return_elements=["b", "a:0"], name=""
        )
        assert ([*b.inputs], b.control_inputs, a) == ([x], [first], x)
        (late,) = tf.import_graph_def(original, {"a": 2.0}, return_elements=["b:0"])
        assert late.op.inputs[0].name == "import/_inputs/Const:0"
        assert tf.Session().run(late) == -2.0


def test_devices_colocation_and_scopes_hold() -> None:
    group = {"list": {"s": [b"loc:@a"]}}
    original = graph_def(placeholder(), node("b", "Neg", "a", T=FLOAT, _class=group),
                         node("c", "Neg", "a", T=FLOAT))  # fmt: skip
    original.node[0].device = "/device:GPU:1"
    with tf.Graph().as_default() as graph, tf.device("/job:w"):
        first = tf.no_op(name="first")
        with tf.control_dependencies([first]):
            tf.import_graph_def(original)
    a, b, c = graph.get_operations()[1:]
    assert (a.device, b.device, c.device) == ("/job:w/device:GPU:1",) * 2 + ("/job:w",)
    assert b.get_attr("_class") == [b"loc:@import/a"]
    assert (a.control_inputs, b.control_inputs) == ([first], [])


def test_defaults_are_filled_in_and_what_later_tensorflows_added_is_dropped() -> None:
    product = node("m", "MatMul", "a", "a", T=FLOAT, grad_a={"b": True})
    axis = node("k", "Const", dtype=INT, value={"tensor": {"dtype": 3}})
    total = node("s", "Sum", "m", "k", T=FLOAT)
    graph, _ = imported(graph_def(placeholder(), product, total, axis))
    attrs = graph.get_operation_by_name("import/m").node_def.attr
    assert sorted(attrs) == ["T", "transpose_a", "transpose_b"]
    total = graph.get_operation_by_name("import/s")
    assert (total.get_attr("Tidx"), total.get_attr("keep_dims")) == (tf.int32, False)


def test_a_list_of_the_producer_s_ops_drops_unknown_defaults() -> None:
    strange = graph_def(placeholder(), node("b", "Neg", "a", T=FLOAT, odd={"i": 3}))
    producer = messages_pb2.OpList()
    attr = producer.op.add(name="Neg").attr.add(name="odd", type="int")
    attr.default_value.i = 3
    imported(strange, producer_op_list=producer)
    attr.default_value.i = 4
    with pytest.raises(ValueError, match="NodeDef mentions attr 'odd' not in Op<name=Neg"):
        imported(strange, producer_op_list=producer)


def test_static_shapes_of_the_file_refine_those_inferred() -> None:
    shapes = {"list": {"shape": [{"dim": [{"size": 2}]}]}}
    graph, _ = imported(graph_def(node("a", "Placeholder", dtype=FLOAT, _output_shapes=shapes)))
    (op,) = graph.get_operations()
    assert op.outputs[0].shape.as_list() == [2]
    assert "_output_shapes" not in op.node_def.attr


def test_versions_become_those_that_read_both() -> None:
    first = tf.GraphDef()
    first.versions.producer, first.versions.min_consumer = 21, 3
    graph, _ = imported(first)
    versions = graph.graph_def_versions
    assert (versions.producer, versions.min_consumer) == (21, 3)


def test_a_large_constant_of_one_value_takes_no_memory() -> None:
    shape = {"dim": [{"size": 1 << 20}, {"size": 1 << 20}]}
    value = {"tensor": {"dtype": 1, "tensor_shape": shape, "float_val": [2.0]}}
    original = graph_def(node("c", "Const", dtype=FLOAT, value=value))
    graph, (c,) = imported(original, return_elements=["c:0"], name="")
    assert c.shape.as_list() == [1 << 20, 1 << 20]
    assert graph.as_graph_def() == original
    value["tensor"]["float_val"] = [1.0, 2.0]
    with pytest.raises(ValueError, match="too few for the shape"):
        imported(graph_def(node("c", "Const", dtype=FLOAT, value=value)))


# -- refused graphs

A = placeholder()
HUGE = node("h", "Placeholder", dtype=FLOAT, shape={"shape": {"dim": [{"size": (1 << 63) - 1}]}})
BAD_GRAPHS = [
    ([node("b", "Neg", "c", T=FLOAT)], "Node 'b': Unknown input node 'c'"),
    ([A, node("b", "Neg", "a:x", T=FLOAT)], "Node 'b': Unknown input node 'a:x'"),
    ([node("a b", "NoOp")], "Node 'a b': Node name contains invalid characters"),
    ([node("", "NoOp")], "Node '': Node name contains invalid characters"),
    ([node("../b", "Neg", "a", T=FLOAT), A], None),
    ([A, A], "Node 'a' is not unique"),
    ([node("a", "")], "Node 'a' does not specify an operation"),
    ([A, node("b", "Neg", "^a", "a", T=FLOAT)], "Control dependencies must come after regular"),
    ([A, node("b", "Neg", "a:1", T=FLOAT)], "Connecting to invalid output 1 of source node a"),
    ([A, node("b", "Neg", T=FLOAT)], "expected inputs 'float' do not match 0 inputs specified"),
    ([A, node("b", "Neg", "a")], r"NodeDef missing attr 'T' from Op<name=Neg; signature=x:T -> "),
    ([A, node("b", "Neg", "a", T=INT)], "was passed float from import/a:0 incompatible with"),
    ([A, node("b", "Neg", "a", T={"i": 1})], "value with type 'int' when 'type' expected"),
    ([A, node("b", "Neg", "a", T={})], "AttrValue missing value with expected type 'type'"),
    ([A, node("b", "Neg", "a", T={"type": 7})], "string is not in the list of allowed values: "),
    ([A, node("b", "Neg", "a", T={"type": 999})], "AttrValue has invalid DataType enum: 999"),
    ([A, node("b", "Squeeze", "a", T=FLOAT, squeeze_dims={"list": {"f": [1]}})], "type 'list.f"),
    ([node("b", "Neg", "c", T=FLOAT), node("c", "Neg", "b", T=FLOAT)], "2 nodes in a cycle"),
    ([node("a", "NoOp", "^a")], "1 nodes in a cycle"),
    ([A, node("b", "Pack", N={"i": 0}, T=FLOAT)], "Value for attr 'N' of 0 must be at least min"),
    ([A, node("b", "AddN", "a", N={"i": 1 << 40}, T=FLOAT)], "expected more inputs do not match"),
    ([A, node("b", "Unpack", "a", num={"i": 1 << 40}, T=FLOAT)], "outputs are more than"),
    ([A, node("d", "Assign", "a", "a", T=FLOAT)], "incompatible with expected float_ref."),
    ([A, node("b", "NoOp", _class={"list": {"s": [b"loc:@z"]}})], "with unknown node 'z'"),
    ([node("b", "NoOp", _class={"s": b"loc:@b"})], "attr '_class' is not a list of names"),
    ([node("b", "NoOp", _class={"list": {"i": [3]}})], "attr '_class' is not a list of names"),
    ([HUGE, node("i", "Const", dtype=INT, value={"tensor": {"dtype": 3}}),
      node("b", "ConcatV2", "h", "h", "i", N={"i": 2}, T=FLOAT)], "'import/b' is too large"),
    ([node("b", "NoOp", _f={"placeholder": "T"})], "holds the placeholder 'T' of a function"),
    ([node("b", "Merge", "n", T=FLOAT, N={"i": 1}), node("n", "NextIteration", "b", T=FLOAT)],
     "has no input from outside of its loop"),
    ([A, node("b", "Concat", "a", "a", "a", N={"i": 2}, T=FLOAT)], "passed float from import/a:0"),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "said"), BAD_GRAPHS)
def test_a_graph_that_is_not_well_formed_is_refused(nodes: list[Any], said: str | None) -> None:
    with tf.Graph().as_default() as graph:
        if said is None:
            tf.import_graph_def(graph_def(*nodes))
            return
        with pytest.raises(ValueError, match=said):
            tf.import_graph_def(graph_def(*nodes))
        assert graph.get_operations() == []


BAD_TENSORS = [
    ({"dtype": 1, "tensor_shape": {"dim": [{"size": 3}]}, "float_val": [1, 2, 3, 4]}, "reshape"),
    ({"dtype": 1, "tensor_shape": {"dim": [{"size": -3}]}}, "fully defined shape"),
    ({"dtype": 1, "tensor_shape": {"dim": [{"size": 2}]}, "tensor_content": b"abc"}, "buffer size"),
    ({"dtype": 1, "tensor_shape": {"dim": [{"size": 1 << 62}] * 3}}, "for attr 'value'"),
    ({"dtype": 3, "int_val": [1]}, "enum 3, but attr 'dtype' is float"),
    ({"dtype": 20}, "Unsupported tensor type"),
    ({"dtype": 99}, "for attr 'value'"),
]


@pytest.mark.parametrize(("tensor", "said"), BAD_TENSORS)
def test_a_constant_that_is_not_well_formed_is_refused(tensor: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        imported(graph_def(node("c", "Const", dtype=FLOAT, value={"tensor": tensor})))


def test_bad_shapes_of_outputs_are_refused() -> None:
    for sizes, said in ([{}, {}], "specifies shapes for 2"), ([{"dim": [{"size": 3}]}], "inconsi"):
        shapes = {"list": {"shape": sizes}}
        bad = node("a", "Placeholder", dtype=FLOAT, shape={"shape": {}}, _output_shapes=shapes)
        with pytest.raises(ValueError, match=said):
            imported(graph_def(bad))


BAD_ARGUMENTS = [
    ({"return_elements": ["b:0"]}, ValueError, "Requested return tensor 'b:0' not found in graph"),
    ({"return_elements": ["b"]}, ValueError, "Requested return node 'b' not found in graph def"),
    ({"return_elements": ["a:1"]}, ValueError, "Invalid return output 1 of node 'a', which has 1"),
    ({"return_elements": ["a:x"]}, ValueError, "Cannot convert 'a:x' to a tensor name"),
    ({"return_elements": [1]}, TypeError, "return_elements must be a list of strings"),
    ({"input_map": [1]}, TypeError, "input_map must be a dictionary mapping strings to Tensor"),
    ({"input_map": {1: 2}}, TypeError, "input_map must be a dictionary mapping strings to Tensor"),
    ({"input_map": {"a:0": 2.0}, "name": ""}, ValueError, "requires a non-empty `name`"),
    ({"input_map": {"b:0": 2.0}}, ValueError, r"inputs that were not found in graph_def: \[b:0\]"),
    ({"input_map": {"a:b:0": 2.0}}, ValueError, "Cannot convert 'a:b:0' to a tensor name"),
    ({"input_map": {"a": 2}}, ValueError, "passed int32 from import/_inputs/Const:0 incompatible"),
]


@pytest.mark.parametrize(("options", "error", "said"), BAD_ARGUMENTS)
def test_bad_arguments_are_refused(options: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        imported(graph_def(A, node("b1", "Neg", "a", T=FLOAT)), **options)
    with pytest.raises(TypeError, match="graph_def must be a GraphDef proto"):
        imported("text")


def test_op_types_that_are_not_here_fail_in_a_run_that_needs_them() -> None:
    for op_type, error, said in (
        ("Foo", tf.errors.NotFoundError, "Op type not registered 'Foo'"),
        ("Abort", tf.errors.UnimplementedError, "left out: raise the error in Python"),
    ):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            nodes = [A, node("b", op_type, "a"), node("c", "Neg", "b", T=FLOAT)]
            nodes.append(node("d", "Neg", "a", T=FLOAT))
            tf.import_graph_def(graph_def(*nodes), name="")
            assert graph.get_tensor_by_name("b:0").dtype is tf.float32
            a = {"a:0": np.float32(2)}
            assert session.run("d:0", a) == -2
            with pytest.raises(error, match=rf"(?s){said}.*\[\[node b \(defined at") as raised:
                session.run("c:0", a)
            assert raised.value.op is graph.get_operation_by_name("b")
            assert session.run("d:0", a) == -2
            assert graph.as_graph_def().node[1] == graph_def(*nodes).node[1]


def test_outputs_of_an_unknown_op_are_those_that_others_take() -> None:
    x = node("x", "Custom", T=FLOAT, names={"list": {"s": [b"p", b"q"]}})
    users = [node("i", "Neg", "x:2", T=INT), node("l", "LogicalNot", "x:1")]
    tf.import_graph_def(graph_def(x, *users), name="unknown")
    op = tf.get_default_graph().get_operation_by_name("unknown/x")
    assert [tensor.dtype for tensor in op.outputs] == [tf.float32, tf.bool, tf.int32]
    assert op.get_attr("names") == [b"p", b"q"]
    listed = node("y", "Custom", Tout={"list": {"type": [7, 9]}})
    tf.import_graph_def(graph_def(listed), name="unknown")
    op = tf.get_default_graph().get_operation_by_name("unknown_1/y")
    assert [tensor.dtype for tensor in op.outputs] == [tf.string, tf.int64]


def test_versions_that_are_not_read_are_refused() -> None:
    for fields, said in (
        ({"min_consumer": 999}, "min consumer version 999 above current version 134"),
        ({"bad_consumers": [134]}, "disallows consumer version 134"),
        ({"producer": -1}, "producer version -1 below min producer 0"),
    ):
        with pytest.raises(ValueError, match=said):
            imported(tf.GraphDef(versions=fields))


def test_a_finalized_graph_is_not_imported_into() -> None:
    with tf.Graph().as_default() as graph:
        graph.finalize()
        with pytest.raises(RuntimeError, match="finalized"):
            tf.import_graph_def(graph_def(A))
    assert importing.import_graph_def is tf.graph_util.import_graph_def


def test_types_of_later_versions_change_nothing():
    """TensorFlow since 2.5 writes them; a GraphDef as text is read with them."""
    text = """
    node { name: "a" op: "Const"
      attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 3 } } }
      experimental_type { type_id: TFT_PRODUCT args { type_id: TFT_TENSOR
        args { type_id: TFT_FLOAT } } } }
    """
    graph_def = text_format.Parse(text, tf.GraphDef())
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        assert session.run("a:0") == 3
        assert not session.graph_def.node[0].HasField("experimental_type")


@pytest.mark.parametrize("around", ["cond", "cond in a cond", "loop"])
def test_an_imported_loop_runs_inside_a_branch_or_loop(around: str) -> None:
    def loop() -> None:
        x = tf.placeholder(tf.float32, [], name="x")
        done = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * x), (0, x))[1]
        tf.identity(done, name="y")

    content = built(loop)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])

        def power(value: Any = x) -> Any:
            (result,) = tf.import_graph_def(content, {"x:0": value}, ["y:0"])
            result.set_shape([])
            return result

        if around == "loop":
            y = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, power(v)), (0, x))[1]
            assert session.run(y, {x: 2}) == 2**16
            return
        inner = power if around == "cond" else lambda: tf.cond(x > 1, power, lambda: x)
        y = tf.cond(x > 0, inner, lambda: -x)
        assert [session.run(y, {x: value}) for value in (2, -3)] == [16, 3]
        y += power()  # a second loop of the same name, which TensorFlow takes for the first
        assert session.run(y, {x: 2}) == 32


def test_attrs_of_later_versions_are_dropped_where_they_ask_for_nothing() -> None:
    shape = node("s", "Const", dtype=INT, value={"tensor": {"dtype": 3, "int_val": [-1],
                 "tensor_shape": {}}})  # fmt: skip
    index = node("i", "Const", dtype=INT, value={"tensor": {"dtype": 3, "int_val": [1],
                 "tensor_shape": {}}})  # fmt: skip
    rows = node("l", "TensorListFromTensor", "a", "s", element_dtype=FLOAT, shape_type=INT)
    for shape_type in (INT, {"type": 9}):
        item = node("y", "TensorListGetItem", "l", "i", "s", element_dtype=FLOAT, Tshape=shape_type)
        content = graph_def(placeholder(), shape, index, rows, item)
        if shape_type is not INT:
            with pytest.raises(ValueError, match="NodeDef mentions attr 'Tshape' not in Op<name="):
                imported(content)
            continue
        graph, _ = imported(content, name="")
        with tf.Session(graph=graph) as session:
            assert session.run("y:0", {"a:0": [[1.0], [2.0]]}) == [2]
