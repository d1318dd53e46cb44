"""Switches: TensorFlow's settings switch each rewrite on or off."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.config import RewriterConfig

from ..stages import compiled, make_target, types

OFF, ON, DEFAULT = RewriterConfig.OFF, RewriterConfig.ON, RewriterConfig.DEFAULT
L0 = tf.OptimizerOptions.L0


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def with_options(options=None, **rewrites):
    graph_options = tf.GraphOptions(optimizer_options=options, rewrite_options=rewrites)
    return tf.ConfigProto(graph_options=graph_options)


def left(config):
    """Return the ops left of a fold, a product of a transpose, a double negation and a pair of
    twins.
    """
    x = tf.placeholder(tf.float32, [2, 2])
    folded = tf.constant([2.0]) / 3.0
    values = [
        folded,
        tf.matmul(tf.transpose(x, [1, 0]), x),
        tf.negative(-x),
        tf.tanh(x),
        tf.tanh(x),
    ]
    unit = compiled(
        values,
        {x: (2, 2)},
        "common_subexpression_elimination",
        make_target()._replace(config=config),
    )
    op_types = types(unit)
    return {
        "folding": "RealDiv" not in op_types,
        "arithmetic": "Transpose" not in op_types and "Neg" not in op_types,
        "common": op_types.count("Tanh") == 1,
    }


ALL = {"folding": True, "arithmetic": True, "common": True}
NONE = dict.fromkeys(ALL, False)
CASES = {
    "the default": (with_options(), ALL),
    "L0": (with_options({"opt_level": L0}), NONE),
    "L0 but for folding": (
        with_options({"opt_level": L0, "do_constant_folding": True}),
        {**NONE, "folding": True},
    ),
    "L0 but for twins": (
        with_options({"opt_level": L0, "do_common_subexpression_elimination": True}),
        {**NONE, "common": True},
    ),
    "L0 and one ON": (
        with_options({"opt_level": L0}, arithmetic_optimization=ON),
        {**NONE, "arithmetic": True},
    ),
    "aggressive": (
        with_options({"opt_level": L0}, arithmetic_optimization=RewriterConfig.AGGRESSIVE),
        {**NONE, "arithmetic": True},
    ),
    "folding OFF": (with_options(constant_folding=OFF), {**ALL, "folding": False}),
    "arithmetic OFF": (with_options(arithmetic_optimization=OFF), {**ALL, "arithmetic": False}),
    "twins OFF": (with_options(common_subgraph_elimination=OFF), {**ALL, "common": False}),
    "OFF by name": (with_options(common_subgraph_elimination="OFF"), {**ALL, "common": False}),
    "no rewrites": (with_options(disable_meta_optimizer=True, constant_folding=ON), NONE),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_rewritten(case):
    config, expected = CASES[case]
    assert left(config) == expected


def test_explain_says_what_switched_a_pass_off():
    x = tf.placeholder(tf.float32, [2])
    for config, why in (
        (with_options(constant_folding=OFF), "switched off: constant_folding is OFF"),
        (with_options({"opt_level": L0}), "switched off: opt_level is L0"),
        (with_options(disable_meta_optimizer=True), "switched off: disable_meta_optimizer"),
    ):
        with tf.Session(config=config) as session:
            reports = session.explain(tf.tanh(x), {x: [1.0, 2.0]}).reports
        assert why in {report.name: report.summary for report in reports}["constant_folding"]


def test_the_largest_constant_that_folding_makes_can_be_set():
    y = tf.fill([100], 2.0)
    for most, expected in ((399, "Fill"), (400, "Const"), (0, "Const")):
        config = with_options({"max_folded_constant_in_bytes": most})
        unit = compiled([y], upto="constant_folding", target=make_target()._replace(config=config))
        assert expected in types(unit)


def test_shapes_are_known_without_folding():
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reshape(x, tf.concat([[tf.shape(x)[0] * 3], [1]], 0))
    config = with_options(disable_meta_optimizer=True)
    target = make_target()._replace(config=config)
    unit = compiled([y], {x: (4, 3)}, "memory_planning", target)
    assert unit.homes[unit.graph.find(y.op.name).id, 0].shape == (12, 1)
    with tf.Session(config=config) as session:
        assert session.run(y, {x: np.ones((4, 3))}).shape == (12, 1)
