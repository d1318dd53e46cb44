"""The state that servers keep of failed steps: an error, and none of the tensors."""

from __future__ import annotations

import gc
import os
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cluster import shared_segments, wire_values
from gpugraph.cluster.step_mailbox import StepMailboxes
from gpugraph.cluster.wire_values import Parcels
from gpugraph.ops.collectives.collective_ops import all_reduce

from .local_cluster import local_cluster

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

TASKS = ["/job:worker/task:0", "/job:worker/task:1"]


@pytest.fixture
def target() -> Iterator[str]:
    with local_cluster(worker=2) as servers, tf.Graph().as_default():
        yield servers["worker", 0].target


class _Array(np.ndarray):
    """An array to which there may be weak references."""


def test_a_step_that_has_failed_is_remembered_without_its_arrays() -> None:
    mailboxes = StepMailboxes()

    def fails() -> weakref.ref[Any]:
        held = np.zeros(10).view(_Array)
        try:
            raise tf.errors.AbortedError(None, None, "it failed")
        except tf.errors.AbortedError as error:
            mailboxes.abort(7, error)
        return weakref.ref(held)

    held = fails()
    assert held() is None
    for _ in range(2):
        with pytest.raises(tf.errors.AbortedError, match="it failed") as caught:
            mailboxes.of(7)
        depth = len(caught.traceback)
    with pytest.raises(tf.errors.AbortedError) as caught:
        mailboxes.of(7)
    assert len(caught.traceback) == depth  # earlier callers are not held


def test_parcels_of_a_step_that_fails_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_values, "_KEPT_OF_ENDED_S", 0.05)
    parcels = Parcels()
    failed, going_on = (parcels.put(np.zeros(10, np.uint8), (step, "")) for step in (1, 2))
    parcels.end(1)
    late = parcels.put(np.zeros(10, np.uint8), (1, ""))
    time.sleep(0.1)
    parcels.put(np.zeros(10, np.uint8))
    for ticket in (failed, late):
        with pytest.raises(tf.errors.NotFoundError):
            parcels.take(ticket)
    assert parcels.take(going_on).size == 10


def test_parcels_for_who_has_gone_are_forgotten_though_nothing_else_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire_values, "_KEPT_OF_ENDED_S", 0.05)
    parcels = Parcels()
    owners = [(1, "gone"), (2, ""), (3, ""), (4, "there")]
    tickets = [parcels.put(np.zeros(10, np.uint8), owner) for owner in owners]
    parcels.expire("gone")
    parcels.end(2)
    parcels.end(3)
    parcels.put(np.zeros(10, np.uint8), (3, ""))
    limit = time.monotonic() + 30
    while len(parcels._parcels) > 1:
        assert time.monotonic() < limit
        time.sleep(0.01)
    assert parcels.take(tickets[3]).size == 10


def _num_segments() -> int:
    files = Path("/proc/self/fd").iterdir()
    return sum("memfd:gpugraph" in os.readlink(file) for file in files if file.is_symlink())


@pytest.mark.skipif(not shared_segments.is_possible(), reason="memfd is Linux's")
def test_steps_that_fail_after_a_collective_leave_no_memory(target: str) -> None:
    x = tf.placeholder(tf.float32, [])
    outputs = []
    for task in TASKS:
        with tf.device(task):
            part = tf.fill([100_000], x)
            total = tf.reduce_sum(all_reduce(part, 2, 1, 1, "Add", "Id"))
            outputs.append(tf.check_numerics(total, "late"))
    with tf.Session(target) as session:
        session.run(outputs, {x: 1.0})
        gc.collect()
        before = _num_segments()
        for _ in range(20):
            with pytest.raises(tf.errors.InvalidArgumentError, match="late"):
                session.run(outputs, {x: np.nan})
        gc.collect()
        assert _num_segments() <= before + 4
        assert session.run(outputs, {x: 1.0}) == [200_000.0, 200_000.0]
