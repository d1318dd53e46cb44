"""Verify: each invariant, broken on purpose, is found and named."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import InternalError, OpError
from gpugraph.base.shapes import TensorShape
from gpugraph.compile.unit.compile_unit import Home, Storage
from gpugraph.compile.verification import verify
from gpugraph.ops.framework.op_declaration import raw_ops

from .stages import compiled, make_target, node


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def unit_after(name):
    """Return a unit with a variable, a feed, a view, ops in place of others and a way, after a
    pass.
    """
    x = tf.placeholder(tf.float32, [4], name="x")
    with tf.device("/gpu:0"):
        v = tf.Variable([1.0, 2.0, 3.0, 4.0], name="v")
        written = tf.assign_add(v, tf.negative(x, name="a"), name="written")
        b = tf.add(written, x, name="b")
    with tf.device("/cpu:0"):
        c = tf.exp(b, name="c")
        d = tf.reshape(tf.add(c, b, name="d"), [2, 2], name="view")
    return compiled([d, c], {x: (4,)}, upto=name, target=make_target(gpus=1))


def found(unit):
    with pytest.raises(OpError) as caught:
        verify(unit)
    return str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "prune",
        "read_after_write",
        "constant_folding",
        "no_op_elimination",
        "placer",
        "fusion_groups",
        "graph_partition",
        "execution_order",
        "memory_planning",
    ],
)
def test_a_sound_unit_passes(name):
    verify(unit_after(name))


def test_the_breach_is_an_internal_error_that_names_node_and_pass_of_ours():
    unit = unit_after("placer")
    node(unit, "c").assigned_device = "/nowhere"
    with pytest.raises(InternalError, match="Compilation went wrong at 'c'"):
        verify(unit)


# prune


def test_an_input_without_an_edge():
    unit = unit_after("prune")
    unit.graph.remove_edge(node(unit, "c").input_edge(0))
    assert "Missing edge input number: 0 of node c" in found(unit)


def test_an_edge_of_another_dtype():
    unit = unit_after("prune")
    node(unit, "c").input_types = (tf.int32,)
    assert "input 0 is float32, not int32" in found(unit)


# fold


def test_a_node_without_shapes():
    unit = unit_after("constant_folding")
    del unit.shapes[node(unit, "c").id]
    assert "'c': 1 outputs, but the shapes None" in found(unit)


def test_a_constant_of_another_shape_than_its_value():
    x = tf.placeholder(tf.float32, [4])
    unit = compiled([raw_ops.Shape(x)], {x: (4,)}, upto="constant_folding")
    (key,) = unit.folded
    unit.shapes[key] = [TensorShape([7])]
    assert "its value has shape (1,)" in found(unit)


# place


def test_a_node_on_no_device():
    unit = unit_after("placer")
    node(unit, "c").assigned_device = ""
    assert "'c': it was placed on ''" in found(unit)


def test_a_placement_without_a_reason():
    unit = unit_after("placer")
    del unit.reasons[node(unit, "c").id]
    assert "no reason was recorded" in found(unit)


def test_a_reference_to_another_device():
    unit = unit_after("placer")
    node(unit, "written").assigned_device = unit.host
    assert "it refers to 'v' on another device" in found(unit)


# partition


def test_an_edge_into_another_devices_memory():
    unit = unit_after("graph_partition")
    taker = node(unit, "c")
    unit.graph.update_edge(node(unit, "b"), 0, taker, 0)
    assert "'c': input 0 lies in another device's memory" in found(unit)


def test_a_tensor_that_is_sent_twice():
    unit = unit_after("graph_partition")
    (send, recv), *_ = [ends for ends in unit.send_recv_pairs if ends[0].name.startswith("b/")]
    again = unit.graph.copy_node(send, "again")
    unit.graph.add_edge(send.input_edge(0).src, 0, again, 0)
    unit.shapes[again.id] = []
    unit.send_recv_pairs.append((again, recv))
    assert "'b' is sent twice to" in found(unit)


def test_a_way_that_is_not_listed():
    unit = unit_after("graph_partition")
    unit.transfers.pop()
    assert "not all listed" in found(unit)


# order


def test_an_order_that_leaves_a_node_out_or_has_one_twice():
    unit = unit_after("execution_order")
    last = unit.order.pop()
    assert "does not hold each node once" in found(unit)
    unit.order += [last, last]
    assert "does not hold each node once" in found(unit)


def test_a_node_before_what_it_needs():
    unit = unit_after("execution_order")
    unit.order.remove(node(unit, "c"))
    unit.order.insert(0, node(unit, "c"))
    assert "'c': it comes before 'b/recv" in found(unit)


def test_a_recv_before_its_send():
    unit = unit_after("execution_order")
    _, recv = unit.send_recv_pairs[-1]
    unit.order.remove(recv)
    unit.order.insert(0, recv)
    assert "it comes before its Send" in found(unit)


# memory


def storage(unit, name):
    return unit.homes[node(unit, name).id, 0].storage


def move(unit, name, other):
    """Put the output of `name` into the memory of `other`."""
    key = node(unit, name).id, 0
    unit.homes[key] = Home(storage(unit, other), unit.homes[key].shape, unit.homes[key].dtype)


def test_an_output_in_another_devices_memory():
    unit = unit_after("memory_planning")
    move(unit, "c", "b")
    assert "'c': output 0 lies on /job:localhost" in found(unit)


def test_tensors_that_share_bytes_while_both_live():
    unit = unit_after("memory_planning")
    storage(unit, "c").offset = storage(unit, "d").offset
    assert "live at the same step and share bytes" in found(unit)


def test_an_arena_that_is_too_small():
    unit = unit_after("memory_planning")
    unit.arena_sizes[unit.host] = 64
    assert "leaves [0, " in found(unit)


def test_a_tensor_that_is_read_after_its_end():
    unit = unit_after("memory_planning")
    storage(unit, "c").last -= 1
    assert "'c' lives in steps" in found(unit)


def test_a_tensor_overwritten_in_place_before_it_is_read():
    unit = unit_after("memory_planning")
    move(unit, "d", "c")  # c is fetched, by itself and by a view
    assert "was overwritten before it is read" in found(unit)


def test_a_read_of_a_variable_that_shares_its_memory_over_a_write():
    v = tf.Variable([1.0, 2.0], name="v")
    read = v.read_value()
    with tf.control_dependencies([read]):
        written = tf.assign_add(v, [1.0, 1.0])
    unit = compiled([read, written.op])
    name = read.op.name
    verify(unit)
    move(unit, name, "v")
    unit.modes[node(unit, name).id] = "view of v"
    assert f"'{name}' was overwritten before it is read" in found(unit)


def test_a_cell_that_is_given_up_too_early():
    x = tf.placeholder(tf.float32, [None])
    unit = compiled([tf.add(tf.exp(x, name="e"), tf.tanh(x))], {x: (None,)})
    storage(unit, "e").last = storage(unit, "e").first
    assert "'e' lives in steps" in found(unit)


def test_storages_are_told_apart_by_identity():
    same = ("arena", "/d", 4, 0, 1, "x")
    assert Storage(*same) != Storage(*same)
    assert len({Storage(*same), Storage(*same)}) == 2


def test_sessions_verify_when_they_are_asked_to(monkeypatch):
    seen = []
    monkeypatch.setattr("gpugraph.compile.verify", lambda unit: seen.append(unit.reports[-1].name))
    for asked in ("", "1"):
        monkeypatch.setenv("GPUGRAPH_VERIFY", asked)
        seen.append(f"asked: {asked}")
        with tf.Session() as session:
            session.run(tf.constant(np.float32(1)) + 1.0)
    assert seen[:2] == ["asked: ", "asked: 1"]
    assert seen[2:] == [
        "prune",
        "shared_copies",
        "collectives_joined",
        "serial_updates",
        "read_after_write",
        "constant_folding",
        "no_op_elimination",
        "transpose_folding",
        "arithmetic_simplification",
        "common_subexpression_elimination",
        "dependency_optimization",
        "placer",
        "layout_optimizer",
        "convolution_remapper",
        "attention_fusion",
        "loop_weights",
        "matmul_epilogues",
        "variable_restores",
        "stacked_values",
        "activation_recomputation",
        "gradual_sums",
        "fusion_groups",
        "graph_partition",
        "host_swapping",
        "flow_analysis",
        "execution_order",
        "memory_planning",
    ]
