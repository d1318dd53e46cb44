"""Branches and loops as messages, and those of graphs that were imported."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.building.control_flow import (
    cond_from_proto,
    cond_to_proto,
    while_from_proto,
    while_to_proto,
)


def flat(message: Any) -> str:
    return " ".join(str(message).split())


def test_a_branch_says_what_it_knows() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.cond(tf.equal(x, 1), lambda: x * 2, lambda: x)
    contexts = graph.get_collection(tf.GraphKeys.COND_CONTEXT)
    if_true, if_false = (cond_to_proto(context) for context in contexts)
    assert (if_true.context_name, if_false.context_name) == ("cond/cond_text", "cond/cond_text_1")
    assert (if_true.branch, if_false.branch) == (1, 0)
    assert (if_true.pred_name, if_true.pivot_name) == ("cond/pred_id:0", "cond/switch_t:0")
    known = "cond/mul/Switch:1 cond/mul/y:0 cond/mul:0 cond/pred_id:0 cond/switch_t:0 x:0"
    assert [*if_true.values_def.values] == known.split()
    assert dict(if_true.values_def.external_values) == {
        "x:0": "cond/mul/Switch:1",
        "cond/pred_id:0": "cond/pred_id:0",
    }
    assert cond_to_proto(contexts[0], "elsewhere") is None
    assert cond_to_proto(contexts[0], "cond").context_name == "cond_text"


def test_a_loop_says_where_it_begins_and_ends() -> None:
    with tf.Graph().as_default() as graph:
        tf.while_loop(
            lambda i: i < 3, lambda i: tf.cond(i > 1, lambda: i + 1, lambda: i + 2), [0],
            parallel_iterations=4, maximum_iterations=7,
        )  # fmt: skip
    (context,) = graph.get_collection(tf.GraphKeys.WHILE_CONTEXT)
    message = while_to_proto(context)
    assert (message.context_name, message.parallel_iterations) == ("while/while_context", 4)
    assert message.maximum_iterations_name == "while/maximum_iterations:0"
    assert message.pivot_name == "while/LoopCond:0"
    assert message.pivot_for_pred_name == "while/Merge:0"
    assert message.pivot_for_body_name == "while/Identity:0"
    assert [*message.loop_enter_names] == ["while/Enter:0", "while/Enter_1:0"]
    assert [*message.loop_exit_names] == ["while/Exit:0", "while/Exit_1:0"]
    assert [item.WhichOneof("ctxt") for item in message.nested_contexts] == ["cond_ctxt"] * 2
    assert while_to_proto(context, "elsewhere") is None


@pytest.mark.parametrize("scope", [None, "again"])
def test_imported_branches_and_loops_have_gradients(scope: str | None) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")

        def body(i: Any, v: Any) -> Any:
            v = tf.cond(tf.equal(i, 1), lambda: v * x, lambda: v + x)
            return i + 1, tf.while_loop(lambda a: a < v * 2, lambda a: a * x, [v])

        y = tf.while_loop(lambda i, v: i < 3, body, [0, x])[1]
        tf.cond(y > 3, lambda: tf.identity(y * x), lambda: y, name="last")
        result = graph.get_tensor_by_name("last/Merge:0")
        loops = [while_to_proto(c) for c in graph.get_collection(tf.GraphKeys.WHILE_CONTEXT)]
        conds = [cond_to_proto(c) for c in graph.get_collection(tf.GraphKeys.COND_CONTEXT)]
        only = graph.as_graph_def()
        expected = tf.Session().run([result, *tf.gradients(result, x)], {x: 1.5})
    with tf.Graph().as_default():
        x, y = tf.import_graph_def(only, return_elements=["x:0", "last/Merge:0"], name=scope or "")
        contexts = [while_from_proto(message, scope) for message in loops[:1]]
        contexts += [cond_from_proto(message, scope) for message in conds[:2]]
        write = (while_to_proto, cond_to_proto, cond_to_proto)
        for context, to_proto, message in zip(contexts, write, [*loops[:1], *conds[:2]]):
            assert to_proto(context, scope) == message
        assert tf.Session().run([y, *tf.gradients(y, x)], {x: 1.5}) == expected


def test_a_message_of_another_graph_is_refused() -> None:
    with tf.Graph().as_default() as graph:
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    message = while_to_proto(graph.get_collection(tf.GraphKeys.WHILE_CONTEXT)[0])
    with tf.Graph().as_default(), pytest.raises(KeyError, match="while/LoopCond"):
        while_from_proto(message)
