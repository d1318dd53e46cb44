"""Random programs of reads and writes against a plain interpreter of the fixed order.

A read gives the variable's value at the read's place in the order; a fetched reference gives the
final value; where programs require an order, by data or control edges, reads and writes keep it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.compile.memory.deferred_updates import later
from gpugraph.compile.unit.compile_unit import Unit, variable_key
from gpugraph.devices import Device
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.plan import Plan

from ..stages import compiled, execute, make_plan, make_target

START = {"a": np.float32([1, 2, 3, 4]), "b": np.float32([10, 20, 30, 40])}

KINDS = ("read", "assign", "add", "sub", "neg", "mul", "view", "direct")


def interpret(unit: Unit) -> list[Any]:
    """Interpret the nodes one after the other in the given order, with a separate copy of each
    value.
    """
    memory = {("", name): value.copy() for name, value in START.items()}
    values: dict[tuple[int, int], Any] = {}
    sends = {recv.id: send for send, recv in unit.send_recv_pairs}

    def given_to(node: Node) -> list[Any]:
        result = [values[edge.src.id, edge.src_output] for edge in node.input_edges()]
        return [memory[item] if isinstance(item, tuple) else item for item in result]

    for node in unit.order:
        if node.type in ("_Send", "_Retval"):
            continue
        inputs = given_to(sends.get(node.id, node))
        if node.type == "VariableV2":
            values[node.id, 0] = variable_key(node)
        elif node.type.startswith("Assign"):
            edge = node.input_edge(0)
            key = values[node.id, 0] = values[edge.src.id, edge.src_output]
            change = {"Assign": 0, "AssignAdd": 1, "AssignSub": -1}[node.type]
            memory[key] = inputs[1].copy() if not change else memory[key] + change * inputs[1]
        elif node.type == "Const":
            values[node.id, 0] = node.attrs["value"]
        elif node.type == "Reshape":
            values[node.id, 0] = inputs[0].reshape(inputs[1]).copy()
        elif node.type != "NoOp":
            compute = {"Neg": np.negative, "Mul": np.multiply, "Sub": np.subtract}.get(node.type)
            values[node.id, 0] = compute(*inputs) if compute else inputs[0].copy()
    return [given_to(each)[0].copy() for each in unit.retvals]


def draw_program(draw: Any, devices: list[str], open_shape: bool) -> list[tf.Tensor]:
    """Return the tensors of a random program, and its variables are `a` and `b`, each under two
    names.
    """
    variables = []
    for name in "ab":
        with tf.device(draw(st.sampled_from(devices))):
            shape = None if open_shape and draw(st.booleans()) else [4]
            result = raw_ops.VariableV2(dtype=tf.float32, shape=shape, name=name)
        variables.append(result)
        if shape is not None and draw(st.booleans()):
            twin = raw_ops.VariableV2(dtype=tf.float32, shape=shape, shared_name=name)
            twin.op._set_device(result.op.device)
            variables.append(twin)
    refs, values = list(variables), [tf.constant(np.float32([1, 0, 2, 0]))]
    for _ in range(draw(st.integers(2, 14))):
        befores = draw(st.lists(st.sampled_from(refs[2:] + values), max_size=2))
        kind = draw(
            st.sampled_from(["read", "assign", "add", "sub", "neg", "mul", "view", "direct"])
        )
        with tf.device(draw(st.sampled_from(devices))), tf.control_dependencies(befores):
            value = draw(st.sampled_from(values))
            ref = draw(st.sampled_from(refs))
            if kind == "read":
                values.append(raw_ops.Identity(ref))
            elif kind == "direct":  # reads the variable without an Identity
                values.append(raw_ops.Sub(ref, value))
            elif kind == "view":
                values.append(raw_ops.Reshape(draw(st.sampled_from([ref, value])), np.int32([4])))
            elif kind == "neg":
                values.append(tf.negative(value))
            elif kind == "mul":
                values.append(raw_ops.Mul(value, draw(st.sampled_from(values))))
            elif kind == "assign":
                refs.append(raw_ops.Assign(ref, value))
            else:
                write = raw_ops.AssignAdd if kind == "add" else raw_ops.AssignSub
                refs.append(write(ref, draw(st.sampled_from([value, ref]))))
    return draw(st.lists(st.sampled_from(refs + values), min_size=1, max_size=5))


def start(target: Any, fetches: list[tf.Tensor]) -> None:
    """Run a separate Assign for each variable."""
    graph = fetches[0].graph
    for name, value in START.items():
        initializer = raw_ops.Assign(graph.get_tensor_by_name(f"{name}:0"), value)
        plan = make_plan([initializer.op], target=target)
        execute(plan, [])
        plan.release()


def check(data: Any, devices: list[str], gpus: int, open_shape: bool) -> None:
    with tf.Graph().as_default():
        fetches = draw_program(data.draw, devices, open_shape)
        target = make_target(gpus=gpus)
        start(target, fetches)
        expected = interpret(compiled(fetches, target=target))
        plan: Plan = make_plan(fetches, target=target)
        for got, wanted in zip(execute(plan, []), expected):
            np.testing.assert_array_equal(got, wanted)
        plan.release()


@settings(max_examples=150)
@given(data=st.data())
def test_on_one_device(data):
    check(data, [""], 0, False)


@settings(max_examples=60)
@given(data=st.data())
def test_with_updates_that_are_put_off(data):
    order = import_module(
        "gpugraph.compile.memory.execution_order"
    )  # the package exports the function under that name

    def on_all(unit: Unit) -> int:
        with mock.patch.object(Device, "has_kernels", True):
            return later(unit)

    with mock.patch.object(order, "later", on_all):
        check(data, ["/cpu:0", "/gpu:0"], 1, False)


@settings(max_examples=100)
@given(data=st.data())
def test_on_three_devices(data):
    check(data, ["/cpu:0", "/gpu:0", "/gpu:1"], 2, False)


@settings(max_examples=100)
@given(data=st.data())
def test_with_variables_of_open_shape(data):
    check(data, ["/cpu:0", "/gpu:0"], 1, True)
