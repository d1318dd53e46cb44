"""Nodes, edges and the bookkeeping of the runtime graph."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gpugraph.base.dtypes import DType, float32, int32
from gpugraph.base.errors import (
    AlreadyExistsError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
)
from gpugraph.graph.nodes.node_and_edge import class_of_type
from gpugraph.graph.nodes.runtime_graph import CONTROL_SLOT, Node, NodeClass, RuntimeGraph
from gpugraph.graph.op_def import OpDef

F = float32


def add(
    graph: RuntimeGraph,
    name: str,
    inputs: int = 0,
    outputs: int = 1,
    dtype: DType = F,
    type: str = "Op",
    origin: object = None,
) -> Node:
    return graph.add_node(
        name,
        OpDef(type),
        input_types=[dtype] * inputs,
        output_types=[dtype] * outputs,
        origin=origin,
    )


def check_bookkeeping(graph: RuntimeGraph) -> None:
    """Every edge is known at both ends and to the graph; ids and names are in order."""
    edges = list(graph.edges())
    assert graph.num_edges == len(edges)
    assert [e.id for e in edges] == sorted({e.id for e in edges})
    ids = [n.id for n in graph.nodes()]
    assert ids == sorted(set(ids))
    assert len(ids) == graph.num_nodes
    assert max(ids) < graph.num_node_ids
    for node in graph.nodes():
        assert graph.find(node.name) is node
        assert graph.find_id(node.id) is node
        assert list(node.in_edges) == [e for e in node.in_edges if e.dst is node]
        assert list(node.out_edges) == [e for e in node.out_edges if e.src is node]
    assert {e for n in graph.nodes() for e in n.in_edges} == set(edges)
    assert {e for n in graph.nodes() for e in n.out_edges} == set(edges)
    assert sum(len(n.in_edges) for n in graph.nodes()) == len(edges)
    for edge in edges:
        assert (edge.src_output == CONTROL_SLOT) == (edge.dst_input == CONTROL_SLOT)


# The nodes of a new graph


def test_an_empty_graph_has_source_and_sink_with_a_control_edge() -> None:
    graph = RuntimeGraph()
    assert (graph.source.id, graph.source.name, graph.source.type) == (0, "_SOURCE", "NoOp")
    assert (graph.sink.id, graph.sink.name, graph.sink.type) == (1, "_SINK", "NoOp")
    assert graph.source.is_source
    assert graph.sink.is_sink
    assert not graph.source.is_op
    (edge,) = graph.edges()
    assert edge.is_control
    assert (edge.src, edge.dst) == (graph.source, graph.sink)
    assert (graph.num_nodes, graph.num_node_ids, graph.num_edges) == (2, 2, 1)
    assert graph.op_nodes() == []
    assert [node.name for node in graph.nodes()] == ["_SOURCE", "_SINK"]


# Nodes


def test_ids_are_not_given_twice() -> None:
    graph = RuntimeGraph()
    a, b = add(graph, "a"), add(graph, "b")
    assert (a.id, b.id) == (2, 3)
    graph.remove_node(b)
    assert graph.find("b") is None
    assert graph.find_id(3) is None
    again = add(graph, "b")
    assert again.id == 4
    assert (graph.num_nodes, graph.num_node_ids) == (4, 5)
    check_bookkeeping(graph)


def test_removing_a_node_removes_its_edges_and_no_others() -> None:
    graph = RuntimeGraph()
    a, b, c = add(graph, "a"), add(graph, "b", 1), add(graph, "c", 1)
    graph.add_edge(a, 0, b, 0)
    graph.add_edge(b, 0, c, 0)
    kept = graph.add_control_edge(a, c)
    graph.remove_node(b)
    assert list(a.out_edges) == [kept] == list(c.in_edges)
    check_bookkeeping(graph)


def test_a_node_tied_to_itself_can_be_removed() -> None:
    graph = RuntimeGraph()
    a = add(graph, "a", 1)
    graph.add_edge(a, 0, a, 0)
    graph.remove_node(a)
    assert graph.num_edges == 1
    check_bookkeeping(graph)


def test_a_taken_name_is_refused_and_says_who_has_it() -> None:
    graph = RuntimeGraph()
    add(graph, "a", origin="train.py:7")
    with pytest.raises(AlreadyExistsError, match=r"Node already exists: a\n.*train\.py:7"):
        add(graph, "a")
    with pytest.raises(AlreadyExistsError, match="_SOURCE"):
        add(graph, "_SOURCE")
    assert graph.num_nodes == 3


@pytest.mark.parametrize("name", ["", "a b", "-a", "/a", "a:0", "^a", "a\n", "é", "a@b"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match="not valid"):
        add(RuntimeGraph(), name)


@pytest.mark.parametrize("name", ["a", "A/b-c.d_e", "0", ".x", "_recv_a_0", "a/_3"])
def test_a_good_name_is_taken(name: str) -> None:
    assert add(RuntimeGraph(), name).name == name


def test_a_removed_node_is_not_accepted_again() -> None:
    graph = RuntimeGraph()
    a, b = add(graph, "a"), add(graph, "b", 1)
    graph.remove_node(a)
    with pytest.raises(InvalidArgumentError, match="a is not in this graph"):
        graph.remove_node(a)
    with pytest.raises(InvalidArgumentError, match="a is not in this graph"):
        graph.add_edge(a, 0, b, 0)
    with pytest.raises(InvalidArgumentError, match="not in this graph"):
        graph.add_control_edge(b, add(RuntimeGraph(), "elsewhere"))


def test_source_and_sink_stay() -> None:
    graph = RuntimeGraph()
    for node in (graph.source, graph.sink):
        with pytest.raises(InvalidArgumentError, match="cannot be removed"):
            graph.remove_node(node)
        with pytest.raises(InvalidArgumentError, match="cannot be copied"):
            graph.copy_node(node)


def test_attrs_are_the_nodes_own() -> None:
    graph = RuntimeGraph()
    attrs = {"N": 2}
    node = graph.add_node("a", OpDef("Op"), attrs=attrs)
    attrs["N"] = 3
    assert node.attrs == {"N": 2}


def test_requested_and_assigned_device_are_kept_apart() -> None:
    graph = RuntimeGraph()
    node = graph.add_node("a", OpDef("Op"), requested_device="/gpu:0")
    assert (node.requested_device, node.assigned_device) == ("/gpu:0", "")
    node.assigned_device = "/job:localhost/replica:0/task:0/device:GPU:0"
    assert node.requested_device == "/gpu:0"
    assert node.node_def.device == "/gpu:0"
    assert graph.to_node_defs()[0].device == node.assigned_device


def test_a_copy_has_the_attributes_but_no_edges() -> None:
    graph = RuntimeGraph()
    a = add(graph, "a")
    b = graph.add_node(
        "b",
        OpDef("Op"),
        attrs={"N": 1},
        input_types=[F],
        output_types=[int32],
        requested_device="/cpu:0",
        origin="here",
    )
    b.assigned_device = "/device:CPU:0"
    graph.add_edge(a, 0, b, 0)
    copy = graph.copy_node(b)
    assert copy.id != b.id
    for field in ("type", "op_def", "attrs", "input_types", "output_types", "origin"):
        assert getattr(copy, field) == getattr(b, field)
    assert copy.attrs is not b.attrs
    assert (copy.requested_device, copy.assigned_device) == ("/cpu:0", "/device:CPU:0")
    assert not copy.in_edges
    assert copy.name != "b"
    assert copy.name.startswith("b/_")
    check_bookkeeping(graph)


def test_a_copy_keeps_its_name_in_another_graph() -> None:
    node = add(RuntimeGraph(), "a")
    other = RuntimeGraph()
    assert other.copy_node(node).name == "a"
    assert other.copy_node(node, "c").name == "c"
    with pytest.raises(AlreadyExistsError):
        other.copy_node(node, "c")


def test_new_names_are_new() -> None:
    graph = RuntimeGraph()
    names = [add(graph, graph.new_name("recv")).name for _ in range(5)]
    add(graph, f"recv/_{graph.num_node_ids + 1}")
    names += [add(graph, graph.new_name("recv")).name for _ in range(5)]
    assert len(set(names)) == 10


# Edges


def test_edges_are_seen_at_both_ends() -> None:
    graph = RuntimeGraph()
    a, b = add(graph, "a", outputs=2), add(graph, "b", 2)
    first = graph.add_edge(a, 1, b, 0)
    second = graph.add_edge(a, 0, b, 1)
    control = graph.add_control_edge(graph.source, a)
    assert control is not None
    assert list(b.in_edges) == [first, second] == list(a.out_edges)
    assert (first.src, first.src_output, first.dst, first.dst_input) == (a, 1, b, 0)
    assert not first.is_control
    assert first.id < second.id < control.id
    assert b.input_edge(1) is second
    assert b.input_edges() == [first, second]
    assert (b.num_inputs, b.num_outputs, a.num_outputs) == (2, 1, 2)
    assert first.debug_string() == f"[id={first.id} a:1 -> b:0]"
    assert repr(first) == f"<Edge {first.debug_string()}>"
    check_bookkeeping(graph)


def test_input_edges_come_in_slot_order_whatever_order_they_were_made_in() -> None:
    graph = RuntimeGraph()
    a, b = add(graph, "a"), add(graph, "b", 3)
    edges = {slot: graph.add_edge(a, 0, b, slot) for slot in (2, 0, 1)}
    graph.add_control_edge(a, b)
    assert b.input_edges() == [edges[0], edges[1], edges[2]]


def test_input_edge_errors() -> None:
    graph = RuntimeGraph()
    a, c = add(graph, "A"), add(graph, "C", 1)
    message = "Invalid input_edge index: 1, Node C only has 1 inputs."
    with pytest.raises(InvalidArgumentError) as caught:
        c.input_edge(1)
    assert message in caught.value.message
    with pytest.raises(InvalidArgumentError, match="index: -1"):
        c.input_edge(-1)
    with pytest.raises(NotFoundError, match="Could not find input edge 0 for C"):
        c.input_edge(0)
    with pytest.raises(InvalidArgumentError, match="Missing edge input number: 0"):
        c.input_edges()
    graph.add_edge(a, 0, c, 0)
    graph.add_edge(a, 0, c, 0)
    with pytest.raises(InternalError, match="Duplicate edge input number: 0"):
        c.input_edges()


@pytest.mark.parametrize(("src_output", "dst_input"), [(0, -1), (-1, 0)])
def test_control_slots_join_only_control_slots(src_output: int, dst_input: int) -> None:
    graph = RuntimeGraph()
    a, b = add(graph, "a"), add(graph, "b", 1)
    with pytest.raises(InvalidArgumentError, match=r"control slot.*a:.* -> b:"):
        graph.add_edge(a, src_output, b, dst_input)
    assert graph.add_edge(a, CONTROL_SLOT, b, CONTROL_SLOT).is_control


@pytest.mark.parametrize(("src_output", "dst_input"), [(1, 0), (0, 1), (-2, 0), (0, -2), (7, 7)])
def test_slots_must_exist(src_output: int, dst_input: int) -> None:
    graph = RuntimeGraph()
    a, b = add(graph, "left", origin="x.py:1"), add(graph, "right", 1, origin="x.py:2")
    with pytest.raises(InvalidArgumentError) as caught:
        graph.add_edge(a, src_output, b, dst_input)
    for part in ("left", "right", "x.py:1", "x.py:2"):
        assert part in caught.value.message
    assert graph.num_edges == 1
    check_bookkeeping(graph)


def test_dtypes_must_fit() -> None:
    graph = RuntimeGraph()
    ref = F._as_ref
    value, number, reference = add(graph, "v", 1), add(graph, "n", 1, dtype=int32), None
    reference = add(graph, "r", 1, dtype=ref)
    graph.add_edge(reference, 0, value, 0)
    graph.add_edge(reference, 0, reference, 0)
    with pytest.raises(InvalidArgumentError) as caught:
        graph.add_edge(value, 0, reference, 0)
    assert "Input 0 of node r was passed float32 from v:0" in caught.value.message
    assert "incompatible with expected float32_ref" in caught.value.message
    for src, dst in ((number, value), (value, number), (reference, number)):
        with pytest.raises(InvalidArgumentError, match="incompatible"):
            graph.add_edge(src, 0, dst, 0)


def test_nothing_runs_before_source_or_after_sink() -> None:
    graph = RuntimeGraph()
    a = add(graph, "a")
    for src, dst in ((a, graph.source), (graph.sink, a)):
        with pytest.raises(InvalidArgumentError, match="_SOURCE"):
            graph.add_control_edge(src, dst)
    with pytest.raises(InvalidArgumentError, match="invalid output 0"):
        graph.add_edge(graph.source, 0, a, 0)


def test_control_edges_are_not_doubled_unless_asked() -> None:
    graph = RuntimeGraph()
    a, b = add(graph, "a"), add(graph, "b")
    first = graph.add_control_edge(a, b)
    assert first is not None
    assert b.node_def.input == ["^a"]
    assert graph.add_control_edge(a, b) is None
    assert graph.add_control_edge(a, b, allow_duplicates=True) is not None
    assert b.node_def.input == ["^a"]
    assert graph.num_edges == 3
    graph.remove_control_edge(first)
    assert b.node_def.input == []
    assert graph.num_edges == 1
    check_bookkeeping(graph)


def test_removing_a_control_edge_keeps_data_edges() -> None:
    graph = RuntimeGraph()
    a, b = add(graph, "a"), add(graph, "b", 1)
    data = graph.add_edge(a, 0, b, 0)
    control = graph.add_control_edge(a, b)
    assert control is not None
    assert b.node_def.input == ["a", "^a"]
    graph.remove_control_edge(control)
    assert b.node_def.input == ["a"]
    with pytest.raises(InvalidArgumentError, match="not a control edge"):
        graph.remove_control_edge(data)
    with pytest.raises(InvalidArgumentError, match="not in this graph"):
        graph.remove_control_edge(control)


def test_an_edge_is_removed_once() -> None:
    graph = RuntimeGraph()
    a, b = add(graph, "a"), add(graph, "b", 1)
    edge = graph.add_edge(a, 0, b, 0)
    graph.remove_edge(edge)
    assert not a.out_edges
    assert not b.in_edges
    with pytest.raises(InvalidArgumentError, match=r"a:0 -> b:0\] is not in this graph"):
        graph.remove_edge(edge)
    check_bookkeeping(graph)


def test_update_edge_rewires_the_node_def() -> None:
    graph = RuntimeGraph()
    a, b, c = add(graph, "a"), add(graph, "b", outputs=2), add(graph, "c", 1)
    old = graph.add_edge(a, 0, c, 0)
    graph.add_control_edge(a, c)
    new = graph.update_edge(b, 1, c, 0)
    assert c.node_def.input == ["b:1", "^a"]
    assert new.id > old.id
    assert c.input_edge(0) is new
    assert old not in a.out_edges
    check_bookkeeping(graph)


def test_update_edge_refuses_and_changes_nothing() -> None:
    graph = RuntimeGraph()
    a, c, n = add(graph, "a"), add(graph, "c", 2), add(graph, "n", dtype=int32)
    graph.add_edge(a, 0, c, 0)
    refused = [(a, 1, c, 0), (a, 0, c, 2), (n, 0, c, 0), (a, -1, c, -1), (a, 0, c, -1)]
    for src, output, dst, slot in refused:
        with pytest.raises(InvalidArgumentError):
            graph.update_edge(src, output, dst, slot)
    with pytest.raises(InvalidArgumentError, match="Couldn't find an edge to input 1 of node c"):
        graph.update_edge(a, 0, c, 1)
    assert c.node_def.input == ["a", ""]
    check_bookkeeping(graph)


def test_source_and_sink_edges_tie_loose_ends_once() -> None:
    graph = RuntimeGraph()
    a, b, c = add(graph, "a"), add(graph, "b", 1), add(graph, "c")
    graph.add_edge(a, 0, b, 0)
    assert graph.fix_source_and_sink_edges()
    tied = {(e.src.name, e.dst.name) for e in graph.edges() if e.is_control}
    assert tied == {
        ("_SOURCE", "_SINK"),
        ("_SOURCE", "a"),
        ("b", "_SINK"),
        ("_SOURCE", "c"),
        ("c", "_SINK"),
    }
    assert not graph.fix_source_and_sink_edges()
    assert a.node_def.input == c.node_def.input == []
    assert c.control_inputs == []
    check_bookkeeping(graph)


def test_control_inputs_are_nodes() -> None:
    graph = RuntimeGraph()
    a, b, c = add(graph, "a"), add(graph, "b"), add(graph, "c", 1)
    graph.add_edge(a, 0, c, 0)
    graph.add_control_edge(b, c)
    graph.add_control_edge(a, c)
    assert c.control_inputs == [b, a]
    assert c.node_def.input == ["a", "^b", "^a"]


# As data and as text


def test_node_defs_of_a_graph() -> None:
    graph = RuntimeGraph()
    a = add(graph, "a")
    b = graph.add_node("b", OpDef("Neg"), attrs={"T": F}, input_types=[F], output_types=[F])
    graph.add_edge(a, 0, b, 0)
    graph.fix_source_and_sink_edges()
    first, second = graph.to_node_defs()
    assert (first.name, first.input) == ("a", [])
    assert (second.name, second.op, second.input, second.attr) == ("b", "Neg", ["a"], {"T": F})
    second.attr["T"] = int32
    assert b.attrs["T"] is F


def test_debug_strings() -> None:
    graph = RuntimeGraph()
    node = graph.add_node("A", OpDef("OneOutput"), attrs={"N": 1}, requested_device="/cpu:0")
    assert node.debug_string() == (
        "{name:'A' id:2 op device:{} def:{{{node A}} = OneOutput[N=1, _device=\"/cpu:0\"]()}}"
    )
    node.assigned_device = "/device:CPU:0"
    assert "op device:{/device:CPU:0} def:{" in node.debug_string()
    assert graph.source.debug_string() == "{name:'_SOURCE' id:0 source}"
    assert graph.sink.debug_string() == "{name:'_SINK' id:1 sink}"
    assert repr(node) == "<Node 2 'A' type=OneOutput>"


# Classes

CLASSES = {
    "SWITCH": "Switch RefSwitch _SwitchN",
    "MERGE": "Merge RefMerge",
    "ENTER": "Enter RefEnter",
    "EXIT": "Exit RefExit",
    "NEXT_ITERATION": "NextIteration RefNextIteration",
    "LOOP_COND": "LoopCond",
    "CONTROL_TRIGGER": "ControlTrigger",
    "SEND": "_Send",
    "HOST_SEND": "_HostSend",
    "RECV": "_Recv",
    "HOST_RECV": "_HostRecv",
    "CONSTANT": "Const HostConst",
    "VARIABLE": "Variable VariableV2",
    "IDENTITY": "Identity RefIdentity",
    "GET_SESSION_HANDLE": "GetSessionHandle GetSessionHandleV2",
    "GET_SESSION_TENSOR": "GetSessionTensor",
    "DELETE_SESSION_TENSOR": "DeleteSessionTensor",
    "METADATA": "Size Shape Rank",
    "SCOPED_ALLOCATOR": "_ScopedAllocator",
    "COLLECTIVE": "CollectiveReduce CollectiveBcastSend CollectiveBcastRecv CollectiveGather",
    "FAKE_PARAM": "FakeParam",
    "PARTITIONED_CALL": "PartitionedCall StatefulPartitionedCall",
    "IF": "If StatelessIf",
    "WHILE": "While StatelessWhile",
    "ARG": "_Arg _DeviceArg",
    "RETVAL": "_Retval _DeviceRetval",
    "OTHER": "VarHandleOp Add NoOp Send ReadVariableOp ShapeN",
}


def test_every_class_is_listed() -> None:
    assert CLASSES.keys() == NodeClass.__members__.keys()


@pytest.mark.parametrize(
    ("type", "expected"),
    [(type, NodeClass[key]) for key, types in CLASSES.items() for type in types.split()],
)
def test_class_of_an_op_type(type: str, expected: NodeClass) -> None:
    assert class_of_type(type) is expected
    assert add(RuntimeGraph(), "a", type=type).node_class is expected


PREDICATES = {
    "is_switch": {"Switch", "RefSwitch", "_SwitchN"},
    "is_merge": {"Merge", "RefMerge"},
    "is_enter": {"Enter", "RefEnter"},
    "is_exit": {"Exit", "RefExit"},
    "is_next_iteration": {"NextIteration", "RefNextIteration"},
    "is_loop_cond": {"LoopCond"},
    "is_control_trigger": {"ControlTrigger"},
    "is_send": {"_Send", "_HostSend"},
    "is_recv": {"_Recv", "_HostRecv"},
    "is_host_send": {"_HostSend"},
    "is_host_recv": {"_HostRecv"},
    "is_transfer": {"_Send", "_HostSend", "_Recv", "_HostRecv"},
    "is_constant": {"Const", "HostConst"},
    "is_variable": {"Variable", "VariableV2"},
    "is_identity": {"Identity", "RefIdentity"},
    "is_metadata": {"Size", "Shape", "Rank"},
    "is_collective": set(CLASSES["COLLECTIVE"].split()),
    "is_control_flow": set(
        " ".join(
            CLASSES[key] for key in ("SWITCH", "MERGE", "ENTER", "EXIT", "NEXT_ITERATION")
        ).split()
    ),
    "is_source": set(),
    "is_sink": set(),
    "is_op": set(" ".join(CLASSES.values()).split()),
}


@pytest.mark.parametrize("predicate", PREDICATES)
def test_predicates(predicate: str) -> None:
    graph = RuntimeGraph()
    types = " ".join(CLASSES.values()).split()
    nodes = [add(graph, f"n{i}", type=type) for i, type in enumerate(types)]
    assert {n.type for n in nodes if getattr(n, predicate)} == PREDICATES[predicate]


# Random changes

Step = tuple[int, int, int]


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0), st.integers(0)), max_size=60))
def test_random_changes_keep_the_books(steps: list[Step]) -> None:
    graph = RuntimeGraph()
    for action, left, right in steps:
        nodes = graph.op_nodes()
        if action <= 1 or not nodes:
            add(graph, f"n{graph.num_node_ids}", inputs=right % 3, outputs=1 + left % 2)
            continue
        src, dst = nodes[left % len(nodes)], nodes[right % len(nodes)]
        if action <= 3 and dst.num_inputs:
            graph.add_edge(src, left % src.num_outputs, dst, right % dst.num_inputs)
        elif action == 4:
            graph.add_control_edge(src, dst, allow_duplicates=bool(left % 2))
        elif action == 7:
            graph.remove_node(src)
        elif src.out_edges:
            edge = list(src.out_edges)[right % len(src.out_edges)]
            if action == 6:
                graph.remove_edge(edge)
            elif edge.is_control:
                graph.remove_control_edge(edge)
            else:
                graph.update_edge(src, left % src.num_outputs, edge.dst, edge.dst_input)
    check_bookkeeping(graph)
    graph.fix_source_and_sink_edges()
    assert all(node.in_edges and node.out_edges for node in graph.op_nodes())
    check_bookkeeping(graph)
