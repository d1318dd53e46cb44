"""Workers of strategies that are killed at random moments: their trainings go on from checkpoints.

    python ci/killed_workers.py [--kills N] [--kinds KIND ...] [--seed N]

    mirrored    two workers under MultiWorkerMirroredStrategy
    server      a worker under ParameterServerStrategy, and a parameter server
    servers     two workers, which do not wait for each other, and two parameter servers

A parent process starts the tasks, kills one worker after another by SIGKILL, and starts each of
them again. The survivor's step fails, and its monitored session begins anew from the checkpoint.
The loss of each step that any worker has done, before or after a kill, must be that of a training
without kills; for `servers`, where steps overlap, the last losses must be as small. The script
fails for another loss, and for a training that does not end in time.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 240
"""The maximum time between a kill and the next step of the training. Time in which a task could
run, but the machine ran other processes instead, does not count.
"""

PORTS = (20_000, 32_000)
"""The range of ports of the tasks, from which systems give no ports to outgoing connections."""

DATA = np.random.default_rng(3).uniform(-1, 1, (10, 8, 6)).astype(np.float32)
KINDS = {"mirrored": (2, 0), "server": (1, 1), "servers": (2, 2)}
"""The numbers of workers and of parameter servers."""


# -- a task


def step_of(tf: Any, strategy: Any) -> Any:
    """Return the number of a step and its loss, after the update."""
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.MomentumOptimizer(0.05, 0.5)
    count = strategy.num_replicas_in_sync

    def fn() -> Any:
        context = tf.distribute.get_replica_context()
        number = tf.identity(step.read_value())
        batch = tf.gather(tf.constant(DATA), tf.cast(number, tf.int32) % len(DATA))
        rows = tf.split(batch, count)
        mine = tf.gather(tf.stack(rows), context.replica_id_in_sync_group)
        initial = tf.constant_initializer(0.3)
        hidden = tf.layers.dense(mine, 4, tf.tanh, kernel_initializer=initial)
        out = tf.layers.dense(hidden, 1, kernel_initializer=initial)
        target = tf.reduce_sum(mine, 1, keepdims=True)
        loss = tf.reduce_sum(tf.square(out - target)) / 8
        train = optimizer.minimize(loss, global_step=step)
        with tf.control_dependencies([train]):
            return tf.identity(number), tf.identity(loss)

    numbers, losses = strategy.experimental_run_v2(fn)
    total = strategy.reduce("SUM", losses, axis=None)
    return strategy.experimental_local_results(numbers)[0], total


def run_task(settings: dict[str, Any]) -> None:
    """Run a task: a parameter server, or a worker that trains and records its losses."""
    faulthandler.register(signal.SIGUSR1)
    tf = __import__("gpugraph")
    os.environ["TF_CONFIG"] = json.dumps(settings["TF_CONFIG"])
    server = tf.contrib.distribute.run_standard_tensorflow_server()
    task = settings["TF_CONFIG"]["task"]
    if task["type"] == "ps":
        server.join()
    name = "MultiWorkerMirrored" if settings["kind"] == "mirrored" else "ParameterServer"
    strategy = getattr(tf.distribute.experimental, f"{name}Strategy")()
    with strategy.scope():
        number, loss = step_of(tf, strategy)
        is_chief = strategy.extended.should_checkpoint
        hooks = [tf.train.StopAtStepHook(last_step=settings["steps"])]
        folder, config = settings["folder"], strategy.update_config_proto(tf.ConfigProto())
        session = tf.train.MonitoredTrainingSession(
            server.target,
            is_chief,
            folder,
            hooks=hooks,
            save_checkpoint_steps=5,
            save_summaries_steps=None,
            save_summaries_secs=None,
            config=config,
            log_step_count_steps=None,
        )
        with open(settings["record"], "a") as record, session:
            while not session.should_stop():
                done = session.run([number, loss])
                record.write(json.dumps([int(done[0]), float(done[1])]) + "\n")
                record.flush()
                time.sleep(settings["pause"])
    os._exit(0)


# -- the parent


class Training:
    """The tasks of a training, each of which can be killed and started again."""

    def __init__(self, kind: str, steps: int, pause: float, folder: str) -> None:
        self.workers, servers = KINDS[kind]
        ports = iter(free_ports(self.workers + servers))
        cluster = {"worker": [f"127.0.0.1:{next(ports)}" for _ in range(self.workers)]}
        if servers:
            cluster["ps"] = [f"127.0.0.1:{next(ports)}" for _ in range(servers)]
        self.settings = {"kind": kind, "steps": steps, "pause": pause, "folder": folder}
        self.cluster, self.folder = cluster, folder
        self.servers = [self._started("ps", number) for number in range(servers)]
        self.processes = [self._started("worker", number) for number in range(self.workers)]

    def _started(self, job: str, number: int) -> subprocess.Popen[bytes]:
        config = {"cluster": self.cluster, "task": {"type": job, "index": number}}
        record = f"{self.folder}/record.{job}.{number}"
        settings = {**self.settings, "TF_CONFIG": config, "record": record}
        log = open(f"{self.folder}/log.{job}.{number}", "ab")  # noqa: SIM115  the process has it
        with log:
            return subprocess.Popen(
                [sys.executable, __file__, "--task", json.dumps(settings)],
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=log,
            )

    def kill(self, number: int) -> None:
        """Kill a worker, and start it again."""
        self.processes[number].send_signal(signal.SIGKILL)
        self.processes[number].wait()
        self.processes[number] = self._started("worker", number)

    def records(self) -> list[tuple[int, float]]:
        """Return the steps and losses that the workers have recorded."""
        result = []
        for number in range(self.workers):
            path = Path(f"{self.folder}/record.worker.{number}")
            for line in path.read_text().splitlines() if path.exists() else []:
                with contextlib.suppress(ValueError):  # a line whose writer was killed
                    step, loss = json.loads(line)
                    result.append((step, loss))
        return result

    def wait_for_progress(self, count: int) -> None:
        """Wait until there are more than `count` records, or the training has ended."""
        self._wait_while(
            lambda: (
                len(self.records()) <= count
                and any(process.poll() is None for process in self.processes)
            ),
            "step",
        )

    def _wait_while(self, condition: Callable[[], bool], awaited: str) -> None:
        """Wait while a condition holds.

        Raises RuntimeError if a task fails, and TimeoutError if the time limit passes. Then all
        tasks have logged the stacks of their threads.
        """
        tasks = [*self.processes, *self.servers]
        began, delayed = time.monotonic(), sum(map(seconds_without_processor, tasks))
        while condition():
            if any(task.poll() for task in tasks):
                raise RuntimeError(f"A task failed: see the logs in {self.folder}")
            delay = max(0.0, sum(map(seconds_without_processor, tasks)) - delayed)
            if time.monotonic() - began - delay > SECONDS:
                self.log_stacks()
                raise TimeoutError(
                    f"No {awaited} within {SECONDS} s: see the logs in {self.folder}"
                )
            time.sleep(0.05)

    def log_stacks(self) -> None:
        """Let all tasks log the stacks of their threads."""
        for process in [*self.processes, *self.servers]:
            if process.poll() is None:
                process.send_signal(signal.SIGUSR1)
        time.sleep(5)

    def wait(self) -> None:
        """Wait for the end of all workers. Raises the errors of `_wait_while`."""
        self._wait_while(lambda: any(task.poll() is None for task in self.processes), "end")

    def end(self) -> None:
        """Kill all processes."""
        for process in [*self.processes, *self.servers]:
            process.kill()
            process.wait()


@contextlib.contextmanager
def training(kind: str, steps: int, pause: float) -> Iterator[Training]:
    """Start a training; end its processes after the block."""
    folder = tempfile.mkdtemp(prefix=f"killed_{kind}_")
    run = Training(kind, steps, pause, folder)
    try:
        yield run
    finally:
        run.end()


def free_ports(count: int) -> list[int]:
    """Return ports that no process uses."""
    ports: list[int] = []
    for port in random.sample(range(*PORTS), 1000):
        with contextlib.suppress(OSError), socket.socket() as candidate:
            candidate.bind(("127.0.0.1", port))
            ports.append(port)
        if len(ports) == count:
            return ports
    raise OSError(f"Of 1000 ports in {PORTS}, only {len(ports)} are free")


def seconds_without_processor(process: subprocess.Popen[bytes]) -> float:
    """Return how long the main thread of a process could run, but waited for a processor."""
    try:
        return int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):  # the process has ended, or the system has no such file
        return 0.0


def expected(kind: str, steps: int) -> dict[int, float]:
    """Return the loss of each step of a training without kills."""
    with training(kind, steps, 0.0) as run:
        run.wait()
        return dict(run.records())


def check(kind: str, kills: int, seed: int, steps: int = 0) -> list[str]:
    """Train with kills at random moments; return descriptions of wrong losses."""
    chance = random.Random(seed)
    steps = steps or 20 + 10 * kills
    losses = expected(kind, steps)
    with training(kind, steps, 0.02) as run:
        done = 0
        for _ in range(kills):
            run.wait_for_progress(done)
            time.sleep(chance.uniform(0, 0.4))
            if all(process.poll() is not None for process in run.processes):
                return [f"{kind}: the training ended before all kills"]
            run.kill(chance.randrange(run.workers))
            done = len(run.records())
        run.wait()
        records = run.records()
    wrong = []
    if max(step for step, _ in records) < steps - 1 - (run.workers if kind == "servers" else 0):
        wrong.append(f"{kind}: the last step is missing")
    if kind == "servers":
        last = [loss for step, loss in records if step >= steps - 10]
        if not np.mean(last) < 2 * np.mean([losses[step] for step in sorted(losses)[-10:]]) + 0.05:
            wrong.append(f"{kind}: the last losses are {last}")
        return wrong
    for step, loss in records:
        if not np.isclose(loss, losses[step], 1e-5, 1e-6):
            wrong.append(f"{kind}: the loss of step {step} is {loss}, not {losses[step]}")
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Check each kind; print and count wrong losses."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20, help="of each kind")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=["mirrored", "server"])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    total = 0
    for kind in options.kinds:
        began = time.monotonic()
        wrong = check(kind, options.kills, options.seed)
        seconds = time.monotonic() - began
        print(f"{kind:10} {options.kills} kills, {len(wrong)} wrong losses, {seconds:.0f} s")
        print("\n".join(wrong[:10]), flush=True)
        total += len(wrong)
    return 1 if total else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--task"]:
        run_task(json.loads(sys.argv[2]))
    else:
        sys.exit(main())
