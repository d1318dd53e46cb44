"""Partition: one Send and one Recv for each tensor and destination."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.compile import compile_record
from gpugraph.ops.framework.op_declaration import raw_ops

from ..stages import PREFIX, compiled, make_plan, make_target, node, request, run, types

BIG = np.zeros(5000, np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def parted(fetches, feeds=None, gpus=2, upto="graph_partition"):
    return compiled(fetches, feeds, upto=upto, target=make_target(gpus=gpus))


def ways(unit):
    """Return (tensor, from, to), short device names."""
    return [
        (way.tensor, *(name.rpartition("device:")[2] for name in (way.source, way.target)))
        for way in unit.transfers
    ]


def on(device, function, *inputs, name):
    with tf.device(device):
        return function(*inputs, name=name)


def test_a_tensor_goes_once_to_a_device_however_many_read_it_there():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = on("/gpu:0", tf.negative, x, name="y")
    takers = [on("/gpu:1", tf.exp, y, name=f"there{index}") for index in range(3)]
    takers += [on("/cpu:0", tf.exp, y, name=f"here{index}") for index in range(2)]
    unit = parted([*takers, y], {x: (2,)})
    assert ways(unit) == [("y", "GPU:0", "GPU:1"), ("y", "GPU:0", "CPU:0")]
    assert types(unit).count("_Send") == types(unit).count("_Recv") == 2
    assert unit.transfers[0].num_bytes == 8
    assert unit.reports[-1].summary == "2 tensors are sent to another device"
    assert unit.reports[-1].lines[0] == f"y: {PREFIX}/device:GPU:0 -> {PREFIX}/device:GPU:1"


def test_two_outputs_of_an_op_are_two_tensors():
    x = tf.placeholder(tf.float32, [4], name="x")
    with tf.device("/gpu:0"):
        left, right = tf.split(x, 2, name="parts")
    total = on("/cpu:0", tf.add, left, right, name="total")
    unit = parted([total], {x: (4,)})
    assert ways(unit) == [("parts", "GPU:0", "CPU:0"), ("parts:1", "GPU:0", "CPU:0")]


def test_send_and_recv_name_their_way():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = on("/cpu:0", tf.exp, on("/gpu:0", tf.negative, x, name="inner"), name="y")
    unit = parted([y], {x: (2,)})
    ((send, recv),) = unit.send_recv_pairs
    for end in (send, recv):
        assert end.attrs["tensor_name"] == "edge_0_inner"
        assert end.attrs["send_device"] == f"{PREFIX}/device:GPU:0"
        assert end.attrs["recv_device"] == f"{PREFIX}/device:CPU:0"
    assert send.assigned_device == send.attrs["send_device"]
    assert recv.assigned_device == recv.attrs["recv_device"]
    assert unit.shapes[recv.id][0].as_list() == [2]
    assert node(unit, "y").input_edge(0).src is recv
    assert unit.reasons[recv.id] == f"inner comes from {PREFIX}/device:GPU:0"


def test_constants_are_copied_not_sent():
    c = tf.constant(BIG, name="c")
    v = tf.Variable(BIG, name="v")
    here = on("/gpu:0", tf.add, c, v.value(), name="here")
    there = [
        on("/gpu:1", tf.add, c, x, name=f"there{index}") for index, x in enumerate([here, here])
    ]
    unit = parted(there)
    copies = [node for node in unit.graph.op_nodes() if node.type == "Const"]
    assert sorted(node.assigned_device[-5:] for node in copies) == ["GPU:0", "GPU:1"]
    assert all(node.attrs["value"] is copies[0].attrs["value"] for node in copies)
    assert [way[0] for way in ways(unit)] == ["here"]


def test_a_copied_constant_waits_for_what_the_first_waits_for():
    v = tf.Variable(BIG, name="v")
    with tf.control_dependencies([tf.assign(v, BIG, name="written")]):
        c = tf.constant(BIG, name="c")
    fetches = [on("/gpu:0", tf.exp, c, name="a"), on("/gpu:1", tf.exp, c, name="b")]
    unit = parted(fetches)
    for copy in unit.graph.op_nodes():
        if copy.type == "Const" and copy.name.startswith("c"):
            assert [before.name for before in copy.control_inputs] == ["written"]


def test_host_inputs_are_read_on_the_host_wherever_the_op_runs():
    x, order = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.int32, [2], name="order")
    with tf.device("/gpu:1"):
        moved = tf.identity(order, name="moved")
        y = tf.transpose(x, moved, name="y")
    unit = parted([y], {x: (2, 3), order: (2,)})
    assert ways(unit) == [("moved", "GPU:1", "CPU:0")]
    assert run([y], {x: np.arange(6).reshape(2, 3), order: [1, 0]}, make_target(gpus=2))[
        0
    ].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_the_value_of_a_constant_host_input_needs_no_way():
    x = tf.placeholder(tf.float32, [2, 3])
    y = on("/gpu:1", tf.transpose, x, name="y")
    unit = parted([y], {x: (2, 3)})
    assert ways(unit) == []


def test_control_edges_cross_without_a_pair():
    x = tf.placeholder(tf.float32, [2], name="x")
    first = on("/gpu:0", tf.negative, x, name="first")
    with tf.control_dependencies([first]), tf.device("/gpu:1"):
        last = tf.exp(x, name="last")
    unit = parted([last, first.op], {x: (2,)})
    assert [way[0] for way in ways(unit)] == ["_arg_x_0_0", "_arg_x_0_0"]  # and not "first"
    assert node(unit, "first") in node(unit, "last").control_inputs


def test_with_one_device_nothing_is_looked_at():
    x = tf.placeholder(tf.float32, [2], name="x")
    assert parted([tf.negative(x)], {x: (2,)}, gpus=0).send_recv_pairs == []


def test_what_is_read_before_a_write_and_after_it_are_two_tensors():
    with tf.device("/gpu:0"):
        v = tf.Variable([1.0, 2.0], name="v")
    target = make_target(gpus=1)
    run([v.initializer], target=target)
    with tf.device("/cpu:0"):
        before = v.read_value()
        with tf.control_dependencies([before]):
            written = tf.assign_add(v, [10.0, 10.0], name="written")
        with tf.control_dependencies([written]):
            after = v.read_value()
            also = v.read_value()
    unit = compiled([before, after, also], upto="graph_partition", target=target)
    assert ways(unit) == [("v", "GPU:0", "CPU:0")] * 2
    got = run([before, after, also], target=target)
    assert [item.tolist() for item in got] == [[1, 2], [11, 12], [11, 12]]


def test_a_read_by_reference_waits_for_data_that_a_write_made():
    with tf.device("/gpu:0"):
        v = tf.Variable([1.0, 2.0], name="v")
    target = make_target(gpus=1)
    run([v.initializer], target=target)
    written = tf.assign_add(v, [10.0, 10.0])
    total = on("/cpu:0", raw_ops.Add, v._ref(), tf.exp(written * 0.0), name="total")
    assert run([total], target=target)[0].tolist() == [12.0, 13.0]


DEVICES = ["/cpu:0", "/gpu:0", "/gpu:1"]
NAMES = {name: f"{PREFIX}/device:{name[1:].upper()}" for name in DEVICES}


@settings(max_examples=60)
@given(data=st.data())
def test_each_tensor_goes_once_to_each_device_that_needs_it(data):
    """On random placed graphs the ways are the set of (tensor, device) worked out by hand."""
    with tf.Graph().as_default():
        index: dict[str, str] = {}
        values: list[tf.Tensor] = []
        for number in range(data.draw(st.integers(1, 4))):
            with tf.device(device := data.draw(st.sampled_from(DEVICES))):
                values.append(tf.Variable(BIG, name=f"v{number}").value())
            index[values[-1].op.name] = device
        for number in range(data.draw(st.integers(1, 20))):
            inputs = [
                data.draw(st.sampled_from(values)) for _ in range(data.draw(st.integers(1, 3)))
            ]
            with tf.device(device := data.draw(st.sampled_from(DEVICES))):
                if data.draw(st.booleans()):
                    values.append(tf.add_n(inputs, name=f"op{number}"))
                else:
                    values += tf.unstack(tf.reshape(inputs[0], [2, 2500]), name=f"op{number}")
                    values[-2:] = [tf.tile(item, [2]) for item in values[-2:]]
            for op in ancestors(values[-2:]):
                index.setdefault(op.name, device)
        fetches = data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))
        needed = ancestors(fetches)
        expected = {
            (tensor.name.removesuffix(":0"), NAMES[index[op.name]])
            for op in needed
            for tensor in op.inputs
            if tensor.op.type not in ("Const", "VariableV2")
            and index[tensor.op.name] != index[op.name]
        }
        target = make_target(gpus=2)
        options = target.config.graph_options.optimizer_options
        options.opt_level = tf.OptimizerOptions.L0  # equal ops stay apart
        unit = compiled(fetches, {}, upto="graph_partition", target=target)
        assert sorted((way.tensor, way.target) for way in unit.transfers) == sorted(expected)
        assert types(unit).count("_Send") == types(unit).count("_Recv") == len(expected)


def ancestors(fetches):
    result, stack = set(), [tensor.op for tensor in fetches]
    while stack:
        op = stack.pop()
        if op not in result:
            result.add(op)
            stack += [tensor.op for tensor in op.inputs]
    return result


def test_a_plan_lists_its_ways_and_its_parts():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = on("/cpu:0", tf.exp, on("/gpu:0", tf.negative, x, name="inner"), name="y")
    plan = make_plan([y], {x: (None,)}, make_target(gpus=1))
    assert [(way.tensor, way.num_bytes) for way in plan.transfers] == [("inner", None)]
    record = compile_record(make_target(gpus=1), request([y], {x: (None,)}))
    nodes = {(item.name, item.device.removeprefix(PREFIX)): item.node_def for item in record.nodes}
    assert {device for _, device in nodes} == {"/device:CPU:0", "/device:GPU:0"}
    assert nodes["inner", "/device:GPU:0"].op == "Neg"
    sends = [item for item in record.nodes if item.node_def.op == "_Send"]
    assert any(send.inputs == ["inner"] and "GPU" in send.device for send in sends)
    (source,) = nodes["y", "/device:CPU:0"].input
    assert nodes[source, "/device:CPU:0"].op == "_Recv"
    plan.release()
