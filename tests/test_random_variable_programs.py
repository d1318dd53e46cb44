"""Random programs that read and write variables in branches and loops, against plain Python.

All reads and writes are in the order of the program: a token goes through it, which each of them
waits for and whose next value waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

import gpugraph as tf

STATE = 3
VARIABLES = 2
SIZE = 2
PLACES = ("/cpu:0", "/gpu:0", "/gpu:1", None)
Statement = tuple[Any, ...]
Body = list[Statement]


def drawn(random: Random, depth: int) -> Body:
    kinds = ["mix", "read", "read", "write", "write", *(["cond", "loop"] if depth else [])]
    body: Body = []
    for _ in range(random.randint(1, 3)):
        kind, place = random.choice(kinds), random.choice(PLACES)
        index, other = random.randrange(STATE), random.randrange(STATE)
        variable, way = random.randrange(VARIABLES), random.randrange(3)
        inner = [drawn(random, depth - 1) for _ in range(2)] if kind in ("cond", "loop") else []
        number = random.uniform(-1, 1) if kind == "cond" else random.randint(0, 3)
        body.append((kind, place, index, other, variable, way, number, *inner))
    return body


# -- by plain Python


def plain(body: Body, state: list[Any], variables: list[Any]) -> list[Any]:
    for kind, _, index, other, variable, way, number, *inner in body:
        state = list(state)
        if kind == "mix":
            state[index] = np.tanh(state[index]) + 0.5 * state[other]
        elif kind == "read":
            state[index] = variables[variable]
        elif kind == "write":
            base = variables[variable] if way else 0.0
            variables[variable] = base + state[index]
        elif kind == "cond":
            state = plain(inner[0] if state[index][0] > number else inner[1], state, variables)
        else:
            done = 0
            while done < number and state[index][1] < 3.0:
                state = plain(inner[0], state, variables)
                done += 1
    return state


# -- by the graph


class Building:
    """Adds a program to the graph. A state is followed by the token."""

    def __init__(self, variables: list[tf.Variable], placed: bool) -> None:
        self.variables = variables
        self.placed = placed

    def body(self, body: Body, state: list[Any]) -> list[Any]:
        for statement in body:
            kind, place, *given = statement
            with tf.device(place if self.placed else None):
                state = getattr(self, kind)(list(state), *given)
        return state

    def branch(self, body: Body, state: list[Any]) -> Callable[[], list[Any]]:
        return lambda: [tf.identity(each) for each in self.body(body, state)]

    def mix(self, state: list[Any], index: int, other: int, *_: Any) -> list[Any]:
        state[index] = tf.tanh(state[index]) + 0.5 * state[other]
        return state

    def read(
        self, state: list[Any], index: int, _: int, variable: int, way: int, *rest: Any
    ) -> list[Any]:
        held = self.variables[variable]
        reads = (lambda: tf.identity(held), held.read_value, lambda: held + 0.0)
        with tf.control_dependencies([state[-1]]):
            state[index] = reads[way]()
        return after(state, state[index])

    def write(
        self, state: list[Any], index: int, _: int, variable: int, way: int, *rest: Any
    ) -> list[Any]:
        with tf.control_dependencies([state[-1]]):
            write = tf.assign_add if way else tf.assign
            written = write(self.variables[variable], state[index])
        return after(state, written.op)

    def cond(self, state: list[Any], index: int, *rest: Any) -> list[Any]:
        number, one, other = rest[-3:]
        pred = state[index][0] > number
        return list(tf.cond(pred, self.branch(one, state), self.branch(other, state)))

    def loop(self, state: list[Any], index: int, *rest: Any) -> list[Any]:
        number, body, _ = rest[-3:]
        return list(
            tf.while_loop(
                lambda done, *state: tf.logical_and(done < number, state[index][1] < 3.0),
                lambda done, *state: [done + 1, *self.body(body, list(state))],
                [tf.constant(0), *state],
            )[1:]
        )


def after(state: list[Any], op: Any) -> list[Any]:
    """Return the state, whose token waits for `op`."""
    with tf.control_dependencies([op]):
        return [*state[:-1], tf.identity(state[-1])]


@given(st.integers(0, 10**6), st.sampled_from([0, 2]))
@settings(max_examples=60, deadline=None)
def test_variables_are_those_of_plain_python(seed: int, gpus: int) -> None:
    random = Random(seed)
    body = drawn(random, 2)
    values = np.random.RandomState(seed).uniform(-2, 2, (STATE + VARIABLES, SIZE))
    state, held = list(values[:STATE]), list(values[STATE:])
    config = tf.ConfigProto(
        gpu_options=tf.GPUOptions(virtual_gpus=gpus), allow_soft_placement=random.random() < 0.5
    )
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        variables = []
        for value in held:
            with tf.device(random.choice(PLACES) if gpus else None):
                variables.append(tf.Variable(value))
        inputs = [tf.placeholder(tf.float64, [SIZE]) for _ in range(STATE)]
        last = Building(variables, gpus > 0).body(body, [*inputs, tf.constant(0.0)])
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            want = plain(body, state, held)
            got = session.run(last, dict(zip(inputs, state)))[:-1]
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(session.run(variables), held, rtol=1e-9, atol=1e-12)
            state = [each * 0.7 - 0.1 for each in state]
