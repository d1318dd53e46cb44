"""Ctrl-C during training: variables, their slots and the step's number agree afterwards."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, random, signal, sys, threading, time
import numpy as np
import gpugraph as tf

count, size = int(sys.argv[1]), int(sys.argv[2])
variable = tf.get_variable("v", [size], initializer=tf.zeros_initializer)
step = tf.train.get_or_create_global_step()
optimizer = tf.train.AdamOptimizer(0.1)
train = optimizer.minimize(tf.reduce_sum(variable * tf.ones([size])), step)
slots = [optimizer.get_slot(variable, name) for name in optimizer.get_slot_names()]
values = [tf.stack([tf.reduce_min(x), tf.reduce_max(x)]) for x in (variable, *slots)]
powers = [x for x in optimizer.variables() if x.shape.ndims == 0]
fetches = [step, *values, *powers]

armed = threading.Event()
chance = random.Random(1)

def interrupt():
    while True:
        armed.wait()
        time.sleep(chance.random() * limit)
        armed.clear()
        os.kill(os.getpid(), signal.SIGINT)

def state_after():
    number, *rest = session.run(fetches)
    for low, high in rest[:3]:
        assert low == high, (number, low, high)
    value = tuple(float(x[0]) for x in rest[:3]) + tuple(map(float, rest[3:]))
    assert expected.setdefault(int(number), value) == value, (number, value, expected[number])

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    expected, number = {}, 0
    for _ in range(12):
        session.run(train)
    began = time.perf_counter()
    session.run(train)
    limit = 3 * (time.perf_counter() - began)
    session.run(tf.global_variables_initializer())
    threading.Thread(target=interrupt, daemon=True).start()
    seen = 0
    while seen < count:
        if session.run(step) > 30:
            session.run(tf.global_variables_initializer())
        try:
            armed.set()
            while True:
                session.run(train)
        except KeyboardInterrupt:
            seen += 1
        state_after()
    # the numbers of all steps, uninterrupted
    session.run(tf.global_variables_initializer())
    for _ in range(max(expected) + 1):
        state_after()
        session.run(train)
print("agree", seen)
"""


@pytest.mark.parametrize("native", ["0", "wait"])
@pytest.mark.parametrize(
    "count, size", [(30, 100_000), pytest.param(500, 1_000_000, marks=pytest.mark.exhaustive)]
)
def test_interrupted_training(native: str, count: int, size: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(count), str(size)],
        env={**os.environ, "GPUGRAPH_NATIVE": native},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert ended.stdout == f"agree {count}\n", ended.stderr[-2000:]


LOOP = """
import os, signal, threading
import gpugraph as tf

loop = tf.while_loop(lambda x: x > 0, lambda x: x + 1, [tf.constant(1.0)])
with tf.Session() as session:
    for _ in range(3):
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            session.run(loop)
        except KeyboardInterrupt:
            print("interrupted")
    def wait():
        threading.Event().wait(60)
        return 1.0
    for count in (1, 2):
        waiting = [tf.py_func(wait, [], tf.float32) for _ in range(count)]
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            session.run(waiting)
        except KeyboardInterrupt:
            print("interrupted")
    print(session.run(tf.constant(2)))
"""


@pytest.mark.parametrize("native", ["0", "wait"])
def test_loops_and_functions_of_the_user_are_interrupted(native: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOOP],
        env={**os.environ, "GPUGRAPH_NATIVE": native},
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert ended.stdout == "interrupted\n" * 5 + "2\n", ended.stderr[-2000:]
