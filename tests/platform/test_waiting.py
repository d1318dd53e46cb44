"""Warnings about waits: their text, and that they end with the wait."""

from __future__ import annotations

import threading
import time

import pytest

import gpugraph as tf
from gpugraph.platform import waiting


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Report waits after 10 ms, and return the list that receives the warnings."""
    texts: list[str] = []
    monkeypatch.setattr(waiting, "FIRST_S", 0.01)
    monkeypatch.setattr(waiting, "AGAIN_S", 0.02)
    monkeypatch.setattr(waiting.logging, "warning", lambda text, *args: texts.append(text % args))
    return texts


def test_a_wait_is_reported_until_it_ends(warnings: list[str]) -> None:
    end = time.monotonic() + 20
    with waiting.warn_while_waiting("Waiting for the tide"):
        while len(warnings) < 2 and time.monotonic() < end:
            time.sleep(0.01)
    assert set(warnings) == {"Waiting for the tide"} and len(warnings) >= 2
    for thread in threading.enumerate():
        if thread.name == "gpugraph-waiting":
            thread.join(20)
    count = len(warnings)
    time.sleep(0.05)
    assert len(warnings) == count


def test_a_worker_without_its_parameter_server_names_it(
    warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("grpc")
    monkeypatch.setenv("GPUGRAPH_CLUSTER_WAIT", "0.3")
    cluster = {"worker": ["localhost:0"], "ps": ["localhost:1"]}
    server = tf.train.Server(cluster, "worker", 0)
    try:
        with pytest.raises(tf.errors.UnavailableError), tf.Session(server.target) as session:
            session.run(tf.constant(1))
    finally:
        server.stop()
    text = "CreateSession still waiting for response from worker: /job:ps/replica:0/task:0"
    assert f"{text} at localhost:1" in warnings
