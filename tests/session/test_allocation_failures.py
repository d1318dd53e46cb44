"""A training step whose memory is refused at every possible point in turn, in one session."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.memory import FailingAllocator, FailingSubAllocator, HostSubAllocator

IMAGES = np.random.RandomState(0).normal(size=(8, 10, 10, 1)).astype("float32")
LABELS = np.arange(8) % 3


class Training:
    """A small network with a convolution and a loop, its session on a virtual GPU."""

    def __init__(self) -> None:
        with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
            tf.set_random_seed(1)
            self.images = tf.placeholder(tf.float32, [None, 10, 10, 1])
            self.labels = tf.placeholder(tf.int32, [None])
            y = tf.layers.conv2d(self.images, 4, 3, activation=tf.nn.relu)
            y = tf.layers.dense(tf.layers.flatten(y), 5)
            y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(2 * y)), [0, y])[1]
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=self.labels, logits=tf.layers.dense(y, 3)
            )
            self.loss = tf.reduce_mean(losses)
            self.train = tf.train.AdamOptimizer(0.01).minimize(self.loss)
            start = tf.global_variables_initializer()
        config = tf.ConfigProto(
            gpu_options=tf.GPUOptions(virtual_gpus=[8]), allow_soft_placement=True
        )
        self.session = tf.Session(graph=graph, config=config)
        self.session.run(start)
        self.gpu = self.session._backend.devices[1]

    def step(self) -> float:
        feeds = {self.images: IMAGES, self.labels: LABELS}
        return self.session.run([self.loss, self.train], feeds)[0]

    def forget_plans(self) -> None:
        """Has the next step compiled again, so that it allocates all of its memory."""
        self.session._backend.plans.drop_idle()


@pytest.fixture
def training() -> Iterator[Training]:
    state = Training()
    yield state
    state.session.close()


@pytest.fixture(scope="module")
def losses() -> list[float]:
    """Those of a session in which nothing was refused."""
    state = Training()
    return [state.step() for _ in range(4)]


def refused_at_every_point(training: Training, counter: FailingAllocator | FailingSubAllocator):
    """Return the losses of the steps that follow refusals of the first, second, ... request in
    turn.
    """
    seen: list[str] = []
    while True:
        training.forget_plans()
        first = counter.num_requests + len(seen)
        counter.refuses = lambda number, _, first=first: number >= first
        try:
            training.step()
        except tf.errors.ResourceExhaustedError as error:
            assert "OOM when allocating" in error.message
            seen.append(error.message)
        else:
            assert counter.num_requests <= first
            return seen
        finally:
            counter.refuses = lambda *_: False


def test_an_allocator_that_refuses_at_every_point(training, losses):
    counter = FailingAllocator(training.gpu.allocator, lambda *_: False)
    training.gpu.allocator = counter
    messages = refused_at_every_point(training, counter)
    assert len(messages) > 3  # the arena, scratch, the loop's stack
    assert [training.step() for _ in range(3)] == losses[1:]
    held = counter.get_stats().bytes_in_use
    training.step()
    assert counter.get_stats().bytes_in_use == held


def test_a_sub_allocator_that_refuses_at_every_point(training, losses):
    source = training.gpu.allocator._source
    counter = FailingSubAllocator(source.sub_allocator, lambda *_: False)
    source.sub_allocator = counter
    training.gpu.allocator.deallocate_free_regions()
    refused_at_every_point(training, counter)
    assert [training.step() for _ in range(3)] == losses[1:]
    training.gpu.allocator.check()


def test_a_limit_smaller_than_one_tensor(losses):
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None], name="x")
        total = tf.reduce_sum(tf.exp(x, name="exp"))
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=[1]))
    with tf.Session(graph=graph, config=config) as session:
        for _ in range(2):
            with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
                session.run(total, {x: np.zeros(1 << 20)})
            text = caught.value.message
            assert text.startswith("OOM when allocating tensor with shape[1048576] and type float")
            assert "None of its kernels has run." in text and "limit 1048576 bytes" in text
            assert "rows instead of 1048576 in x:0" in text
            assert session.run(total, {x: np.zeros(1 << 16)}) == 1 << 16


def test_host_regions_are_real_memory():
    allocator = FailingSubAllocator(HostSubAllocator(), lambda *_: False)
    address = allocator.alloc(64, 4096)
    assert len(allocator.region(address).buffer) == 4096
    allocator.free(address, 4096)
