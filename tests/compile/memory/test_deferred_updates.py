"""Small updates of variables on GPUs stand side by side, and nobody sees another value for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import gpugraph as tf
from gpugraph.compile.memory import deferred_updates as module
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.devices import VirtualGPUDevice
from gpugraph.ops.framework.op_declaration import DECLARATIONS

from ..stages import compiled, make_target


@pytest.fixture(autouse=True)
def with_kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """GPUs whose order is that of CUDA's; none of them runs."""
    monkeypatch.setattr(VirtualGPUDevice, "has_kernels", True)
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        yield graph


def names(fetches: Any, feeds: Any = None) -> list[str]:
    unit = compiled(fetches, feeds, upto="execution_order", target=make_target(gpus=2, soft=True))
    return [node.name for node in unit.order]


def updates(order: list[str]) -> str:
    return " ".join(name for name in order if name[:2] in ("up", "us"))


def grown(at: int, depth: int) -> Any:
    """Return an update of a separate variable, which comes at some depth."""
    variable = tf.Variable(tf.zeros([4]), name=f"v{at}")
    by = tf.Variable(tf.ones([4])).read_value()
    for _ in range(depth):
        by = tf.matmul([by], tf.ones([4, 4]))[0]
    return variable.assign_add(tf.identity(by, name=f"used{at}"), name=f"up{at}")


def test_updates_come_right_before_what_waits_for_them() -> None:
    values = [grown(index, depth) for index, depth in enumerate((1, 3, 2))]
    with tf.control_dependencies(values):
        train = tf.no_op(name="us")
    assert updates(names([train])).endswith("used1 up0 up2 up1 us")


def test_without_kernels_the_order_is_that_of_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VirtualGPUDevice, "has_kernels", False)
    values = [grown(index, depth) for index, depth in enumerate((1, 3, 2))]
    assert updates(names([tf.group(*values, name="us")])).endswith("up2 used1 up1 us")


@pytest.mark.parametrize("what", ["switch", "size", "memory"])
def test_what_is_off_or_large_stays(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if what == "switch":
        monkeypatch.setenv("GPUGRAPH_JOIN", "0")
    elif what == "size":
        monkeypatch.setattr(module, "LARGE", 16)
    else:
        monkeypatch.setattr(module, "PART", 1 << 40)
    values = [grown(index, depth) for index, depth in enumerate((1, 3, 2))]
    assert updates(names([tf.group(*values, name="us")])).endswith("up2 used1 up1 us")


def test_who_reads_a_variable_after_its_update_still_does() -> None:
    first, *others = [grown(index, depth) for index, depth in enumerate((1, 4, 4))]
    with tf.control_dependencies([first]):
        seen = tf.matmul([tf.get_default_graph().get_tensor_by_name("v0:0")], tf.ones([4, 1]))
        last = tf.negative(seen, name="used_at_last")
    order = updates(names([last, tf.group(*others, name="us")]))
    assert order.index("up0") < order.index("used_at_last")


def test_an_update_that_takes_a_variable_itself_comes_before_its_update() -> None:
    reader = grown(1, 3)
    reference = tf.get_default_graph().get_tensor_by_name("v1:0")
    copied = tf.Variable(tf.zeros([4]), name="v0").assign(reference, name="up0")
    with tf.control_dependencies([copied, tf.negative(reader)]):
        order = names([tf.no_op(name="us")])
    assert order.index("up0") < order.index("up1")


def test_an_update_in_a_branch_stays_in_it() -> None:
    x = tf.placeholder(tf.float32, [])
    variable = tf.Variable(tf.zeros([4]), name="v")
    result = tf.cond(
        x > 0, lambda: variable.assign_add(tf.ones([4]), name="up"), lambda: variable + 1
    )
    others = [grown(index, 2) for index in range(2)]
    unit = compiled(
        [result, *others], {x: ()}, upto="execution_order", target=make_target(gpus=2, soft=True)
    )
    order = [node.name for node in unit.order]
    assert order.index("cond/up") < order.index("cond/Merge")
    assert [name for name in order if name.startswith("up")] == ["up0", "up1"]


def touches(unit: Unit) -> dict[str, list[tuple[str, bool]]]:
    """Return the ops that take a reference to each variable, in order, and whether each writes."""
    mapping: dict[str, list[tuple[str, bool]]] = {}
    for node in unit.order:
        decl = DECLARATIONS.get(node.type)
        writes = decl.memory.writes if decl is not None else ()
        for edge in node.input_edges():
            if edge.src.type == "VariableV2":
                mapping.setdefault(edge.src.name, []).append((node.name, edge.dst_input in writes))
    return mapping


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_who_touches_a_variable_before_a_write_or_after_it_stays_there(data: Any) -> None:
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        held = [tf.Variable(tf.zeros([4]), name=f"v{index}") for index in range(3)]
        values: list[Any] = [tf.constant(1.0, shape=[4])]
        for _ in range(data.draw(st.integers(2, 14))):
            before = data.draw(st.lists(st.sampled_from(values), max_size=2))
            one = data.draw(st.sampled_from(held))
            value = data.draw(st.sampled_from(values))
            with tf.control_dependencies(before):
                kind = data.draw(st.sampled_from(["read", "write", "copy", "add"]))
                if kind == "read":
                    values.append(one.read_value() + value)
                elif kind == "write":
                    values.append(tf.identity(one.assign_add(value)))
                elif kind == "copy":  # takes the other's reference, with no read between
                    other_one = data.draw(st.sampled_from(held))
                    values.append(tf.identity(one.assign(other_one._ref())))
                else:
                    values.append(tf.matmul([value], tf.ones([4, 4]))[0])
        mapping = {}
        for switch in ("0", "1"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("GPUGRAPH_JOIN", switch)
                target = make_target(gpus=1, soft=True)
                mapping[switch] = touches(
                    compiled(values[-3:], upto="execution_order", target=target)
                )
    for name, wanted in mapping["0"].items():
        places = {item: index for index, item in enumerate(mapping["1"][name])}
        for index, item in enumerate(wanted):
            for other in wanted[index + 1 :]:
                assert places[item] < places[other] or not (item[1] or other[1])
