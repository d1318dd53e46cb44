"""The model of a step's time: the cost of recomputation, as the explanation reports it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.config import RewriterConfig
from gpugraph.session.runner_plans import EXACT_PLANS

RECOMPUTE = RewriterConfig.RECOMPUTATION_HEURISTICS


def explained(**fields: Any) -> str:
    """Return the pass's report about a training step of some layers."""
    with tf.Graph().as_default():
        x = y = tf.placeholder(tf.float32, [512, 64])
        for _ in range(4):
            wide = tf.layers.dense(y, 256)
            y = y + tf.layers.dense(wide * tf.sigmoid(wide), 64)
        loss = tf.reduce_mean(tf.square(y))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        options = tf.GraphOptions(rewrite_options=RewriterConfig(**fields))
        with tf.Session(config=tf.ConfigProto(graph_options=options)) as session:
            plan = session.explain([loss, train], {x: np.zeros((512, 64))})
            return plan.of_pass("activation_recomputation")


def percent(text: str) -> int:
    """Return the time in percent that the first line reports."""
    match = re.search(r"about (\d+) % more time, by a model", text.splitlines()[0])
    assert match is not None, text
    return int(match[1])


def test_without_recomputation_there_is_no_word_of_time() -> None:
    assert "time" not in explained()


def test_products_cost_more_than_what_is_cheap() -> None:
    cheap = percent(explained(memory_optimization=RECOMPUTE))
    text = explained(memory_optimization=RECOMPUTE, recomputation_limit_mb=1)
    assert 0 <= cheap < percent(text) < 40  # no more than the forward pass, a third of the work
    *_, nothing, some, most, none_fits = text.splitlines()
    assert nothing.strip().startswith("nothing: arenas of ") and "time" not in nothing
    assert some.strip().startswith("cheap ones: arenas of ")
    assert f"about {percent(text)} % more time" in most
    assert "none fits recomputation_limit_mb = 1: the smallest is used" in none_fits


@pytest.mark.parametrize(("limit", "degrees"), [(1000, 1), (6, 2)])
def test_no_more_degrees_are_tried_than_the_limit_needs(limit: int, degrees: int) -> None:
    text = explained(memory_optimization=RECOMPUTE, recomputation_limit_mb=limit)
    assert sum(": arenas of " in line for line in text.splitlines()) == degrees
    assert "none fits" not in text


def test_a_limit_on_open_sizes_says_what_it_does_not_count(without_units: None) -> None:
    x = tf.placeholder(tf.float32, [None])
    total = tf.reduce_sum(tf.exp(x))
    fields = {"memory_optimization": RECOMPUTE, "recomputation_limit_mb": 1}
    options = tf.GraphOptions(rewrite_options=RewriterConfig(**fields))
    with tf.Session(config=tf.ConfigProto(graph_options=options)) as session:
        said = []
        for size in range(1, EXACT_PLANS + 2):
            session.run(total, {x: np.zeros(size)})
            said.append(
                session.explain(total, {x: np.zeros(size)}).of_pass("activation_recomputation")
            )
    assert "left open" not in said[0]
    assert said[-1].endswith("left open: the limit excludes tensors sized in the run")
