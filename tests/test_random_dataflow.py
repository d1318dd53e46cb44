"""Random graphs of Switch, Merge and loop frames, against a direct interpreter.

The graphs of tf.cond and tf.while_loop are a small part of what these ops can express: here
branches are left unmerged and merged with others, dead ops are control inputs, loops have Exits and
variables that end at any time.
"""

from __future__ import annotations

from random import Random
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import gpugraph as tf

from .dataflow import Op, Program, TwiceError, TwoAliveError, ancestors, built, interpret
from .dataflow_programs import drawn

DEVICES = [None, None, "/cpu:0", "/gpu:0", "/gpu:1"]
UNFETCHED = ("arg", "trigger", "nothing")
OUTPUTS = {"switch": 2, "merge": 2}


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_branches_are_as_told(seed: int) -> None:
    check(seed, loops=0, size=12)


@given(st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_loops_are_as_told(seed: int) -> None:
    check(seed, loops=2, size=6)


def check(seed: int, loops: int, size: int) -> None:
    random = Random(seed)
    grows, gpus = random.random() < 0.5, 2 * (random.random() < 0.4)
    program = drawn(random, loops, size, grows, DEVICES if gpus else [None])
    outside = [op for op in program.ops if op.loop == 0 and op.kind not in UNFETCHED]
    outside += [op for op in program.ops if op.kind == "exit" and not program.around[op.loop]]
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=gpus))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        inputs = [tf.placeholder(tf.float64, None if grows else [2]) for _ in range(3)]
        made = built(program, inputs)
        chosen = random.sample(outside, random.randint(1, len(outside)))
        for values in np.random.RandomState(seed).uniform(-1, 1, (2, 3, 2)):
            compare(session, program, made, chosen, inputs, values)


def compare(
    session: Any, program: Program, made: Any, chosen: list[Op], inputs: Any, values: Any
) -> None:
    """Run twice, so that nothing of a run is left for the next."""
    feeds = dict(zip(inputs, values))
    try:
        want = interpret(program, values, ancestors(chosen))
    except TwiceError:
        return
    except TwoAliveError:
        with pytest.raises(tf.errors.InternalError, match="Merge can not have more than"):
            session.run([made[op][0].op for op in chosen], feeds)
        return
    outputs = [(op, slot) for op in chosen for slot in range(OUTPUTS.get(op.kind, 1))]
    alive = [each for each in outputs if each in want]
    dead = [each for each in outputs if each not in want]
    others = [made[op][slot].op for op, slot in dead]
    for _ in range(2):
        got, _ = session.run([[made[op][slot] for op, slot in alive], others], feeds)
        for value, (op, slot) in zip(got, alive):
            assert np.shape(value) == np.shape(want[op, slot])
            np.testing.assert_allclose(value, want[op, slot], rtol=1e-9, atol=1e-12)
    for op, slot in dead[:1]:  # also where it is run alone
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
            session.run(made[op][slot], feeds)
