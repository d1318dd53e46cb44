"""Lower: the nodes that stand for resource variables and their ops are those for references."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.state.resource_variable_ops import LOWERED

from ..stages import compiled


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as new_graph:
        yield new_graph


def nodes(*fetches):
    """The nodes of a run, as `prune` leaves them, by name."""
    return {node.name: node for node in compiled(list(fetches), upto="prune").graph.op_nodes()}


def types(*fetches):
    return {name: node.type for name, node in nodes(*fetches).items() if not name.startswith("_")}


def test_reads_and_writes_are_those_of_references():
    v = tf.Variable([1.0, 2.0], use_resource=True, name="v")
    written = v.assign([3.0, 4.0], name="w")
    found_nodes = nodes(tf.identity(written, name="read"), v.is_initialized("known"), v.initializer)
    assert {name: node.type for name, node in found_nodes.items() if not name.startswith("_")} == {
        "v": "VariableV2",
        "v/Initializer/initial_value": "Const",
        "v/Assign": "Assign",
        "Const": "Const",
        "w": "Assign",
        "read/ReadVariableOp": "Identity",
        "read": "Identity",
        "known": "IsVariableInitialized",
    }
    assert found_nodes["v"].output_types == (tf.float32._as_ref,)
    assert found_nodes["w"].input_types == (tf.float32._as_ref, tf.float32)
    assert found_nodes["read/ReadVariableOp"].input_types == (tf.float32,)


def test_no_op_on_handles_is_left():
    """Each is declared, and has in its place one that is no such op itself."""
    for op_type, lowering in LOWERED.items():
        takes = [arg for arg in DECLARATIONS[op_type].op_def.inputs if arg.type is tf.resource]
        assert takes or op_type == "VarHandleOp"
        instead = DECLARATIONS[lowering.op_type].op_def
        assert lowering.op_type not in LOWERED
        assert not any(arg.type is tf.resource for arg in instead.inputs)


def test_handles_go_through_branches_as_references():
    v, condition = (
        tf.Variable(1.0, use_resource=True, name="v"),
        tf.placeholder_with_default(True, []),
    )
    op_types = types(tf.cond(condition, lambda: v.assign_add(1.0), lambda: v.value()))
    assert op_types["cond/AssignAddVariableOp"] == "AssignAdd"
    assert op_types["cond/AssignAddVariableOp/Switch"] == "RefSwitch"


def test_handles_go_into_loops_as_references():
    v = tf.Variable(1.0, use_resource=True, name="v")
    loop = tf.while_loop(lambda i, _: i < 3, lambda i, _: (i + 1, v.value() + 0.0), [0, 0.0])
    found_nodes = nodes(loop[1])
    (entered,) = [node for node in found_nodes.values() if node.type == "RefEnter"]
    assert entered.attrs["T"] is tf.float32
    assert entered.attrs["is_constant"]


def test_a_handle_of_no_variable_stays_what_it_is():
    array = tf.TensorArray(tf.float32, 1)
    loop = tf.while_loop(lambda i, _: i < 1, lambda i, a: (i + 1, a.write(i, 1.0)), [0, array])
    op_types = types(loop[1].stack())
    assert "TensorArrayV3" in op_types.values()
    assert not {"RefEnter", "RefSwitch"} & {*op_types.values()}


def test_rows_are_gathered_along_the_first_axis():
    v = tf.Variable([[1.0], [2.0]], use_resource=True, name="v")
    found_nodes = nodes(tf.gather(v, [1], name="rows"))
    rows = found_nodes["rows"]
    assert rows.type == "GatherV2"
    axis = rows.input_edge(2).src
    assert (axis.type, int(axis.attrs["value"])) == ("Const", 0)


def test_what_reads_it_is_beside_the_variable():
    with tf.device("/gpu:1"):
        v = tf.Variable(1.0, use_resource=True, name="v")
    with tf.device("/gpu:0"):
        found_nodes = nodes(v.read_value(), v.assign_add(1.0, name="more").op)
    assert found_nodes["v"].requested_device == "/device:GPU:1"
    assert found_nodes["Read/ReadVariableOp"].attrs["_class"] == [b"loc:@v"]
    assert found_nodes["Read/ReadVariableOp"].requested_device == ""
    assert found_nodes["more"].requested_device == ""


def test_ops_of_other_runs_that_change_it_are_its_kin():
    v = tf.Variable(1.0, use_resource=True, name="v")
    v.assign_add(1.0, name="more")
    unit = compiled([v.value()], upto="prune")
    (kin,) = unit.kin.values()
    assert [(node.name, node.type) for node in kin] == [
        ("v/IsInitialized/VarIsInitializedOp", "IsVariableInitialized"),
        ("v/Assign", "Assign"),
        ("more", "AssignAdd"),
    ]
