"""Placement of control flow ops: with their data, and loop counters on the host."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import raw_ops

from ..raw_loop import RawLoop
from ..stages import compiled, make_target, run, where


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def placed(fetches: list[Any], feeds: Any = None, soft: bool = False) -> Any:
    """A function from a node's name to the short name of its device, of two GPUs and a CPU."""
    unit = compiled(fetches, feeds, upto="placer", target=make_target(gpus=2, soft=soft))
    return lambda name: where(unit, name)


def test_a_branch_goes_to_its_data() -> None:
    x, p = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.bool, [])
    with tf.device("/gpu:1"):
        result = tf.tanh(x)
    sides = raw_ops.Switch(result, p, name="switch")
    with tf.device("/cpu:0"):
        other = tf.sin(sides.output_false, name="sin")
    merged = raw_ops.Merge([other, sides.output_true], name="merged")
    index = placed([merged.output], {x: (3,), p: ()})
    assert [index("switch"), index("sin"), index("merged")] == ["GPU:1", "CPU:0", "CPU:0"]


def test_what_counts_a_loop_stays_on_the_host() -> None:
    x = tf.placeholder(tf.float32, [3])
    with tf.device("/gpu:1"):
        start = tf.tanh(x)
    last = tf.while_loop(
        lambda i, _: i < 3, lambda i, x: (i + 1, tf.sin(x, name="sin")), [0, start]
    )
    index = placed(list(last), {x: (3,)})
    counting = ["while/Enter", "while/Merge", "while/Less", "while/LoopCond", "while/add"]
    counting += ["while/Switch", "while/NextIteration", "while/Exit"]
    assert {index(name) for name in counting} == {"CPU:0"}
    assert {index(f"while/{name}_1") for name in ("Enter", "Merge", "NextIteration")} <= {
        "GPU:0",
        "GPU:1",
    }


def test_a_variable_is_where_its_next_value_is_made() -> None:
    x = tf.placeholder(tf.float32, [3])

    def body(i: Any, x: Any) -> Any:
        with tf.device("/gpu:1"):
            return i + 1, tf.sin(x, name="sin")

    last = tf.while_loop(lambda i, _: i < 3, body, [0, x])
    index = placed(list(last), {x: (3,)})
    names = ("Enter_1", "Merge_1", "Switch_1", "sin", "NextIteration_1", "Exit_1")
    assert {index(f"while/{name}") for name in names} == {"GPU:1"}


def test_what_does_not_count_is_where_the_gpu_is() -> None:
    """Floats are no counters, and an op that only compares them is needed on the host."""
    last = tf.while_loop(lambda x: x < 3.0, lambda x: x * 2.0, [tf.placeholder(tf.float32, [])])
    index = placed([last], {last.graph.get_tensor_by_name("Placeholder:0"): ()})
    assert index("while/mul") == index("while/Merge") == "GPU:0"
    assert index("while/Less") == "CPU:0"


def test_what_the_user_asked_for_goes_first() -> None:
    def goes_on(i: Any) -> Any:
        with tf.device("/gpu:1"):
            return tf.less(i, 3, name="asked")

    last = tf.while_loop(goes_on, lambda i: i + 1, [0])
    assert placed([last])("while/asked") == "GPU:1"
    assert run([last], target=make_target(gpus=2)) == [3]


@pytest.mark.parametrize("places", [("gpu:0", "gpu:1"), ("cpu:0", "gpu:0"), ("gpu:1", "cpu:0")])
def test_wherever_the_parts_of_a_loop_are_it_is_the_same_loop(places: tuple[str, str]) -> None:
    one, other = places
    loop = RawLoop(4)
    with tf.device(one):
        first = loop.variable(tf.constant([1.0, 2.0]), step=lambda x: x * 2.0)
    with tf.device(other):
        second = loop.variable(
            tf.constant([1.0, 1.0]), lambda count: tf.less(count, loop.constant(2)), tf.square
        )
        third = loop.variable(tf.constant(3.0))
    loop.close()
    got = run([first, second, third, loop.left], target=make_target(gpus=2, soft=True))
    assert [item.tolist() for item in got] == [[16.0, 32.0], [1.0, 1.0], 48.0, 4]
