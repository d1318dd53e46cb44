"""Steps where grpcio's core is not as `core_streams` uses it: its public streams do the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cluster import call_streams, core_streams, transport

from .local_cluster import local_cluster, over_grpc

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

FIRST, SECOND = "/job:worker/task:0", "/job:worker/task:1"


class _Counted(call_streams.CallStream):
    """A public stream that is counted."""

    num_opened = 0

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        _Counted.num_opened += 1


@pytest.fixture(params=["no module", "no frames at the server"])
def public_streams(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """grpcio as a release whose core is another."""
    if request.param == "no module":
        monkeypatch.setattr(core_streams, "core", lambda: None)
    else:
        monkeypatch.setattr("gpugraph.cluster.listener.serves_by_core", lambda _: False)
    monkeypatch.setattr(transport, "CallStream", _Counted)
    monkeypatch.setattr(_Counted, "num_opened", 0)


@pytest.mark.usefixtures("public_streams")
def test_steps_go_over_public_streams() -> None:
    with local_cluster(worker=2) as servers, tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        with tf.device(SECOND):
            doubled = x * 2.0
            valid = tf.check_numerics(doubled, "bad")
        with tf.device(FIRST):
            total = valid + 1.0
        with over_grpc(servers["worker", 0]) as target, tf.Session(target) as session:
            for size in (3, 3, 400_000):
                result = session.run(total, {x: np.arange(size)})
                np.testing.assert_array_equal(result, np.arange(size, dtype=np.float32) * 2 + 1)
            with pytest.raises(tf.errors.InvalidArgumentError, match="bad : Tensor had NaN"):
                session.run(total, {x: [float("nan")]})
            np.testing.assert_array_equal(session.run(total, {x: [4.0]}), [9.0])
        has_core = core_streams.core() is not None
        # A watch of the client's and one of each server's; without the core, all other streams.
        assert _Counted.num_opened > 3 if not has_core else _Counted.num_opened > 0
