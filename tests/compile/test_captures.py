"""GPUGRAPH_CAPTURE: whether a GPU's steps become one graph."""

from __future__ import annotations

from threading import RLock
from types import SimpleNamespace
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.compile.captures import captured
from gpugraph.compile.regions import Entry
from gpugraph.devices import Enqueued
from gpugraph.devices.cuda.host_compiler import host_compiler
from gpugraph.plan import Step

pytestmark = pytest.mark.skipif(bool(host_compiler().reason), reason=host_compiler().reason)


@pytest.fixture
def session() -> Any:
    options = tf.GPUOptions(emulated_gpus=1)
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(gpu_options=options)) as made:
        yield made


def two_steps() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [2, 2])
    return x, tf.reduce_sum(tf.matmul(x, x, name="product"), name="sum")


@pytest.mark.parametrize("switch", ["0", "1", ""])
def test_steps_are_captured_unless_the_switch_says_no(
    switch: str, session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUGRAPH_CAPTURE", switch)
    x, y = two_steps()
    told = str(session.explain(y, {x: [[1, 2], [3, 4]]}))
    if switch == "0":
        assert "not captured from product to sum:0: 3 steps, for GPUGRAPH_CAPTURE is 0" in told
    else:
        assert "captured from product to sum:0: 3 steps" in told and "not captured" not in told
    for _ in range(4):
        assert session.run(y, {x: [[1, 2], [3, 4]]}) == 54
        assert session.run(y, {x: [[1, 0], [0, 1]]}) == 2


def test_another_switch_is_an_error(session: tf.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_CAPTURE", "no")
    x, y = two_steps()
    with pytest.raises(tf.errors.InvalidArgumentError, match="GPUGRAPH_CAPTURE is 'no'; possible"):
        session.run(y, {x: [[1, 2], [3, 4]]})


def test_what_no_run_has_brought_to_its_end_is_not_captured() -> None:
    """A step behind one that failed has loaded nothing yet, and in a capture it may not."""
    told: list[str] = []
    broken = True

    def one() -> None:
        told.append("one")
        if broken:
            raise RuntimeError("one")

    def capture(work: Any) -> Any:
        told.append("capture")
        work()
        return lambda: told.append("replay")

    device = SimpleNamespace(name="GPU", lock=RLock(), capture=capture)
    calls = (one, lambda: told.append("two"))
    steps = [
        Step(f"s{at}", "Op", "GPU", at, Enqueued([call], device.lock))
        for at, call in enumerate(calls)
    ]
    guard: Any = None
    (entry,) = captured([Entry(guard, step) for step in steps], {"GPU": device}, [])
    with pytest.raises(RuntimeError, match="one"):
        entry.step.run()
    broken = False
    for _ in range(3):
        entry.step.run()
    first, eager, recorded = ["one"], ["one", "two"], ["capture", "one", "two"]
    assert told == [*first, *eager, *recorded, "replay", "replay"]
