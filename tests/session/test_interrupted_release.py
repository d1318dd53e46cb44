"""A handler's exception at any place of release_memory, explain and close loses nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from tests.signals_at import raising, stopped_at_call

MODULES = (
    *("session.base_session", "session.direct_session", "session.plan_cache"),
    *("compile.steps.plan_arrays", "devices.device", "devices.memory_use", "devices.run_memory"),
    *("devices.session_resources", "memory.sub_allocator", "memory.bfc.bfc_allocator"),
    *("memory.bfc.chunk_store", "memory.bfc.region_growth"),
)
FILES = {str(import_module(f"gpugraph.{name}").__file__) for name in MODULES}

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    with raising():
        yield


class Training:
    """A session that trains, on a virtual GPU, and has run other fetches besides."""

    def __init__(self) -> None:
        with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
            self.x = tf.placeholder(tf.float32, [None, 64])
            v = tf.get_variable("v", initializer=np.linspace(-1, 1, 64, dtype=np.float32))
            y = tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, y * v), [0, self.x])[1]
            self.loss = tf.reduce_sum(tf.tanh(y + tf.constant(np.ones((4, 64), np.float32))))
            self.train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(self.loss)
            self.other = tf.exp(self.x)
            start = tf.global_variables_initializer()
        config = tf.ConfigProto(
            gpu_options=tf.GPUOptions(virtual_gpus=[8]), allow_soft_placement=True
        )
        self.session = tf.Session(graph=graph, config=config)
        self.devices = self.session._backend.devices
        self.session.run(start)
        self.feeds = {self.x: np.ones((4, 64))}

    def step(self) -> float:
        loss, _ = self.session.run([self.loss, self.train], self.feeds)
        return float(loss)

    def held(self) -> list[tuple[int, int]]:
        """Of each device the bytes in use and in regions, which are all that there are."""
        for each in self.devices:
            each.allocator.check()
            sub = each.allocator.sub_allocator
            regions = [region.base for region in each.allocator.regions()]
            assert sorted(sub._regions._regions) == sub._regions._bases == regions
        stats = [each.allocator.get_stats() for each in self.devices]
        return [(entry.bytes_in_use, entry.bytes_reserved) for entry in stats]

    def released(self) -> list[tuple[int, int]]:
        """Return the same, after releasing all memory that can be."""
        gc.collect()
        self.session.release_memory()
        return self.held()


@pytest.fixture(scope="module")
def expected() -> Any:
    """Return the losses, and the memory held in the end, without an interrupt."""
    training = Training()
    losses = [training.step() for _ in range(4)]
    return losses, training.released()


CALLS = {
    "release_memory": lambda training: training.session.release_memory(),
    "explain": lambda training: training.session.explain(training.other, training.feeds),
    "close": lambda training: training.session.close(),
}


@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("stride", [47, pytest.param(3, marks=pytest.mark.exhaustive)])
def test_nothing_is_lost(what: str, stride: int, expected: Any) -> None:
    losses, left = expected
    places = 0
    for place in range(1, 5000, stride):
        training = Training()
        assert [training.step() for _ in range(2)] == losses[:2]
        interrupted, _ = stopped_at_call(FILES, partial(CALLS[what], training), place)
        places += interrupted
        if what != "close":
            assert [training.step() for _ in range(2)] == losses[2:], place
            assert training.session.run(training.other, training.feeds).shape == (4, 64)
            assert training.released() == left, place
        elif training.session._closed:
            with pytest.raises(RuntimeError, match="closed"):
                training.step()
        else:
            assert training.step() == losses[2], place
        training.session.close()
        gc.collect()
        assert not any(in_use for in_use, _ in training.held()), place
        if not interrupted:
            break
    assert places > 50 / stride
