"""Use of memory: by device and owner, and the memory that a session frees."""

import numpy as np
import pytest

import gpugraph as tf

MIB = 1 << 20


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None], name="x")
        weights = tf.get_variable("weights", [MIB // 4], initializer=tf.zeros_initializer())
        total = tf.reduce_sum(tf.exp(x))
        config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=[64]))
        with tf.Session(config=config) as session:
            session.run(weights.initializer)
            yield session, lambda: session.run(total, {x: np.zeros(4 * MIB)})


def test_owners_by_device(session):
    session, run = session
    run()
    host, gpu = session.memory_stats().values()
    assert gpu.owners["weights"] == MIB
    assert gpu.owners["a run of Sum:0"] >= 16 * MIB
    assert list(gpu.owners.values()) == sorted(gpu.owners.values(), reverse=True)
    assert sum(gpu.owners.values()) <= gpu.bytes_in_use <= gpu.peak_bytes_in_use
    assert "weights" not in host.owners
    assert gpu.bytes_limit == 64 * MIB


def test_memory_that_is_kept_for_later_runs_is_given_back(session):
    session, run = session
    assert run() == 4 * MIB
    assert session.release_memory() >= 16 * MIB
    _, gpu = session.memory_stats().values()
    assert gpu.owners["weights"] == MIB and gpu.bytes_reserved < 16 * MIB
    assert not any(owner.startswith("a run of") for owner in gpu.owners)
    assert session.release_memory() == 0
    assert run() == 4 * MIB


def test_memory_that_is_given_back_again_and_again_does_not_grow(session):
    session, run = session
    reserved = []
    for _ in range(8):
        run()
        reserved.append([use.bytes_reserved for use in session.memory_stats().values()])
        session.release_memory()
    assert reserved == reserved[:1] * 8


def test_a_closed_session_has_no_memory(session):
    session, _ = session
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.release_memory()
