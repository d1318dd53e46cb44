"""Scratch memory: steps share it, their results do not depend on what is in it."""

import numpy as np

import gpugraph as tf
from gpugraph.base.dtypes import uint8
from gpugraph.compile.steps import kernel_context
from gpugraph.compile.steps.scratch_memory import ScratchPool
from tests.compile.stages import make_target


def test_a_step_has_blocks_of_its_own_and_steps_share_them():
    device, owned = make_target().devices[0], []
    pool = ScratchPool(device, owned)
    first = pool.block(1000, (), "a")
    second = pool.block(1000, [first], "a")
    assert first is not second and len(owned) == 2
    assert pool.block(500, (), "b") in (first, second)
    assert pool.block(1000, [second], "b") is first
    large = pool.block(100_000, (), "c")
    assert large not in (first, second) and len(owned) == 3
    assert pool.block(600, [first, second], "d") is large
    device.view(large.address, (100_000,), uint8)[...] = 1
    assert large.array[:100_000].all()


def loss_of_many_convolutions():
    x = tf.placeholder(tf.float32, [2, 32, 32, 8])
    y = x
    for number in range(8):
        kernel = tf.constant(np.random.RandomState(number).normal(0, 0.1, (3, 3, 8, 8)))
        y = tf.nn.relu(tf.nn.conv2d(y, tf.cast(kernel, "float32"), [1, 1, 1, 1], "SAME"))
    return x, [tf.reduce_sum(y), *tf.gradients(tf.reduce_sum(y), x)]


def memory_and_results():
    x, fetches = loss_of_many_convolutions()
    values = np.random.RandomState(0).normal(size=x.shape.as_list())
    with tf.Session() as session:
        arenas = session.explain(fetches, {x: values}).arena_bytes
        results = [session.run(fetches, {x: values}) for _ in range(3)]
        (stats,) = session.memory_stats().values()
        return stats.bytes_in_use - sum(arenas.values()), results


def test_a_plan_holds_what_the_largest_step_needs(monkeypatch):
    shared, results = memory_and_results()
    monkeypatch.setattr(
        kernel_context.KernelBinding, "scratch", kernel_context.KernelBinding.lasting
    )
    apart, expected = memory_and_results()
    assert apart > 4 * shared > 0
    for run, wanted in zip(results, expected):
        assert [a.tobytes() for a in run] == [b.tobytes() for b in wanted]
