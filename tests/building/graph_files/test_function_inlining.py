"""Functions of graphs: imported, run, differentiated, written again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import gpugraph as tf
from gpugraph.formats import messages_pb2

LIBRARY = """
versions { producer: 134 }
library {
  function { signature { name: "double"
      input_arg { name: "x" type_attr: "T" } output_arg { name: "y" type_attr: "T" }
      attr { name: "T" type: "type" } }
    node_def { name: "sum" op: "AddV2" input: "x" input: "x"
      attr { key: "T" value { placeholder: "T" } } }
    ret { key: "y" value: "sum:z:0" } }
  function { signature { name: "sine"
      input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "sin" op: "Sin" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    node_def { name: "twice" op: "PartitionedCall" input: "sin:y:0"
      attr { key: "Tin" value { list { type: DT_FLOAT } } }
      attr { key: "Tout" value { list { type: DT_FLOAT } } }
      attr { key: "f" value { func { name: "double"
        attr { key: "T" value { type: DT_FLOAT } } } } } }
    ret { key: "y" value: "twice:output:0" } }
  function { signature { name: "negative"
      input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "neg" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "y" value: "neg:y:0" } }
  function { signature { name: "count" is_stateful: true
      input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "w" type: DT_RESOURCE } output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "add" op: "AssignAddVariableOp" input: "v" input: "x"
      attr { key: "dtype" value { type: DT_FLOAT } } }
    node_def { name: "read" op: "ReadVariableOp" input: "v" input: "^add"
      attr { key: "dtype" value { type: DT_FLOAT } } }
    ret { key: "w" value: "v" } ret { key: "y" value: "read:value:0" }
    control_ret { key: "add" value: "add" } }
  function { signature { name: "below" is_stateful: true
      input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "b" type: DT_BOOL } }
    node_def { name: "limit" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 50 } } } }
    node_def { name: "less" op: "Less" input: "x" input: "limit:output:0"
      attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "b" value: "less:z:0" } }
  function { signature { name: "endless"
      input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "again" op: "endless" input: "x" }
    ret { key: "y" value: "again:y:0" } }
}
"""
PLACEHOLDER = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { } } } }
"""


def call(op: str, inputs: str, functions: dict[str, str], types: str, name: str = "f") -> str:
    """Return the text of a node that calls functions; `types` are those of inputs and outputs."""
    taken = "".join(f' input: "{text}"' for text in inputs.split())
    tin, tout = types.split("->")
    attrs = {"Tin": _list(tin), "Tout": _list(tout)}
    if op.endswith("While"):
        attrs = {"T": _list(tin)}
    attrs |= {key: f'func {{ name: "{value}" }}' for key, value in functions.items()}
    text = "".join(f' attr {{ key: "{key}" value {{ {v} }} }}' for key, v in attrs.items())
    return f'node {{ name: "{name}" op: "{op}"{taken}{text} }}'


def _list(types: str) -> str:
    return "list {" + "".join(f" type: DT_{name}" for name in types.split()) + " }"


def graph_def(*texts: str) -> Any:
    return text_format.Parse("\n".join((PLACEHOLDER, *texts, LIBRARY)), tf.GraphDef())


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any, x: float = 2.0) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, {"x:0": np.float32(x)})


@pytest.mark.parametrize(
    ("node", "wanted"),
    [
        (call("PartitionedCall", "x", {"f": "sine"}, "FLOAT->FLOAT"), lambda x: 2 * np.sin(x)),
        (call("StatefulPartitionedCall", "x", {"f": "negative"}, "FLOAT->FLOAT"), lambda x: -x),
        ('node { name: "f" op: "sine" input: "x" }', lambda x: 2 * np.sin(x)),
        ('node { name: "f" op: "double" input: "x" attr { key: "T" value { type: DT_FLOAT } } }',
         lambda x: 2 * x),
        (call("SymbolicGradient", "x x", {"f": "sine"}, "FLOAT FLOAT->FLOAT"),
         lambda x: 2 * x * np.cos(x)),
    ],
)  # fmt: skip
def test_calls(graph: tf.Graph, node: str, wanted: Any) -> None:
    tf.import_graph_def(graph_def(node), name="")
    for x in (2.0, -3.0):
        assert run("f:0", x) == pytest.approx(wanted(x))
    assert graph.get_tensor_by_name("f:0").shape == []


def test_gradients_of_calls_and_branches(graph: tf.Graph) -> None:
    branches = {"then_branch": "sine", "else_branch": "negative"}
    positive = """node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0 } } } }
      node { name: "p" op: "Less" input: "zero" input: "x"
      attr { key: "T" value { type: DT_FLOAT } } }"""
    node = call("If", "p x", branches, "FLOAT->FLOAT").replace(
        "attr", 'attr { key: "Tcond" value { type: DT_BOOL } } attr', 1
    )
    tf.import_graph_def(graph_def(positive, node), name="")
    x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("f:0")
    (gradient,) = tf.gradients(y, x)
    assert run([y, gradient], 2.0) == pytest.approx([2 * np.sin(2.0), 2 * np.cos(2.0)])
    assert run([y, gradient], -2.0) == pytest.approx([2.0, -1.0])


@pytest.mark.parametrize(
    ("value", "dtype", "is_true"),
    [(0, "INT32", False), (3, "INT32", True), (b"", "STRING", False), (b"a", "STRING", True),
     ([], "FLOAT", False), ([0.0], "FLOAT", True)],
)  # fmt: skip
def test_predicates_that_are_no_bools(value: Any, dtype: str, is_true: bool) -> None:
    branches = {"then_branch": "sine", "else_branch": "negative"}
    node = call("StatelessIf", "p x", branches, "FLOAT->FLOAT").replace(
        "attr", f'attr {{ key: "Tcond" value {{ type: DT_{dtype} }} }} attr', 1
    )
    message = graph_def('node { name: "p" op: "Const" }', node)
    part = tf.Graph()
    with part.as_default():
        tf.constant(value, getattr(tf, dtype.lower().replace("float", "float32")), name="p")
    (constant,) = (node for node in message.node if node.name == "p")
    constant.CopyFrom(part.as_graph_def().node[0])
    tf.import_graph_def(message, name="")
    assert run("f:0") == pytest.approx(2 * np.sin(2.0) if is_true else -2.0)


@pytest.mark.parametrize(
    ("index", "wanted"), [(0, -2.0), (1, 2 * np.sin(2.0)), (7, 4.0), (-1, 4.0)]
)
def test_the_last_branch_of_a_case_is_for_all_other_indices(index: int, wanted: float) -> None:
    constant = f"""node {{ name: "i" op: "Const" attr {{ key: "dtype" value {{ type: DT_INT32 }} }}
      attr {{ key: "value" value {{ tensor {{ dtype: DT_INT32 tensor_shape {{ }} int_val: {index} }}
      }} }} }}"""
    node = call("Case", "i x", {}, "FLOAT->FLOAT").replace(
        "attr",
        'attr { key: "branches" value { list { func { name: "negative" } func { name: "sine" }'
        ' func { name: "double" attr { key: "T" value { type: DT_FLOAT } } } } } } attr',
        1,
    )
    tf.import_graph_def(graph_def(constant, node), name="")
    assert run("f:0") == pytest.approx(wanted)


def forget_bodies(meta_graph: Any) -> None:
    """Remove the inlined ops from the contexts: TensorFlow's contexts hold the calls only."""
    for key, kind in (("cond_context", "CondContextDef"), ("while_context", "WhileContextDef")):
        items = meta_graph.collection_def[key].bytes_list.value
        messages = [getattr(messages_pb2, kind).FromString(item) for item in items]
        for message in messages:
            forget_bodies_in(message)
        items[:] = [message.SerializeToString() for message in messages]


def forget_bodies_in(context: Any) -> None:
    values = context.values_def
    values.values[:] = [name for name in values.values if "/f/" not in name]
    for name in [name for name in values.external_values if "/f/" in name]:
        del values.external_values[name]
    inner = [(nested.WhichOneof("ctxt"), nested) for nested in context.nested_contexts]
    del context.nested_contexts[:]
    for kind, nested in inner:
        if "/f/" not in getattr(nested, kind).context_name:
            forget_bodies_in(getattr(nested, kind))
            context.nested_contexts.add().CopyFrom(nested)


def test_calls_in_loops_have_gradients_in_a_meta_graph(tmp_path: Any) -> None:
    """TensorFlow's loops and branches may hold calls, which are inlined before these are known."""
    index = """node { name: "i" op: "Cast" input: "x" attr { key: "SrcT" value { type: DT_FLOAT } }
      attr { key: "DstT" value { type: DT_INT32 } } }"""
    functions = 'list { func { name: "sine" } func { name: "negative" } }'
    branches = f'attr {{ key: "branches" value {{ {functions} }} }}'
    node = call("Case", "i x", {}, "FLOAT->FLOAT").replace("attr", f"{branches} attr", 1)
    content = graph_def(index, node)
    x = tf.placeholder(tf.float32, [], name="x")

    def called(value: Any) -> Any:
        (result,) = tf.import_graph_def(content, {"x:0": value}, ["f:0"])
        result.set_shape([])
        return result

    def body(i: Any, value: Any) -> Any:
        return i + 1, tf.cond(value > 0.5, lambda: called(value), lambda: called(value * 0.5))

    y = tf.while_loop(lambda i, _: i < 3, body, (0, x))[1]
    tf.identity(y, name="y")
    path = str(tmp_path / "graph.meta")
    meta_graph = tf.train.export_meta_graph(path)
    assert "Case" in {node.op for node in meta_graph.graph_def.node}
    forget_bodies(meta_graph)
    Path(path).write_bytes(meta_graph.SerializeToString())
    expected = [run([y, *tf.gradients(y, x)], value) for value in (0.3, 0.9, 1.4)]
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(path)
        x, y = (graph.get_tensor_by_name(name) for name in ("x:0", "y:0"))
        again = [run([y, *tf.gradients(y, x)], value) for value in (0.3, 0.9, 1.4)]
    np.testing.assert_allclose(again, expected, rtol=1e-6)
    assert len({slope for _, slope in expected}) == 3


def with_variable(node: str) -> Any:
    variable = """node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "shape" value { shape { } } } attr { key: "shared_name" value { s: "v" } } }"""
    return graph_def(variable, node)


def set_variable(session: tf.Session, graph: tf.Graph, value: float) -> None:
    handle = graph.get_tensor_by_name("v:0")
    session.run(tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(value)))


def test_a_loop_passes_a_variable_on_and_counts_in_it(graph: tf.Graph) -> None:
    node = call("While", "v x", {"cond": "below", "body": "count"}, "RESOURCE FLOAT->")
    tf.import_graph_def(with_variable(node), name="")
    read = tf.raw_ops.ReadVariableOp(resource=graph.get_tensor_by_name("f:0"), dtype=tf.float32)
    with tf.Session() as session:
        set_variable(session, graph, 1.0)
        assert session.run("f:1", {"x:0": 3.0}) == 64.0  # 3, 4, 8, 16, 32, 64
        assert session.run(read, {"x:0": 32.0}) == 96.0


def test_what_a_body_does_is_done_for_whoever_needs_the_call(graph: tf.Graph) -> None:
    node = call("StatefulPartitionedCall", "v x", {"f": "count"}, "RESOURCE FLOAT->RESOURCE FLOAT")
    tf.import_graph_def(with_variable(node), name="")
    with tf.Session() as session:
        set_variable(session, graph, 1.0)
        session.run("f", {"x:0": 3.0})
        assert session.run("f:1", {"x:0": 3.0}) == 7.0


def test_a_call_is_written_as_a_call_until_something_uses_what_it_computes(graph: tf.Graph) -> None:
    message = graph_def(call("PartitionedCall", "x", {"f": "sine"}, "FLOAT->FLOAT"))
    tf.import_graph_def(message, name="")
    written = graph.as_graph_def()
    assert [node.op for node in written.node] == ["Placeholder", "PartitionedCall"]
    assert written.library == message.library
    exported = tf.train.export_meta_graph()
    assert {op.name for op in exported.meta_info_def.stripped_op_list.op} >= {"PartitionedCall"}
    with tf.Graph().as_default() as other:
        tf.train.import_meta_graph(exported)
        assert run("f:0") == pytest.approx(2 * np.sin(2.0))
        assert other.as_graph_def().node[1].op == "PartitionedCall"
    tf.gradients(graph.get_tensor_by_name("f:0"), graph.get_tensor_by_name("x:0"))
    assert {"PartitionedCall", "Cos"} <= {node.op for node in graph.as_graph_def().node}
    tf.negative(graph.get_tensor_by_name("f/sin:0"))
    expanded = graph.as_graph_def()
    assert {"Sin", "Cos", "IdentityN"} <= {node.op for node in expanded.node}
    assert {"PartitionedCall"} <= {node.op for node in expanded.node}  # the inner one
    with tf.Graph().as_default():
        tf.import_graph_def(expanded, name="")
        assert run("f:0") == pytest.approx(2 * np.sin(2.0))


def test_another_function_of_the_same_name_is_refused(graph: tf.Graph) -> None:
    message = graph_def()
    tf.import_graph_def(message)
    message.library.function[0].ret["y"] = "x"
    count = len(graph.get_operations())
    with pytest.raises(ValueError, match="Cannot add function 'double' because a different func"):
        tf.import_graph_def(message)
    assert len(graph.get_operations()) == count


@pytest.mark.parametrize(
    ("function", "error", "said"),
    [
        ("endless", tf.errors.UnimplementedError, "'endless' calls itself .endless > endless"),
        ("nobody", tf.errors.NotFoundError, "Function nobody is not defined."),
        ("double", tf.errors.UnimplementedError, "gives no value for the attr 'T'"),
        ("count", tf.errors.UnimplementedError, "takes 2 arguments, not 1"),
    ],
)
def test_a_call_that_can_t_be_inlined_fails_in_a_run(
    graph: tf.Graph, function: str, error: type[Exception], said: str
) -> None:
    node = call("PartitionedCall", "x", {"f": function}, "FLOAT->FLOAT")
    message = graph_def(node, call("PartitionedCall", "x", {"f": "sine"}, "FLOAT->FLOAT", "g"))
    tf.import_graph_def(message, name="")
    assert run("g:0") == pytest.approx(2 * np.sin(2.0))
    with pytest.raises(error, match=said):
        run("f:0")
    written = [(node.name, node.op, node.input) for node in graph.as_graph_def().node[:3]]
    assert written == [(node.name, node.op, node.input) for node in message.node]
