"""Recomputation: less memory, the same losses to the bit, and only of ops that may run again."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.config import RewriterConfig

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))
networks = importlib.import_module("memory_networks")

RECOMPUTE = RewriterConfig.RECOMPUTATION_HEURISTICS
MODES: dict[str, dict[str, Any]] = {
    "none": {},
    "cheap": {"memory_optimization": RECOMPUTE},
    "all": {"memory_optimization": RECOMPUTE, "recomputation_limit_mb": 1},
}


def session_with(**fields: Any) -> tf.Session:
    rewrites = RewriterConfig(**fields)
    return tf.Session(
        config=tf.ConfigProto(graph_options=tf.GraphOptions(rewrite_options=rewrites))
    )


def trained(network: Any, **fields: Any) -> tuple[list[str], int, str]:
    """Return the losses of some steps as hex, the bytes of the arena, and the pass's report."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        fetches, batch = networks.training(tf, network)
        with session_with(**fields) as session:
            session.run(tf.global_variables_initializer())
            feeds = dict(zip(batch, network.arrays()))
            explanation = session.explain(fetches, feeds)
            losses = [float(session.run(fetches, feeds)[0]).hex() for _ in range(3)]
            (size,) = explanation.arena_bytes.values()
            return losses, size, explanation.of_pass("activation_recomputation")


def chain(ops: Any, x: Any, target: Any) -> Any:
    """Layers whose activations are cheap, with a residual around each."""
    for _ in range(6):
        wide = networks.dense(ops, x, 256)
        x = x + networks.dense(ops, wide * ops.sigmoid(1.7 * wide), 32)
    return ops.mean((x - target) * (x - target))


SMALL = networks.Network(chain, (((512, 32), "float32"), ((512, 32), "float32")))


@pytest.mark.exhaustive  # the chain below is the same in small
def test_a_transformer_trains_in_half_of_its_memory_with_the_same_losses() -> None:
    """The memory of benchmarks/memory.py; its time is in docs/memory.md."""
    network = networks.NETWORKS["transformer"]
    losses, whole, said = trained(network)
    assert "not requested" in said
    cheap_losses, cheap, _ = trained(network, memory_optimization=RECOMPUTE)
    limit = whole // (2 << 20)
    all_losses, least, said = trained(
        network, memory_optimization=RECOMPUTE, recomputation_limit_mb=limit
    )
    assert losses == cheap_losses == all_losses
    assert least <= limit << 20 < cheap < 0.7 * whole
    assert "are computed again: all between checkpoints" in said
    assert re.search(r"MatMul \w+/recomputed", said)


@pytest.mark.parametrize("name", ["digits, convolutions", "RNN, while_loop"])
def test_losses_stay_and_memory_does_not_grow(name: str) -> None:
    results = [trained(networks.NETWORKS[name], **fields) for fields in MODES.values()]
    losses, sizes = [row[0] for row in results], [row[1] for row in results]
    assert losses[0] == losses[1] == losses[2]
    assert sizes[1] <= 1.03 * sizes[0] and sizes[2] <= 1.03 * sizes[0]


def test_no_more_is_computed_again_than_a_limit_asks_for() -> None:
    sizes = {mode: trained(SMALL, **fields)[1] for mode, fields in MODES.items()}
    assert sizes["all"] < sizes["cheap"] < sizes["none"]
    _, size, said = trained(SMALL, memory_optimization=RECOMPUTE, recomputation_limit_mb=64)
    assert size == sizes["none"] and "not requested" in said


@pytest.mark.parametrize("fields", MODES.values(), ids=MODES)
def test_random_numbers_are_drawn_once(fields: dict[str, Any]) -> None:
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        x = tf.placeholder(tf.float32, [64, 64])
        weights = tf.Variable(tf.ones([64, 64]) / 64)
        y = x
        masks = []
        for _ in range(3):
            noise = tf.random_uniform([64, 64])
            masks.append(noise)
            y = tf.sigmoid(tf.matmul(y * noise, weights))
        gradient = tf.gradients(tf.reduce_sum(y), x)[0]
        with session_with(**fields) as session:
            session.run(tf.global_variables_initializer())
            values = np.full((64, 64), 0.5, np.float32)
            slope, drawn = session.run([gradient, masks], {x: values})
            again = session.run(gradient, {x: values, **dict(zip(masks, drawn))})
    np.testing.assert_allclose(slope, again, rtol=1e-6)


def test_variables_that_are_updated_meanwhile_are_read_as_they_were() -> None:
    """Each weight is assigned as soon as its gradient is available; copies read the old value."""
    values = {}
    for mode, fields in MODES.items():
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            scale = tf.Variable(tf.fill([64], 1.5))
            x = tf.placeholder(tf.float32, [128, 64])
            y = x
            for _ in range(5):
                y = tf.tanh(tf.tanh(y * scale) * scale + tf.sin(y))
            loss = tf.reduce_sum(y)
            train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
            with session_with(**fields) as session:
                session.run(tf.global_variables_initializer())
                feeds = {x: np.random.RandomState(0).normal(size=(128, 64))}
                for _ in range(3):
                    session.run([loss, train], feeds)
                values[mode] = session.run(scale)
    np.testing.assert_allclose(values["cheap"], values["none"], rtol=1e-5)
    np.testing.assert_allclose(values["all"], values["none"], rtol=1e-5)


def test_a_scope_that_is_no_gradients_scope_and_a_graph_without_gradients() -> None:
    fields = {**MODES["cheap"], "memory_optimizer_target_node_name_scope": "elsewhere/"}
    _, size, said = trained(SMALL, **fields)
    assert "0 ops" in said and size == trained(SMALL)[1]
    with tf.Graph().as_default(), session_with(**MODES["all"]) as session:
        x = tf.placeholder(tf.float32, [64, 64])
        assert session.run(tf.reduce_sum(tf.tanh(x)), {x: np.zeros((64, 64))}) == 0
