"""The model of benchmarks/cluster_simulation.py agrees with results computed by hand."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import pytest

from gpugraph.cluster.collectives import collective_exchange

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
simulation = importlib.import_module("cluster_simulation")
MODEL = simulation.Model(step_s=0.0, meet_s=0.0, message_s=1e-3, byte_s=1e-9)


def test_a_ring_sends_each_part_twice_but_once() -> None:
    for size in (2, 5, 8):
        seconds = simulation.ring_s(MODEL, simulation.LOOPBACK, size, size << 20)
        assert seconds == pytest.approx(2 * (size - 1) * (1e-3 + (1 << 20) * 1e-9))
    slow = simulation.Net(latency_s=0.1, bytes_s=math.inf)
    one_piece = simulation.ring_s(MODEL, slow, 4, 4 << 20)
    assert one_piece == pytest.approx(6 * (1e-3 + (1 << 20) * 1e-9) + 6 * 0.1)
    many = simulation.ring_s(MODEL, slow, 4, 64 << 20)  # pieces are on their way meanwhile
    assert many < 4 * one_piece


def test_small_ones_go_by_halves_and_the_link_bounds_large_ones() -> None:
    halves = simulation.halves_s(MODEL, simulation.LOOPBACK, 8, 8000)
    assert halves == pytest.approx(6 * 1e-3 + 2 * 7000 * 1e-9)
    whole = simulation.all_reduce_s(MODEL, simulation.LOOPBACK, 8, 8000)
    assert whole == pytest.approx(halves, rel=0.01)
    link = simulation.Net(0.0, 1e8)
    assert simulation.all_reduce_s(MODEL, link, 2, 10**9) == pytest.approx(10.0, rel=0.05)


def test_sizes_are_those_of_the_exchange() -> None:
    for name in ("PIECE_BYTES", "SMALL_BYTES", "PART_BYTES"):
        assert getattr(simulation, name) == getattr(collective_exchange, name)


def test_what_grows_with_the_workers() -> None:
    ring = [simulation.all_reduce_s(MODEL, simulation.ETHERNET, n, 10**8) for n in (8, 1024)]
    assert ring[1] < 20 * ring[0]
    servers = [simulation.servers_s(MODEL, simulation.ETHERNET, n, 1, 10**8) for n in (8, 1024)]
    assert servers[1] > 100 * servers[0]
    model = MODEL._replace(meet_s=1e-3)
    meeting = [simulation.all_reduce_s(model, simulation.ETHERNET, n, 8000) for n in (8, 1024)]
    assert meeting[1] > 1.0 > 0.1 > meeting[0]
    assert simulation.shared(MODEL, 4, 2).message_s == 2e-3
    waiting = simulation.shared(MODEL._replace(busy=0.5), 4, 2)
    assert (waiting.message_s, waiting.busy) == (1.5e-3, 0.5)
    assert simulation.shared(waiting, 2, 2) == waiting
