"""Steps of trainings under strategies: replicas on devices, worker processes, virtual GPUs.

    python benchmarks/strategies.py [--tensorflow PYTHON] [--rows ROW ...] [--rounds N]

    replicas   a step of a convolutional network on 1, 2 and 4 CPU devices of one process, for the
               same global batch, beside TensorFlow's on logical CPUs
    workers    a step of 1 and of 2 worker processes, each with one thread and with the same batch
               per worker; the scaling is the ratio of examples per second. Two separate trainings
               at the same time show the limit of the machine
    bytes      the bytes that each of 2 and 4 workers sends per step over gRPC, beside the bound of
               one all-reduce of the gradients: 2 (n - 1) / n of their bytes
    host       a step on 8 virtual GPUs and on one, for the same global batch

All processes of a row exist at once and run alternately. Printed are the fastest steps, since other
work on the machine only makes steps slower, and the smallest processor time of a step. PYTHON has
TensorFlow; without it gpugraph runs alone.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

STEPS = 5
"""Of each turn."""
THREADS = ("GPUGRAPH_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


class Member(NamedTuple):
    """A process of a row: a library, a row and the settings of its training."""

    library: str
    row: str
    count: int
    task: int = 0
    ports: Sequence[str] = ()
    batch: int = 64


# -- a member


def library(name: str, count: int) -> Any:
    """Return a library; TensorFlow with `count` logical CPU devices."""
    if name == "gpugraph":
        return importlib.import_module("gpugraph")
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1"}
    warnings.simplefilter("ignore")
    tf = importlib.import_module("tensorflow").compat.v1
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.disable_v2_behavior()
    [cpu] = tf.config.list_physical_devices("CPU")
    parts = [tf.config.LogicalDeviceConfiguration()] * count
    tf.config.set_logical_device_configuration(cpu, parts)
    return tf


def network(tf: Any, images: Any, labels: Any, batch: int) -> Any:
    """Return the loss of a convolutional network: a part of the loss of a batch of this size."""
    hidden = tf.layers.conv2d(images, 16, 5, activation=tf.nn.relu, name="c1")
    hidden = tf.layers.max_pooling2d(hidden, 2, 2)
    hidden = tf.layers.conv2d(hidden, 32, 5, activation=tf.nn.relu, name="c2")
    hidden = tf.layers.flatten(tf.layers.max_pooling2d(hidden, 2, 2))
    hidden = tf.layers.dense(hidden, 256, tf.nn.relu, name="d1")
    logits = tf.layers.dense(hidden, 10, name="d2")
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_sum(losses) / batch


def strategy_of(tf: Any, member: Member) -> Any:
    """Return the strategy of a member."""
    if member.row in ("workers", "bytes"):
        return tf.distribute.experimental.MultiWorkerMirroredStrategy()
    kind = "gpu" if member.row == "host" else "cpu"
    return tf.distribute.MirroredStrategy([f"/{kind}:{n}" for n in range(member.count)])


def step_of(tf: Any, strategy: Any, batch: int) -> Any:
    """Return the op of a step, and the number of gradient bytes."""
    count = strategy.num_replicas_in_sync
    with strategy.scope():
        optimizer = tf.train.GradientDescentOptimizer(0.01)

        def fn() -> Any:
            images = tf.get_variable(
                "images", [batch // count, 28, 28, 1], trainable=False,
                initializer=tf.random_uniform_initializer(seed=1),
            )  # fmt: skip
            labels = tf.constant([n % 10 for n in range(batch // count)])
            loss = network(tf, images, labels, batch)
            train = optimizer.minimize(loss)
            with tf.control_dependencies([train]):
                return tf.constant(0)

        run = getattr(strategy, "experimental_run_v2", None) or strategy.run
        done = tf.group(*strategy.experimental_local_results(run(fn)))
        sizes = [v.shape.num_elements() * 4 for v in tf.trainable_variables()]
        return done, sum(sizes)


def counted_bytes() -> Callable[[], int]:
    """Count the bytes that members of collectives send over gRPC from now on."""
    segments = importlib.import_module("gpugraph.cluster.shared_segments")
    peers = importlib.import_module("gpugraph.cluster.collectives.collective_peers")
    segments.is_possible = lambda: False
    sent, send = [0], peers.PeerWire.send

    def counted(wire: Any, rank: int, name: str, array: Any) -> None:
        sent[0] += array.nbytes
        send(wire, rank, name, array)

    peers.PeerWire.send = counted
    return lambda: sent[0]


def run_member(member: Member) -> None:
    """Run a member: one turn of steps for each line that comes."""
    tf = library(member.library, member.count)
    sent = counted_bytes() if member.row == "bytes" else lambda: 0
    target, config = "", tf.ConfigProto(device_count={"CPU": max(member.count, 1)})
    if member.row == "host":
        config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=member.count))
    if member.ports:
        cluster = {"worker": [f"localhost:{port}" for port in member.ports]}
        task = {"type": "worker", "index": member.task}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
        target = tf.contrib.distribute.run_standard_tensorflow_server().target
    strategy = strategy_of(tf, member)
    batch = member.batch * (len(member.ports) or 1)
    step, gradients = step_of(tf, strategy, batch)
    if member.ports:
        config = strategy.update_config_proto(tf.ConfigProto())
    with tf.Session(target, config=config) as session:
        session.run(tf.global_variables_initializer())
        run = session.make_callable(step)
        for _ in range(10):
            run()
        print("ready", flush=True)
        for _ in sys.stdin:
            times, computed, before = [], float("inf"), sent()
            for _ in range(STEPS):
                start, begun = time.perf_counter(), time.process_time()
                run()
                times.append(time.perf_counter() - start)
                computed = min(computed, time.process_time() - begun)
            print(json.dumps([times, computed, (sent() - before) / STEPS, gradients]), flush=True)
    os._exit(0)


# -- all members


def free_ports(count: int) -> list[str]:
    """Return ports that no process uses."""
    listeners = [socket.create_server(("localhost", 0)) for _ in range(count)]
    ports = [str(listener.getsockname()[1]) for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


class Group:
    """The processes of one training.

    times: of each step, that of the slowest member. computed: the smallest processor time of a step
    of one member, of each turn. sent, gradients: bytes of a member.
    """

    def __init__(
        self,
        python: str,
        row: str,
        library: str,
        count: int,
        is_pinned: bool,
        is_together: bool = True,
    ) -> None:
        ports = free_ports(count) if row in ("workers", "bytes") else []
        self.processes = []
        cores = sorted(os.sched_getaffinity(0)) if is_pinned else []
        for task in range(len(ports) or 1):
            batch = 1024 if row == "workers" else 64
            cluster, number = (ports, task) if is_together else ([ports[task]], 0)
            member = Member(library, row, 1 if ports else count, number, cluster, batch)
            process = subprocess.Popen(
                [python, __file__, "--member", json.dumps(member)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | (dict.fromkeys(THREADS, "1") if ports else {}),
                text=True,
            )
            if cores:
                os.sched_setaffinity(process.pid, {cores[task % len(cores)]})
            self.processes.append(process)
        self.times: list[float] = []
        self.computed: list[float] = []
        self.sent = self.gradients = 0.0

    def lines(self) -> list[str]:
        """Return the next line of each member's output."""
        texts = []
        for process in self.processes:
            assert process.stdout is not None
            text = process.stdout.readline()
            if not text:
                raise RuntimeError(f"A member has ended: {process.args}")
            texts.append(text)
        return texts

    def turn(self) -> None:
        """Run some steps."""
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        times, computed, sent, gradients = zip(*map(json.loads, self.lines()))
        self.times += map(max, zip(*times))
        self.computed.append(max(computed))
        self.sent, self.gradients = max(sent), gradients[0]

    def end(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.kill()
            process.wait()


def measured(groups: dict[str, Group], rounds: int) -> dict[str, Group]:
    """Let groups run alternately; return them."""
    try:
        for group in groups.values():
            group.lines()
        for _ in range(rounds):
            for group in groups.values():
                group.turn()
    finally:
        for group in groups.values():
            group.end()
    return groups


def show(name: str, group: Group) -> None:
    """Print the fastest step and the smallest processor time."""
    wall, processor = min(group.times) * 1e3, min(group.computed) * 1e3
    print(f"{name:34} {wall:8.2f} ms {processor:8.2f} ms of a processor", flush=True)


def replicas(pythons: dict[str, str], rounds: int) -> None:
    """Print the row `replicas`."""
    groups = {
        f"{count} replicas, {name}": Group(python, "replicas", name, count, False)
        for count in (1, 2, 4)
        for name, python in pythons.items()
    }
    for name, group in measured(groups, rounds).items():
        show(name, group)


def workers(pythons: dict[str, str], rounds: int) -> None:
    """Print the row `workers`."""
    python = pythons["gpugraph"]
    groups = measured(
        {
            "1 worker": Group(python, "workers", "gpugraph", 1, True),
            "2 separate trainings": Group(python, "workers", "gpugraph", 2, True, False),
            "2 workers": Group(python, "workers", "gpugraph", 2, True),
        },
        rounds,
    )
    for name, group in groups.items():
        show(name, group)
    one = groups["1 worker"]
    for name in ("2 separate trainings", "2 workers"):
        wall = 2 * min(one.times) / min(groups[name].times)
        processor = 2 * min(one.computed) / min(groups[name].computed)
        print(f"scaling of {name:23} {wall:8.2f}    {processor:8.2f} by processor time")


def sent_bytes(pythons: dict[str, str], rounds: int) -> None:
    """Print the row `bytes`."""
    python = pythons["gpugraph"]
    for count in (2, 4):
        group = Group(python, "bytes", "gpugraph", count, False)
        measured({"": group}, min(rounds, 2))
        bound = 2 * (count - 1) / count * group.gradients
        print(f"{count} workers send {group.sent:12.0f} bytes each; the bound is {bound:12.0f}")


def host(pythons: dict[str, str], rounds: int) -> None:
    """Print the row `host`."""
    python = pythons["gpugraph"]
    groups = measured(
        {f"{n} virtual GPUs": Group(python, "host", "gpugraph", n, False) for n in (1, 8)}, rounds
    )
    for name, group in groups.items():
        show(name, group)
    one, eight = groups.values()
    print(f"{'ratio':34} {min(eight.times) / min(one.times):8.2f}    "
          f"{min(eight.computed) / min(one.computed):8.2f}")  # fmt: skip


ROWS = {"replicas": replicas, "workers": workers, "bytes": sent_bytes, "host": host}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tensorflow", help="the Python that has TensorFlow")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args(arguments)
    pythons = {"gpugraph": sys.executable}
    if options.tensorflow:
        pythons["tensorflow"] = options.tensorflow
    for row in options.rows:
        print(f"-- {row}", flush=True)
        ROWS[row](pythons, options.rounds)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    if sys.argv[1:2] == ["--member"]:
        run_member(Member(*json.loads(sys.argv[2])))
    else:
        main()
