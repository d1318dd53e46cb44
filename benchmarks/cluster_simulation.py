"""How far all-reduces and parameter servers would go: a model of latency and bandwidth.

    python benchmarks/cluster_simulation.py --measure      fits the model on this machine, checks it
    python benchmarks/cluster_simulation.py                the tables of docs/cluster.md

A process handles its messages one after the other. A message costs it `message_s`, a byte `byte_s`
(sending, receiving and reducing together); between machines a byte also takes the time of the link,
and a message its latency. A step costs `step_s` besides, and at the leader `meet_s` for each member
that joins. Of all that a process computes the share `busy`, else it waits for others; processes on
one machine share its processors, but not their waits. The figures of the model are fitted to steps
of two processes over gRPC, and checked on those of three and four.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from collectives import measure

PIECE_BYTES, SMALL_BYTES, PART_BYTES = 4 << 20, 256 << 10, 64 << 10
"""As in `gpugraph/cluster/collectives/collective_exchange.py`."""

MEMBER_BYTES = 150
"""Size of the leader's message about a member to each of the others."""


class Model(NamedTuple):
    """Seconds of a process, and the share of them in which it computes; see above."""

    step_s: float
    meet_s: float
    message_s: float
    byte_s: float
    busy: float = 1.0


class Net(NamedTuple):
    """Between two machines: seconds of latency, and bytes a second."""

    latency_s: float
    bytes_s: float


FITTED = Model(step_s=0.0, meet_s=0.39e-3, message_s=0.39e-3, byte_s=1.98e-9, busy=0.68)
"""As measured on the machine of docs/cluster.md."""

ETHERNET = Net(50e-6, 10e9 / 8)
LOOPBACK = Net(0.0, math.inf)


def ring_s(model: Model, net: Net, size: int, num_bytes: int) -> float:
    """Of an all-reduce by a ring: each piece waits for the one before it, and for its neighbour's.

    All members do the same, so that one member's times are those of all.
    """
    part = num_bytes / size
    count = max(1, math.ceil(part / PIECE_BYTES))
    busy = model.message_s + part / count * max(model.byte_s, 1 / net.bytes_s)
    times = [0.0] * count  # when the pieces of the first part are with the neighbour
    for number in range(2 * (size - 1) * count):
        is_free = times[-1] if number else 0.0
        arrived = times[number] + net.latency_s
        times.append(max(is_free, arrived) + busy)
    return times[-1]


def halves_s(model: Model, net: Net, size: int, num_bytes: int) -> float:
    """Of an all-reduce by halving and doubling."""
    rounds = math.ceil(math.log2(size))
    moved = 2 * (size - 1) / size * num_bytes * max(model.byte_s, 1 / net.bytes_s)
    return 2 * rounds * (model.message_s + net.latency_s) + moved


def all_reduce_s(model: Model, net: Net, size: int, num_bytes: int, buckets: int = 1) -> float:
    """Return the time of all reductions of a step, `buckets` of the same size, one after the
    other.
    """
    each = num_bytes // buckets
    way = halves_s if each <= max(SMALL_BYTES, size * PART_BYTES) else ring_s
    meeting = size * (model.meet_s + size * MEMBER_BYTES * model.byte_s)
    return model.step_s + buckets * (meeting + way(model, net, size, each))


def servers_s(model: Model, net: Net, workers: int, servers: int, num_bytes: int) -> float:
    """Of a step with parameter servers: each sends all workers its part, and takes theirs."""
    moved = 2 * num_bytes / servers * max(model.byte_s, 1 / net.bytes_s)
    return model.step_s + workers * (2 * model.message_s + moved) + 2 * net.latency_s


def shared(model: Model, processes: int, processors: int) -> Model:
    """Return the model of processes that share a machine's processors."""
    factor = slowed(model.busy, processes, processors)
    return Model(*(seconds * factor for seconds in model[:4]), model.busy)


def slowed(busy: float, processes: int, processors: int) -> float:
    """Return how much longer a step takes where processes share processors."""
    return 1 + busy * (max(1.0, processes / processors) - 1)


# -- on this machine


def least_s(row: str, name: str, size: int, rounds: int) -> tuple[float, float]:
    """Return the minimum time of a step of a row with `size` processes, and a process's computing
    time.

    Other programs run here, too.
    """
    members = measure(row, {"gpugraph": sys.executable}, rounds, size, name)[name]
    return min(members.times), min(members.processor_s)


def fit(rounds: int) -> tuple[Model, dict[tuple[str, int], float]]:
    """Return the model of this machine, and the measurements, by row and number of processes."""
    least = {
        (row, size): least_s(row, name, size, rounds)
        for size in (2, 3, 4)
        for row, name in (("small", "gpugraph"), ("sum", "gpugraph grpc"))
    }
    measured = {key: seconds for key, (seconds, _) in least.items()}
    processors = os.cpu_count() or 1
    seconds, computed = least["sum", 2]
    busy = min(1.0, computed / seconds)
    two, four = (measured["small", n] / slowed(busy, n, processors) for n in (2, 4))
    # of small ones, two processes: step + 2 meet + 2 messages; four: step + 4 meet + 4 messages
    pair = max(1e-4, (four - two) / 2)
    if two < 2 * pair:  # no step has a negative cost: the minimum relative error of both
        pair = (2 / two + 4 / four) / ((2 / two) ** 2 + (4 / four) ** 2)
    model = Model(max(0.0, two - 2 * pair), pair / 2, pair / 2, 0.0, busy)
    target = measured["sum", 2] / slowed(busy, 2, processors)
    low, high = 0.0, 1e-6
    for _ in range(60):  # the cost of a byte that gives the measured time
        model = model._replace(byte_s=(low + high) / 2)
        if all_reduce_s(model, LOOPBACK, 2, 100_000_000) < target:
            low = model.byte_s
        else:
            high = model.byte_s
    return model, measured


def check(model: Model, measured: dict[tuple[str, int], float]) -> None:
    """Print the model's predictions beside the measurements."""
    print(model)
    bytes_of = {"small": 4000, "sum": 100_000_000}
    for (row, size), seconds in measured.items():
        own = shared(model, size, os.cpu_count() or 1)
        said = all_reduce_s(own, LOOPBACK, size, bytes_of[row])
        fitted = "fitted" if size == 2 or (row, size) == ("small", 4) else "checked"
        print(
            f"{row:6} {size} processes: measured {seconds * 1e3:8.2f} ms, model {said * 1e3:8.2f} "
            f"({said / seconds - 1:+.0%}, {fitted})"
        )


# -- tables


def tables(model: Model, net: Net, compute_s: float, num_bytes: int) -> None:
    """Print steps of 8 to 1,024 workers and the leader's share of them, where messages of a step
    are in one bucket, in 13 or in 100."""
    print(f"{num_bytes / 1e6:g} MB of gradients, {compute_s * 1e3:g} ms of computing, {net}")
    print(
        "workers   1 bucket 13 buckets 100 buckets  leader of 13  efficiency  1 server  n/8 servers"
    )
    free = model._replace(meet_s=0.0)
    for exponent in range(3, 11):
        size = 1 << exponent
        times = {count: all_reduce_s(model, net, size, num_bytes, count) for count in (1, 13, 100)}
        leader = times[13] - all_reduce_s(free, net, size, num_bytes, 13)
        # all but the last bucket may hide behind the backward pass, two thirds of the computing
        step = compute_s + max(times[13] / 13, times[13] - compute_s * 2 / 3)
        columns = (times[1], times[13], times[100], leader)
        servers = (servers_s(model, net, size, n, num_bytes) for n in (1, size // 8))
        print(
            f"{size:7} {' '.join(f'{seconds * 1e3:8.0f} ms' for seconds in columns)}"
            f"{compute_s / step:12.0%} {' '.join(f'{seconds:8.1f} s' for seconds in servers)}"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--compute", type=float, default=1.0, help="seconds of a step alone")
    parser.add_argument("--megabytes", type=float, default=100.0)
    options = parser.parse_args(arguments)
    model = FITTED
    if options.measure:
        model, measured = fit(options.rounds)
        check(model, measured)
    tables(model, ETHERNET, options.compute, int(options.megabytes * 1e6))


if __name__ == "__main__":
    main()
