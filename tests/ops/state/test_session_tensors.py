"""Tensors that stay in a session between runs."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

NAME = "/job:localhost/replica:0/task:0/device"


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def in_use(session: Any, device: str = "CPU:0") -> int:
    gc.collect()
    return int(session.memory_stats()[f"{NAME}:{device}"].bytes_in_use)


def test_a_handle_names_op_and_device_and_gives_the_value(session: Any) -> None:
    handle = session.run(tf.get_session_handle(tf.constant([10, 20]) * 2))
    assert handle.handle == str(handle) == f"GetSessionHandle;0;{NAME}:CPU:0"
    assert handle.eval().tolist() == [20, 40]
    text = session.run([tf.get_session_handle(tf.constant("s"), name="h")])[0]
    assert (text.handle.split(";")[:2], text.eval()) == (["h", "1"], b"s")


def test_a_later_run_reads_the_tensor(session: Any) -> None:
    kept = session.run(tf.get_session_handle(tf.constant(2.0) * 5.0))
    holder, tensor = tf.get_session_tensor(kept.handle, tf.float32)
    assert session.run(tensor * 10.0, {holder: kept.handle}) == 100
    assert tensor.dtype is tf.float32


def test_a_handle_is_fed_in_place_of_a_value(session: Any) -> None:
    x = tf.placeholder(tf.float32, [2])
    kept = session.run(tf.get_session_handle(x * 2.0), {x: [1, 2]})
    doubled = session.run(tf.get_session_handle(x * 2.0), {x: kept})
    assert session.run([x, x + 1.0], {x: doubled})[1].tolist() == [5, 9]
    assert session.run(x, {x: doubled}).tolist() == [4, 8]
    with pytest.raises(tf.errors.InvalidArgumentError, match="is of a tensor of float32"):
        session.run(tf.placeholder(tf.int32, name="i"), {"i:0": kept})


def test_a_loop_of_runs_keeps_its_state(session: Any) -> None:
    state = session.run(tf.get_session_handle(tf.constant(0)))
    holder, tensor = tf.get_session_tensor(state.handle, tf.int32)
    following = tf.get_session_handle(tensor + 1)
    before = None
    for _ in range(30):
        state = session.run(following, {holder: state.handle})
        before = in_use(session) if before is None else before
    assert state.eval() == 30
    assert in_use(session) == before


def test_memory_is_given_back_with_the_handle(session: Any) -> None:
    data = tf.random_uniform([1000])
    fetch = tf.get_session_handle(data)
    session.run(fetch).delete()
    before = in_use(session)
    kept = session.run(fetch)
    assert in_use(session) - before >= 4000
    kept.delete()
    assert in_use(session) == before
    kept = session.run(fetch)
    del kept
    assert in_use(session) == before
    raw = session.run(fetch).get_raw_handle()
    assert in_use(session) - before >= 4000
    holder, deleter = tf.delete_session_tensor(raw)
    assert session.run(deleter, {holder: raw}) is None
    assert in_use(session) == before


def test_what_is_deleted_or_of_another_session_is_an_error(session: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    kept = session.run(tf.get_session_handle(tf.constant(1.0)))
    holder, tensor = tf.get_session_tensor(kept.handle, tf.float32)
    wrong = tf.get_session_tensor(kept.handle, tf.int32)
    _, deleter = tf.delete_session_tensor(kept.handle)
    missing = f"The tensor with handle '{kept.handle}' is not in the session store."
    with tf.Session() as other:
        for fetch, feeds in ((tensor, {holder: kept.handle}), (x, {x: kept})):
            with pytest.raises(tf.errors.InvalidArgumentError, match=missing):
                other.run(fetch, feeds)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is float32, not int32"):
        session.run(wrong[1], {wrong[0]: kept.handle})
    kept.delete()
    for use in (kept.eval, kept.delete):
        with pytest.raises(TypeError, match=r"Persistent tensor .* may have already been deleted"):
            use()
    for fetch in (tensor, deleter):
        with pytest.raises(tf.errors.InvalidArgumentError, match=missing):
            session.run(
                fetch, {fetch.op.inputs[0] if fetch is tensor else deleter.inputs[0]: kept.handle}
            )
    with pytest.raises(TypeError, match="`data` must be of type Tensor"):
        tf.get_session_handle(3.0)


def test_a_closed_session_keeps_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        kept = session.run(tf.get_session_handle(tf.constant(1.0)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
        kept.eval()


def test_a_value_stays_on_its_device_and_is_read_on_another() -> None:
    with tf.Graph().as_default():
        with tf.device("/gpu:0"):
            fetch = tf.get_session_handle(tf.placeholder(tf.float32, [1000], name="x") * 2.0)
        config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=[16]))
        with tf.Session(config=config) as session:
            kept = session.run(fetch, {"x:0": np.ones(1000)})
            assert kept.handle.endswith("device:GPU:0")
            session.run(fetch, {"x:0": np.ones(1000)}).delete()
            before = in_use(session, "GPU:0")
            again = session.run(fetch, {"x:0": np.ones(1000)})
            assert in_use(session, "GPU:0") - before >= 4000
            assert again.eval().sum() == 2000
            holder, tensor = tf.get_session_tensor(kept.handle, tf.float32)
            with tf.device("/cpu:0"):
                total = tf.reduce_sum(tensor)
            assert session.run(total, {holder: kept.handle}) == 2000


def test_a_part_of_a_step_gives_and_takes_handles(session: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.placeholder(tf.float32, [])
    fetches = [tf.get_session_handle(x + 1.0), x * y]
    run = session.partial_run_setup(fetches, [x, y])
    kept = session.partial_run(run, fetches[0], {x: 1})
    assert kept.eval() == 2
    assert session.partial_run(run, fetches[1], {y: kept}) == 2
