"""Batches computed ahead, by threads and by processes."""

from __future__ import annotations

import itertools
import os
import threading
import time

import numpy as np
import pytest

import gpugraph as tf

utils = tf.keras.utils


class Squares(utils.Sequence):
    def __init__(self):
        self.offset = 0

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index**2 + self.offset, os.getpid()

    def on_epoch_end(self):
        self.offset += 100


@pytest.mark.parametrize("processes", [False, True])
def test_items_come_in_order_epoch_after_epoch(processes):
    enqueuer = utils.OrderedEnqueuer(Squares(), use_multiprocessing=processes)
    enqueuer.start(workers=2, max_queue_size=3)
    items = list(itertools.islice(enqueuer.get(), 6))
    enqueuer.stop()
    assert [value for value, _ in items] == [0, 1, 4, 9, 100, 101]
    assert all((pid == os.getpid()) is not processes for _, pid in items)
    assert not enqueuer.is_running()
    assert not any("keras_input" in thread.name for thread in threading.enumerate())


def test_a_generator_ends():
    enqueuer = utils.GeneratorEnqueuer(iter([1, 2, 3]))
    enqueuer.start(workers=4, max_queue_size=2)
    assert list(enqueuer.get()) == [1, 2, 3]
    enqueuer.stop()


def test_items_are_in_a_new_order():
    enqueuer = utils.OrderedEnqueuer(Squares(), shuffle=True)
    enqueuer.start()
    values = [value for value, _ in itertools.islice(enqueuer.get(), 4)]
    enqueuer.stop()
    assert sorted(values) == [0, 1, 4, 9]


def test_classes_as_rows():
    np.testing.assert_array_equal(utils.to_categorical([[1], [0]], 3), [[0, 1, 0], [1, 0, 0]])
    assert utils.to_categorical([2, 0]).shape == (2, 3)
    np.testing.assert_allclose(utils.normalize(np.array([[3.0, 4.0]])), [[0.6, 0.8]])


class Slow(utils.Sequence):
    """Some of its items take longer than others."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        time.sleep(0.03 * (index % 2 == 0))
        return index


@pytest.mark.parametrize("use_multiprocessing", [False, True])
def test_the_order_is_that_of_the_data(use_multiprocessing):
    """Of processes too, and of a generator, which TensorFlow 1.15 takes from in any order."""
    enqueuer = utils.OrderedEnqueuer(Slow(), use_multiprocessing)
    enqueuer.start(workers=3, max_queue_size=4)
    values = list(itertools.islice(enqueuer.get(), 15))
    enqueuer.stop()
    assert values == [*range(6), *range(6), *range(3)]
    enqueuer = utils.GeneratorEnqueuer(iter(range(20)), use_multiprocessing)
    enqueuer.start(workers=4, max_queue_size=10)
    values = list(enqueuer.get())
    enqueuer.stop()
    assert values == list(range(20))
