"""A kernel that raises in mid-step, on any device: one clear error, nothing left of the run."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.memory import side_by_side


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def session_of(gpus: int = 0) -> Any:
    options = tf.GPUOptions(virtual_gpus=gpus)
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": 3}, gpu_options=options))


def held(session: Any) -> dict[str, int]:
    gc.collect()
    return {name: stats.bytes_in_use for name, stats in session._backend.memory_stats().items()}


@pytest.mark.parametrize("second", ["/cpu:1", "/gpu:1"])
@pytest.mark.parametrize("side", [False, True])
def test_a_kernel_that_raises_on_a_second_device(
    second: str, side: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if side:
        monkeypatch.setattr(side_by_side, "HEAVY", 1)
        monkeypatch.setattr(side_by_side, "blas_threads", lambda: 1)
        monkeypatch.setattr(side_by_side, "processor_count", lambda: 3)
    x = tf.placeholder(tf.float32, [4, 4], name="x")
    rows = tf.placeholder(tf.bool, [4], name="rows")
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer, use_resource=True)
    with tf.device("/cpu:0"):
        kept = tf.boolean_mask(tf.matmul(x, x), rows)  # of a size that is known in the run
        sent = kept * 2.0
    with tf.device(second):
        product = tf.matmul(x, x + 1)
        checked = tf.check_numerics(product, "too large", name="checked")
        total = tf.reduce_sum(sent) + tf.reduce_sum(checked)
    with tf.device("/cpu:2"):
        called = tf.py_func(lambda value: value, [sent], tf.float32)
        with tf.control_dependencies([total]):
            late = v.assign_add(1.0)
    fetches = [total, called, late]
    good = {x: np.eye(4), rows: [True, False, True, True]}
    bad = {x: np.full([4, 4], np.inf), rows: [True, True, False, False]}
    with session_of(2 if second.startswith("/gpu") else 0) as session:
        session.run(v.initializer)
        first = session.run(fetches, good)
        session.run(fetches, good)
        before, threads = held(session), threading.active_count()
        for _ in range(5):
            with pytest.raises(tf.errors.InvalidArgumentError) as found:
                session.run(fetches, bad)
            assert "checked : Tensor had Inf" in found.value.message.replace("  ", " ") or (
                "too large" in found.value.message
            )
            assert "[[node checked" in found.value.message
            assert found.value.op.name == "checked"
            del found
        assert (held(session), threading.active_count()) == (before, threads)
        again = session.run(fetches, good)
        np.testing.assert_array_equal(again[1], first[1])
        assert (again[0], again[2]) == (first[0], 3)


def test_the_first_error_is_told_and_what_comes_after_it_is_not_run() -> None:
    calls: list[str] = []

    def note(name: str, value: Any) -> Any:
        calls.append(name)
        if name == "bad":
            raise ValueError("out of order")
        return value

    x = tf.placeholder(tf.float32, [])
    with tf.device("/cpu:1"):
        bad = tf.py_func(lambda value: note("bad", value), [x], tf.float32, name="bad")
    with tf.device("/cpu:2"):
        after = tf.py_func(lambda value: note("after", value), [bad], tf.float32)
    with session_of() as session:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="out of order"):
                session.run([after, x + 1], {x: 1.0})
        assert calls == ["bad"] * 3
        assert session.run(x + 1, {x: 1.0}) == 2


def test_a_device_specification_that_is_none_is_refused_at_the_run() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.tanh(x, name="y")
    y.op._set_device("/gpu:zero")
    z = tf.tanh(x)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as found:
            session.run(y, {x: 1.0})
        said = "Malformed device specification '/gpu:zero' in node: y"
        assert found.value.message.startswith(said)
        assert session.run(z, {x: 0.0}) == 0


@pytest.mark.parametrize("name", ["/cpu:-1", "/device:GPU:-2", "/job:localhost/task:-1"])
def test_a_negative_number_is_refused_at_the_run_under_soft_placement_too(name) -> None:
    with tf.device(name):
        source = tf.placeholder(tf.float32, [])
        x = tf.tanh(source, name="x")
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(config=config) as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as found:
            session.run(x + 1, {source: 1.0})
        said = f"Malformed device specification '{x.op.device}' in node: x"
        assert found.value.message.startswith(said)


def test_a_malformed_device_is_refused_where_the_graph_is_built() -> None:
    for name, said in (("/foo", "Unknown attribute: 'foo'"), ("/device:CPU:x", "'x'")):
        with pytest.raises(ValueError, match=said), tf.device(name):
            tf.constant(1.0)
