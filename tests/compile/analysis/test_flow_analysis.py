"""Flow: under which condition each op is alive, and when loops go on."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.compile.analysis.flow_analysis import in_words
from gpugraph.ops.framework.op_declaration import raw_ops

from ..raw_loop import RawLoop
from ..stages import compiled, make_target, node


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def pred(name: str = "p") -> tf.Tensor:
    return tf.placeholder(tf.bool, [], name=name)


def told(fetches: list[Any], *preds: tf.Tensor, gpus: int = 0) -> Any:
    """Return a function from a node's name to the condition under which it is alive, in words."""
    feeds = dict.fromkeys(preds, ())
    unit = compiled(fetches, feeds, upto="flow_analysis", target=make_target(gpus=gpus))
    flow = unit.flow
    assert flow is not None

    def condition(name: str) -> str:
        guard = flow.guards[node(unit, name).id]
        return in_words(unit, guard) if guard else ""

    return condition


def test_without_branches_and_loops_there_is_no_flow():
    assert compiled([tf.placeholder_with_default(1.0, []) + 1.0], upto="flow_analysis").flow is None


def test_what_a_branch_takes_is_alive_with_it():
    p, x = pred(), tf.placeholder_with_default(1.0, [])
    no, yes = raw_ops.Switch(x, p)
    one, other = tf.sin(no, name="one"), tf.cos(yes, name="other")
    both = tf.add(one, other, name="both")
    merged = raw_ops.Merge([one, other], name="merged")
    after = tf.exp(merged.output, name="after")
    condition = told([both.op, after], p)
    assert condition("one") == "if '_arg_p_0_0' is false"
    assert condition("other") == "if '_arg_p_0_0' is true"
    assert condition("merged") == condition("after") == ""
    assert condition("both") == "if '_arg_p_0_0' is false and '_arg_p_0_0' is true"


def test_a_branch_in_a_branch():
    p, q, x = pred("p"), pred("q"), tf.placeholder_with_default(1.0, [])
    inner, outer = raw_ops.Switch(q, p).output_true, raw_ops.Switch(x, p).output_true
    no, yes = raw_ops.Switch(outer, inner)
    merged = raw_ops.Merge([tf.sin(no, name="no"), yes], name="merged")
    condition = told([merged.output.op], p, q)
    assert condition("no") == "if '_arg_p_0_0' is true and '_arg_q_0_1' is false"
    assert condition("merged") == "if '_arg_p_0_0' is true"


def test_the_predicate_is_found_behind_what_passes_it_on():
    """Both Switches follow the one predicate, so that merging their sides gives a value that is
    always alive.
    """
    p, x = pred(), tf.placeholder_with_default(1.0, [])
    one = raw_ops.Switch(x, tf.identity(p)).output_true
    other = raw_ops.Switch(x, tf.identity(tf.identity(p))).output_false
    merged = raw_ops.Merge([one, other], name="merged")
    assert told([merged.output], p)("merged") == ""


def test_a_predicate_on_another_device_is_the_same_predicate():
    p, x = pred(), tf.placeholder_with_default(1.0, [])
    with tf.device("/gpu:0"):
        asked = tf.logical_not(p)
        one = raw_ops.Switch(x, asked).output_true
    with tf.device("/gpu:1"):
        other = raw_ops.Switch(x, asked).output_false
    merged = raw_ops.Merge([one, other], name="merged")
    assert told([merged.output], p, gpus=2)("merged") == ""


def test_a_merge_of_what_has_nothing_in_common_finds_out_by_itself():
    p, q, x = pred("p"), pred("q"), tf.placeholder_with_default(1.0, [])
    merged = raw_ops.Merge(
        [raw_ops.Switch(x, p).output_true, raw_ops.Switch(x, q).output_true], name="merged"
    )
    after = tf.exp(merged.output, name="after")
    condition = told([after.op], p, q)
    assert condition("merged") == condition("after") == "if 'merged' is alive"


def test_what_a_merge_s_inputs_share_it_shares():
    p, q, r = (pred(item) for item in "pqr")
    x = raw_ops.Switch(tf.placeholder_with_default(1.0, []), r).output_true
    merged = raw_ops.Merge(
        [raw_ops.Switch(x, p).output_true, raw_ops.Switch(x, q).output_true], name="merged"
    )
    assert told([merged.output.op], p, q, r)("merged") == (
        "if 'merged' is alive and '_arg_r_0_2' is true"
    )


def test_constant_predicates_are_known():
    x = tf.placeholder_with_default(1.0, [])
    no, yes = raw_ops.Switch(x, tf.constant(2) > 1)
    never, always = tf.sin(no, name="never"), tf.sin(yes, name="always")
    condition = told([never.op, always])
    assert condition("never") == "if never"
    assert condition("always") == ""


def test_deadness_goes_over_control_edges():
    p, x = pred(), tf.placeholder_with_default(1.0, [])
    side = tf.identity(raw_ops.Switch(x, p).output_true)
    with tf.control_dependencies([side]):
        waits, trigger = tf.sin(x, name="waits"), raw_ops.ControlTrigger(name="trigger")
        merged = raw_ops.Merge([x], name="merged")
    with tf.control_dependencies([trigger]):
        lives = tf.cos(x, name="lives")
    condition = told([waits.op, lives, merged.output], p)
    assert condition("waits") == "if '_arg_p_0_0' is true"
    assert condition("trigger") == condition("lives") == condition("merged") == ""


def loops_of(fetches: list[Any]) -> list[str]:
    unit = compiled(fetches, upto="flow_analysis")
    return [line for line in unit.reports[-1].lines if line.startswith("loop")]


def test_a_loop_whose_variables_go_on_together():
    x = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), [0, 1.0])
    (line,) = loops_of(list(x))
    assert line.startswith("loop while/while_context: ")
    assert line.endswith("2 loop variables")


def test_a_loop_whose_variables_end_on_their_own():
    loop = RawLoop(limit=5)
    other = loop.variable(tf.constant(1.0), lambda count: tf.less(count, loop.constant(2)))
    loop.close()
    assert loops_of([loop.left, other])[0].endswith("2 loop variables; each ends separately")


def test_loops_in_branches_and_their_gradients_go_on_by_one_condition():
    """So that their Exits are views, and their next values made where the last ones are."""
    p, x = pred(), tf.placeholder_with_default([1.0, 2.0], [2])

    def branch(x: Any) -> Any:
        def body(i: Any, x: Any, unused: Any) -> Any:
            inner = tf.while_loop(lambda j, _: j < 2, lambda j, y: (j + 1, tf.tanh(y)), [0, x])[1]
            return i + 1, tf.cond(i > 0, lambda: tf.sin(inner), lambda: x * inner), unused + x

        return tf.while_loop(lambda i, *_: i < 3, body, [0, x, x])[1]

    y = tf.cond(p, lambda: branch(x), lambda: branch(tf.cos(x)))
    unit = compiled([y, *tf.gradients(y, x)], {p: ()}, upto="flow_analysis")
    assert unit.flow is not None
    assert len(unit.flow.frames.loops()) == 8
    assert not unit.flow.carried
    assert not unit.flow.irregular
    assert not unit.flow.entered


def test_a_loop_that_is_never_gone_on_with():
    entered = raw_ops.Enter(tf.constant(1.0), frame_name="once", is_constant=True)
    unit = compiled([raw_ops.Exit(tf.exp(entered))], upto="flow_analysis")
    assert unit.flow is not None
    (loop,) = unit.flow.frames.loops()
    assert in_words(unit, unit.flow.go_on[loop]) == "if never"
    assert not unit.flow.irregular


def test_what_is_in_a_loop_can_not_be_fetched():
    """There is one tensor in each iteration."""
    loop = RawLoop()
    loop.close()
    with pytest.raises(InvalidArgumentError, match="cannot be fetched: it is inside the loop 'lo"):
        compiled([loop.count], upto="flow_analysis")
    compiled([loop.count.op, loop.left], upto="flow_analysis")
