"""Random graphs over three servers of two devices each: as in one process, and none blocks.

The servers are in this process; in the exhaustive test each is in a separate process.
"""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from random import Random
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import gpugraph as tf

from .local_cluster import local_cluster, server_processes

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

WATCH_S = 60
PLACES = [f"/job:{task}/cpu:{index}" for task in ("a/task:0", "a/task:1", "b") for index in (0, 1)]
SIZE = 3


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with local_cluster(tf.ConfigProto(device_count={"CPU": 2}), a=2, b=1) as servers:
        yield servers["a", 0].target


class Building:
    """Adds random operations to the default graph, on random devices or on none."""

    def __init__(self, random: Random, places: list[str]) -> None:
        self.random, self.places = random, places
        self.steps: list[tf.Operation] = []

    def place(self) -> Any:
        """Return a device, and the same random numbers are drawn where there are no places."""
        index = self.random.randrange(len(PLACES) + 1)
        return tf.device(self.places[index] if self.places and index < len(PLACES) else None)

    def build(self, inputs: list[tf.Tensor], variables: list[tf.Variable]) -> list[tf.Tensor]:
        """Return tensors of SIZE elements, each of some before, and the token orders reads and
        writes.
        """
        tensors, token = list(inputs), tf.no_op()
        for _ in range(self.random.randint(4, 24)):
            kind = self.random.choice(("mix", "mix", "mix", "read", "write", "cond", "loop"))
            with self.place():
                x, y = self.random.choice(tensors), self.random.choice(tensors)
                variable = self.random.choice(variables)
                if kind == "mix":
                    waits = self.random.sample(self.steps, min(len(self.steps), 2))
                    with tf.control_dependencies(waits):
                        z = tf.tanh(x) + 0.5 * y
                elif kind == "read":
                    with tf.control_dependencies([token]):
                        z = self.random.choice((variable.read_value, lambda v=variable: v + 0.0))()
                    token = z.op
                elif kind == "write":
                    with tf.control_dependencies([token]):
                        z = tf.assign_add(variable, x) * 1.0
                    token = z.op
                elif kind == "cond":
                    z = tf.cond(x[0] > y[1], lambda x=x, y=y: x - y, lambda y=y: y * 2.0)
                else:
                    z = tf.while_loop(lambda n, _: n < 3, lambda n, v: (n + 1, tf.sin(v)), (0, x))[
                        1
                    ]
            tensors.append(z)
            self.steps.append(z.op)
        return tensors[len(inputs) :]


def run_all(seed: int, target: str) -> list[Any]:
    """Return the fetched values of two runs of a program, and the variables after them."""
    random = Random(seed)
    values = np.random.RandomState(seed).uniform(-2, 2, (4, SIZE))
    if target:
        tf.Session.reset(target)  # variables outlive their sessions
    with tf.Graph().as_default() as graph:
        building = Building(random, PLACES if target else [])
        variables = []
        for number, value in enumerate(values[:2]):
            with building.place():
                use_resource = random.random() < 0.5
                variables.append(
                    tf.get_variable(f"v{number}", initializer=value, use_resource=use_resource)
                )
        inputs = [tf.placeholder(tf.float64, [SIZE]) for _ in range(2)]
        tensors = building.build(inputs, variables)
        fetches = random.sample(tensors, min(len(tensors), 4))
        with tf.Session(target, graph=graph) as session:
            session.run(tf.global_variables_initializer())
            feeds = dict(zip(inputs, values[2:]))
            runs = [session.run([fetches, building.steps], feeds)[0] for _ in range(2)]
            return [*runs[0], *runs[1], *session.run(variables)]


def check(seed: int, target: str) -> None:
    faulthandler.dump_traceback_later(WATCH_S, exit=True)
    try:
        for got, want in zip(run_all(seed, target), run_all(seed, ""), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    finally:
        faulthandler.cancel_dump_traceback_later()


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_a_cluster_computes_what_one_process_computes(target: str, seed: int) -> None:
    check(seed, target)


@pytest.fixture(scope="module")
def target_of_processes() -> Iterator[str]:
    with server_processes(2, a=2, b=1) as spec:
        yield f"grpc://{spec['a'][0]}"


@pytest.mark.exhaustive
@given(st.integers(0, 10**9))
@settings(max_examples=2000, deadline=None)
def test_two_thousand_programs_over_three_processes(target_of_processes: str, seed: int) -> None:
    check(seed, target_of_processes)
