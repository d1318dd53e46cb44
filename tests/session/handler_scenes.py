"""A program whose signal handlers raise in the midst of its work, again and again.

    python handler_scenes.py SCENE SIGNAL KIND COUNT [before]

Prints how many exceptions were delivered, how many came as another one than was raised, and how
many left a state that no whole number of steps leaves. `before`: handlers are set before gpugraph
is imported, by a function that was imported from `signal`.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from signal import signal as set_handler
from typing import Any

SCENE, SIGNAL, KIND, COUNT = *sys.argv[1:4], int(sys.argv[4])
NUMBER = getattr(signal, SIGNAL)
SIZE = 30_000


class StopError(Exception):
    """A class of the program's own."""


RAISED: list[BaseException] = []
CALLS: list[int] = []
QUIET = ("quiet", "runs")  # handlers that do not raise


def handle(number: int, frame: Any) -> None:
    CALLS.append(number)
    if KIND.startswith("runs"):
        scene.check()
    if KIND not in QUIET:
        make = {"SystemExit": SystemExit, "KeyboardInterrupt": KeyboardInterrupt}.get(KIND)
        make = make or {"TimeoutError": TimeoutError}.get(KIND, StopError)
        RAISED.append(make(len(RAISED)))
        raise RAISED[-1]


if sys.argv[5:] == ["before"]:
    set_handler(NUMBER, handle)

import numpy as np  # noqa: E402

import gpugraph as tf  # noqa: E402


class Training:
    """Steps of Adam, after each of which each slot has one value, which follows from the step."""

    def __init__(self) -> None:
        self.variable = tf.get_variable("v", [SIZE], initializer=tf.zeros_initializer)
        self.global_step = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdamOptimizer(0.1)
        loss = tf.reduce_sum(self.variable * self.factor())
        self.train = optimizer.minimize(loss, self.global_step)
        slots = [optimizer.get_slot(self.variable, name) for name in ("m", "v")]
        whole = [tf.stack([tf.reduce_min(x), tf.reduce_max(x)]) for x in (self.variable, *slots)]
        powers = [x for x in optimizer.variables() if x.shape.ndims == 0]
        self.fetches = [self.global_step, *whole, *powers]
        self.restart = tf.global_variables_initializer()
        self.torn = 0
        self.expected: dict[int, Any] = {}
        self.open()
        self.run(self.restart)

    def factor(self) -> Any:
        """Return the factor of the loss."""
        return tf.ones([SIZE])

    def open(self) -> None:
        """Open the session."""
        self.session = tf.Session()
        self.run = self.session.run

    def step(self) -> None:
        """One step."""
        self.run(self.train)

    def begin(self) -> None:
        """Once more from the start, so that numbers come again."""
        if self.run(self.global_step) > 20:
            self.run(self.restart)

    def check(self) -> None:
        """Count a state that is torn."""
        self.compare(self.run(self.fetches))

    def compare(self, state: Any) -> None:
        number, *rest = state
        value = [np.asarray(x).tolist() for x in rest]
        is_whole = all(low == high for low, high in value[:3])
        self.torn += not (is_whole and self.expected.setdefault(int(number), value) == value)

    def finish(self) -> None:
        """Compare with the numbers of steps that nothing interrupts."""
        self.run(self.restart)
        for _ in range(max(self.expected, default=0) + 1):
            self.check()
            self.run(self.train)


class Monitored(Training):
    """In a MonitoredTrainingSession with hooks, which saves checkpoints."""

    def open(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.session = tf.train.MonitoredTrainingSession(
            checkpoint_dir=self.folder, save_checkpoint_steps=10, log_step_count_steps=7
        )
        self.run = self.session._tf_session.run

    def step(self) -> None:
        self.session.run(self.train)


class Saving(Training):
    """Saves a checkpoint after each step; the last one that there is is restored."""

    def open(self) -> None:
        super().open()
        self.prefix = os.path.join(tempfile.mkdtemp(), "model")
        self.saver = tf.train.Saver(max_to_keep=2)
        self.other = tf.Session()

    def step(self) -> None:
        super().step()
        self.saver.save(self.session, self.prefix, self.global_step)

    def check(self) -> None:
        super().check()
        latest = tf.train.latest_checkpoint(os.path.dirname(self.prefix))
        if latest is not None:
            self.saver.restore(self.other, latest)
            self.compare(self.other.run(self.fetches))
        for name in os.listdir(os.path.dirname(self.prefix)):
            self.torn += ".tempstate" in name


class Function(Training):
    """With a function of the user's in the step, before its updates."""

    def factor(self) -> Any:
        def one() -> Any:
            for _ in range(20):
                time.sleep(0.0001)
            return np.float32(1)

        return tf.ones([SIZE]) * tf.py_func(one, [], tf.float32)


class Loop(Training):
    """With a loop in the step, before its updates."""

    def factor(self) -> Any:
        more = tf.while_loop(lambda i, _: i < 3000, lambda i, x: (i + 1, x + 0.5), [0, 0.0])[1]
        return tf.ones([SIZE]) * (more / 1500)


class Waiting(Training):
    """A step that waits for a queue, in which another thread puts an element now and then."""

    def factor(self) -> Any:
        self.queue = tf.FIFOQueue(5, tf.float32, [])
        self.put = self.queue.enqueue(1.0)
        return tf.ones([SIZE]) * self.queue.dequeue()

    def open(self) -> None:
        super().open()
        threading.Thread(target=self.feed, daemon=True).start()

    def feed(self) -> None:
        while True:
            self.run(self.put)
            time.sleep(0.002)


class Fit:
    """`fit` of a Keras model, whose state follows from the number of its optimizer's steps."""

    def __init__(self) -> None:
        init = tf.keras.initializers.Constant(0.01)
        layers = [
            tf.keras.layers.Dense(64, kernel_initializer=init, input_shape=(8,)) for _ in "12"
        ]
        self.model = tf.keras.Sequential(
            [*layers, tf.keras.layers.Dense(1, kernel_initializer=init)]
        )
        self.model.compile(tf.keras.optimizers.Adam(0.01), "mse")
        self.x, self.y = np.ones((64, 8), np.float32), np.ones((64, 1), np.float32)
        self.torn, self.expected = 0, {}
        self.step()
        self.begin(always=True)

    def values(self) -> list[Any]:
        """Return all that training changes, the number of steps first."""
        return tf.keras.backend.batch_get_value(self.model.optimizer.weights + self.model.weights)

    def begin(self, always: bool = False) -> None:
        if always:
            self.first = self.values()
        if always or self.values()[0] > 60:
            for variable, value in zip(
                self.model.optimizer.weights + self.model.weights, self.first
            ):
                tf.keras.backend.set_value(variable, value)

    def step(self) -> None:
        self.model.fit(self.x, self.y, batch_size=8, epochs=2, verbose=0, shuffle=False)

    def check(self) -> None:
        number, *rest = self.values()
        value = b"".join(np.asarray(x).tobytes() for x in rest)
        self.torn += self.expected.setdefault(int(number), value) != value

    def finish(self) -> None:
        self.begin(always=False)
        for variable, value in zip(self.model.optimizer.weights + self.model.weights, self.first):
            tf.keras.backend.set_value(variable, value)
        self.check()
        for _ in range(max(self.expected) - int(self.values()[0])):
            self.model.train_on_batch(self.x[:8], self.y[:8])
            self.check()


SCENES: dict[str, Callable[[], Any]] = {
    "steps": Training, "monitored": Monitored, "save": Saving, "function": Function, "loop": Loop,
    "queue": Waiting, "fit": Fit,
}  # fmt: skip

armed = threading.Event()
chance = random.Random(1)


def send() -> None:
    """Send a signal some time after each time that it is armed."""
    while True:
        armed.wait()
        time.sleep(chance.random() * limit)
        armed.clear()
        os.kill(os.getpid(), NUMBER)


def arm() -> None:
    if SIGNAL in ("SIGALRM", "SIGPROF"):
        timer = signal.ITIMER_REAL if SIGNAL == "SIGALRM" else signal.ITIMER_PROF
        signal.setitimer(timer, max(chance.random() * limit, 1e-6))
    else:
        armed.set()


def work(before: int) -> bool:
    """Work until a handler has run; whether it was called once, if it does not raise."""
    while len(RAISED) == before:
        scene.step()
        if KIND in QUIET and CALLS:
            return len(CALLS) == 1
    given_up = time.monotonic() + 20  # exceptions raised there are lost
    while time.monotonic() < given_up:
        scene.step()
    return False


def interrupted() -> bool:
    """Work until a handler raises; whether exactly this exception arrives."""
    before = len(RAISED)
    try:
        arm()
        return work(before)
    except BaseException as error:
        if len(RAISED) == before:  # no handler's
            raise
        return error is RAISED[-1]


if sys.argv[5:] != ["before"]:
    set_handler(NUMBER, handle)
scene = SCENES[SCENE]()
for _ in range(12):
    scene.step()
began = time.perf_counter()
scene.step()
limit = min(3 * (time.perf_counter() - began), 0.3)
threading.Thread(target=send, daemon=True).start()
changed = 0
for _ in range(COUNT):
    CALLS.clear()
    scene.begin()
    changed += not interrupted()
    scene.check()
scene.finish()
assert signal.getsignal(NUMBER) is handle
print(f"delivered {COUNT} changed {changed} torn {scene.torn}", flush=True)
os._exit(0)
