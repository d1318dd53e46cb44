"""Training over three processes, of which each may be killed: it ends with the right steps."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from . import training_program
from .local_cluster import free_ports
from .training_program import RATE, ROWS, STEPS, WEIGHTS, WORKERS, batches, loss_of

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

TASKS = ("ps 0", "worker 0", "worker 1")
WATCH_S = 300


class Process:
    """A process of the cluster, with the losses that it has printed, by step."""

    def __init__(self, arguments: list[str]) -> None:
        command = [sys.executable, "-m", training_program.__name__, *arguments]
        root = Path(__file__).resolve().parents[2]
        self.process = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self.losses: dict[int, float] = {}
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if line[0].isdigit() and line.endswith("\n"):  # else it was killed while it wrote
                number, _, loss = line.partition(" ")
                self.losses[int(number)] = float(
                    loss.strip().removeprefix("np.float32(").rstrip(")")
                )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.thread.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Training:
    """The three processes of one training."""

    def __init__(self, folder: Path, mode: str) -> None:
        ports = [f"localhost:{port}" for port in free_ports(3)]
        self.cluster = {"ps": ports[:1], "worker": ports[1:]}
        self.rest = [str(folder), mode]
        self.processes = {task: self.start(task) for task in TASKS[:2]}
        # A worker that starts before the variables have values looks again after 30 seconds.
        self.wait_for((folder / "checkpoint").exists)
        self.processes[TASKS[2]] = self.start(TASKS[2])

    def start(self, task: str) -> Process:
        return Process([json.dumps(self.cluster), *task.split(), *self.rest])

    def kill_and_restart(self, task: str) -> None:
        self.processes[task].kill()
        self.processes[task] = self.start(task)

    def wait_for(self, what: Any) -> None:
        """Waits until the function is true; AssertionError, and no process is left, if not."""
        deadline = time.monotonic() + WATCH_S
        while not what():
            assert time.monotonic() < deadline, {
                task: process.lines[-3:] for task, process in self.processes.items()
            }
            time.sleep(0.005)

    def chief_has_done(self, steps: int) -> bool:
        chief = self.processes["worker 0"]
        return "end" in chief.lines or max(chief.losses, default=-1) >= steps

    def has_ended(self) -> bool:
        """Return whether the chief is done.

        A failed chief is restarted, as by a process supervisor: a parameter server that dies while
        the last checkpoint is written ends the chief, as in TensorFlow.
        """
        chief = self.processes["worker 0"]
        if chief.process.poll():
            self.processes["worker 0"] = chief = self.start("worker 0")
        return "end" in chief.lines

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()


def trained(folder: Path, mode: str, killed: str = "", moment: int = 0) -> tuple[Any, Training]:
    """Return the weights of a training in which a process is killed after a given number of
    steps.
    """
    training = Training(folder, mode)
    try:
        if killed:
            training.wait_for(lambda: training.chief_has_done(moment))
            training.kill_and_restart(killed)
        training.wait_for(training.has_ended)
    finally:
        training.stop()
    reader = tf.train.load_checkpoint(str(folder))
    # Each worker may be in a step when another one does the last, and one that is started anew
    # does a step before StopAtStepHook looks, as in TensorFlow.
    beyond = WORKERS - 1 + bool(killed) if mode == "asynchronous" else 0
    assert STEPS <= reader.get_tensor("global_step") <= STEPS + beyond
    return reader.get_tensor("w"), training


def by_one_process() -> tuple[Any, list[float]]:
    """Return the weights and the losses of a training with the batches of all workers joined."""
    with tf.Graph().as_default(), tf.Session() as session:
        weights = tf.get_variable("w", [len(WEIGHTS), 1], initializer=tf.zeros_initializer())
        x = tf.placeholder(tf.float32, [WORKERS * ROWS, len(WEIGHTS)])
        loss = loss_of(x, weights)
        with tf.control_dependencies([loss]):
            op = tf.train.GradientDescentOptimizer(RATE).minimize(loss)
        session.run(tf.global_variables_initializer())
        losses = [
            session.run([loss, op], {x: batch.reshape(-1, len(WEIGHTS))})[0] for batch in batches()
        ]
        return session.run(weights), losses


def test_synchronous_training_is_that_of_one_process(tmp_path: Path) -> None:
    weights, training = trained(tmp_path, "synchronous")
    wanted_weights, wanted_losses = by_one_process()
    np.testing.assert_allclose(weights, wanted_weights, rtol=0, atol=1e-6)
    first, second = (training.processes[f"worker {index}"].losses for index in range(WORKERS))
    both = sorted(set(first) & set(second) - {STEPS - 1})
    assert len(both) > STEPS // 2
    for step in both:
        assert (first[step] + second[step]) / 2 == pytest.approx(wanted_losses[step], abs=1e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("killed", TASKS)
@pytest.mark.parametrize("moment", range(0, STEPS - 3, 4))
def test_each_process_may_be_killed(tmp_path: Path, mode: str, killed: str, moment: int) -> None:
    weights, _ = trained(tmp_path, mode, killed, moment)
    np.testing.assert_allclose(weights[:, 0], WEIGHTS, atol=0.05)
