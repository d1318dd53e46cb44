"""GPUGRAPH_CAPTURE: whether a GPU's steps become one graph."""

from __future__ import annotations

from threading import RLock
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.steps.cuda_graph_capture import with_captures
from gpugraph.compile.steps.guarded_regions import GuardedStep
from gpugraph.devices import Enqueued
from gpugraph.devices.cuda.cuda_device import CudaDevice
from gpugraph.devices.cuda.emulation.cxx_compiler import host_compiler
from gpugraph.devices.cuda.launching.enqueued_work import EnqueuedPart
from gpugraph.plan import Step

pytestmark = pytest.mark.skipif(bool(host_compiler().reason), reason=host_compiler().reason)


@pytest.fixture
def session() -> Any:
    options = tf.GPUOptions(emulated_gpus=1)
    with (
        tf.Graph().as_default(),
        tf.Session(config=tf.ConfigProto(gpu_options=options)) as open_session,
    ):
        yield open_session


def two_steps() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [2, 2])
    return x, tf.reduce_sum(tf.matmul(x, x, name="product"), name="sum")


@pytest.mark.parametrize("switch", ["0", "1", ""])
def test_steps_are_captured_unless_the_switch_says_no(
    switch: str, session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUGRAPH_CAPTURE", switch)
    x, y = two_steps()
    report = str(session.explain(y, {x: [[1, 2], [3, 4]]}))
    if switch == "0":
        assert "not captured from product to sum:0: 3 steps, for GPUGRAPH_CAPTURE is 0" in report
    else:
        assert "captured from product to sum:0: 3 steps" in report and "not captured" not in report
    for _ in range(4):
        assert session.run(y, {x: [[1, 2], [3, 4]]}) == 54
        assert session.run(y, {x: [[1, 0], [0, 1]]}) == 2


def test_another_switch_is_an_error(session: tf.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_CAPTURE", "no")
    x, y = two_steps()
    with pytest.raises(tf.errors.InvalidArgumentError, match="GPUGRAPH_CAPTURE is 'no'; possible"):
        session.run(y, {x: [[1, 2], [3, 4]]})


def test_what_no_run_has_brought_to_its_end_is_not_captured() -> None:
    """A step after a failed one has loaded nothing yet, and may not load during a capture."""
    calls_made: list[str] = []
    broken = True

    def one() -> None:
        calls_made.append("one")
        if broken:
            raise RuntimeError("one")

    def capture(work: Any) -> Any:
        calls_made.append("capture")
        work()
        return lambda: calls_made.append("replay")

    device = SimpleNamespace(name="GPU", lock=RLock(), capture=capture, kernels=None)
    calls = (one, lambda: calls_made.append("two"))
    steps = [
        Step(f"s{index}", "Op", "GPU", index, Enqueued([EnqueuedPart(call, None)], device.lock))
        for index, call in enumerate(calls)
    ]
    guard: Any = None
    (entry,) = with_captures([GuardedStep(guard, step) for step in steps], {"GPU": device}, [])
    with pytest.raises(RuntimeError, match="one"):
        entry.step.run()
    broken = False
    for _ in range(3):
        entry.step.run()
    first, eager, recorded = ["one"], ["one", "two"], ["capture", "one", "two"]
    assert calls_made == [*first, *eager, *recorded, "replay", "replay"]


def test_runs_with_a_limit_are_captured_too(monkeypatch: pytest.MonkeyPatch) -> None:
    captures = []
    kept = CudaDevice.capture
    monkeypatch.setattr(
        CudaDevice, "capture", lambda self, work: captures.append(1) or kept(self, work)
    )
    config = tf.ConfigProto(
        gpu_options=tf.GPUOptions(emulated_gpus=1), operation_timeout_in_ms=60_000
    )
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x, y = two_steps()
        for _ in range(4):
            assert session.run(y, {x: [[1, 2], [3, 4]]}) == 54
        assert captures == [1]


def test_what_is_assigned_is_captured_with_what_reads_it(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2])
    held = tf.Variable([0.0, 0.0], name="held")
    assign = held.assign(2 * x, use_locking=False)
    with tf.control_dependencies([assign]):
        read = tf.exp(held.read_value()) + x
    assert "captured from mul to add" in str(session.explain(read, {x: [1, 2]}))
    for turn in range(4):
        value = np.array([turn, 1.0], np.float32)
        np.testing.assert_allclose(session.run(read, {x: value}), np.exp(2 * value) + value, 1e-6)
        np.testing.assert_array_equal(session.run(held), 2 * value)


def test_what_is_read_before_it_is_assigned_has_no_value(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2])
    held = tf.Variable([0.0, 0.0], name="held")
    doubled = tf.exp(held) * x
    with tf.control_dependencies([doubled]):
        assign = held.assign(doubled, use_locking=False)
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value held"):
        session.run(assign, {x: [1, 2]})
    session.run(held.initializer)
    assert "not captured" not in str(session.explain(assign, {x: [1, 2]}))
    for _ in range(3):
        session.run(assign, {x: [1, 2]})
    np.testing.assert_allclose(session.run(held), [np.exp(np.e), 2 * np.exp(2 * np.exp(2))], 1e-5)


def test_a_step_of_adam_is_one_capture(session: tf.Session) -> None:
    held = [tf.Variable([1.0, 2.0]) for _ in range(3)]
    count = tf.train.get_or_create_global_step()
    loss = tf.add_n([tf.reduce_sum(variable * variable) for variable in held])
    train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=count)
    report = str(session.explain(train))
    assert report.count("captured from") == 1
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(train)
    powers = [variable for variable in tf.global_variables() if variable.op.name.startswith("beta")]
    np.testing.assert_allclose(session.run(powers), [0.9**4, 0.999**4], 1e-6)
