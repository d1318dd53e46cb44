"""Runs of a plan that leaves sizes open are refused before they begin where they can't fit."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.session.room_for_open_sizes import RoomForOpenSizes
from gpugraph.session.runner_plans import EXACT_PLANS

MIB = 1 << 20


def test_what_is_covered_or_surely_fits_is_not_compiled() -> None:
    asked: list[object] = []

    def part(shapes: tuple[tuple[int, ...], ...]) -> float:
        asked.append(shapes)
        return sum(map(math.prod, shapes)) / 1000

    room = RoomForOpenSizes(part)
    for sizes, compiles in [
        ((100, 1), True),
        ((100, 1), False),
        ((99, 1), False),
        ((120, 1), False),  # about 0.12, and at most 0.144
        ((300, 1), True),
        ((2, 150), True),  # no larger, but of another kind, and 0.3 is much
        ((300,), True),
        ((200, 1), False),
    ]:
        asked.clear()
        room.check((sizes,))
        assert bool(asked) == compiles, sizes


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def test_a_step_on_open_sizes_is_refused_before_any_kernel_runs() -> None:
    rows = tf.placeholder(tf.float32, [None], name="rows")
    with tf.device("/gpu:0"):
        count = tf.get_variable("count", [], initializer=tf.zeros_initializer(), use_resource=False)
        with tf.control_dependencies([count.assign_add(1.0)]):
            total = tf.reduce_sum(tf.exp(tf.cumsum(rows * 0.0, name="sum"), name="exp"))
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=[8]))
    with tf.Session(config=config) as session:
        session.run(count.initializer)
        for size in range(1, EXACT_PLANS + 3):
            assert session.run(total, {rows: np.zeros(size)}) == size
        plan = session.explain(total, {rows: np.zeros(EXACT_PLANS + 3)})
        assert (
            "tensors on GPU:0 are sized in each run: beside the arena, in what is left of 8.00MiB"
            in (plan.memory())
        )
        for _ in range(2):
            with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
                session.run(total, {rows: np.zeros(2 * MIB)})
            assert "None of its kernels has run." in caught.value.message
            assert "rows instead of 2097152 in rows:0" in caught.value.message
            assert session.run(count) == EXACT_PLANS + 2
        assert session.run(total, {rows: np.zeros(MIB // 2)}) == MIB // 2
        assert session.run(count) == EXACT_PLANS + 3


def test_scratch_for_which_there_is_no_room() -> None:
    images = tf.placeholder(tf.float32, [None, 64, 64, 8], name="images")
    with tf.device("/gpu:0"):
        kernel = tf.ones([5, 5, 8, 8])
        count = tf.get_variable("count", [], initializer=tf.zeros_initializer(), use_resource=False)
        with tf.control_dependencies([count.assign_add(1.0)]):
            total = tf.reduce_sum(tf.nn.conv2d(images, kernel, [1] * 4, "SAME", name="conv"))
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=[4]), allow_soft_placement=True)
    with tf.Session(config=config) as session:
        session.run(count.initializer)
        fits = 0
        for number in range(1, 17):
            try:
                session.run(total, {images: np.zeros((number, 64, 64, 8))})
                fits = number
            except tf.errors.ResourceExhaustedError as error:
                assert "None of its kernels has run." in error.message
                assert (
                    error.message.endswith("The session stays usable.")
                    or "[[node conv" in error.message
                )
            else:
                continue
            break
        assert 0 < fits < 16
        assert session.run(count) == fits
