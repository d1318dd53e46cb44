"""Generated CUDA sources for the sweep: those of the samples of every declared op on a GPU, and
those of joined launches in training steps.

Each sample is built alone and run on an emulated GPU whose driver records the sources and computes
nothing, so that a thousand take seconds. The numbers are meaningless, so errors of a sample are
ignored.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import gpugraph as tf  # noqa: E402
from gpugraph.devices.cuda.driver.driver_interface import Geometry  # noqa: E402
from gpugraph.devices.cuda.emulation import host_driver  # noqa: E402
from gpugraph.devices.cuda.emulation.cxx_compiler import HostModule  # noqa: E402
from gpugraph.ops.framework.op_declaration import DECLARATIONS  # noqa: E402
from tests.ops.one_op import Built  # noqa: E402
from tests.ops.samples import TABLE  # noqa: E402

__all__ = ["OPTIONS", "Recorded", "evenly", "joined_texts", "recording", "sample_texts"]

ALL_OPS = sorted(set(TABLE) & set(DECLARATIONS))
OPTIONS = tf.ConfigProto(
    gpu_options=tf.GPUOptions(emulated_gpus=1),
    allow_soft_placement=True,
    log_device_placement=False,
)


class Recorded(HostModule):
    """A module that has any kernel, which does nothing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kernels = defaultdict(str)

    def check(self, function: str, geometry: Geometry, arguments: Sequence[Any]) -> None:
        pass

    def launch(
        self, function: str, geometry: Geometry, arguments: Sequence[Any], *how: Any, **more: Any
    ) -> None:
        pass


def evenly(items: Sequence[Any], most: int) -> Sequence[Any]:
    """Return `most` of the items, evenly picked; all if there are no more, or `most` is 0."""
    if not 0 < most < len(items):
        return items
    return [items[turn * len(items) // most] for turn in range(most)]


def sample_texts(op_types: Sequence[str] = (), most: int = 0) -> Iterator[tuple[str, str]]:
    """Yield each source once, named by its first sample.

    op_types: by default all.
    most: if given, one source of each of so many ops, evenly picked, or some more; of each in
      turn another sample. All samples of all ops take a minute.
    """
    with recording() as texts:
        # Several ops may share a source.
        for turn, op_type in enumerate(evenly(op_types or ALL_OPS, 3 * most)):
            samples = list(enumerate(TABLE[op_type].samples))
            start, count = turn % len(samples) if most else 0, len(texts)
            for number, sample in samples[start:] + samples[:start]:
                texts.label = f"{op_type} sample {number}"
                _run(op_type, sample)
                if most and len(texts) > count:
                    break
    yield from texts.named()


class _Texts(dict[str, str]):
    """The name of each source: the label at the time when it is first loaded."""

    label = ""

    def load(self, text: str, name: str) -> HostModule:
        self.setdefault(text, f"{self.label} ({name})")
        return Recorded(name)

    def named(self) -> Iterator[tuple[str, str]]:
        for text, name in self.items():
            yield name, text


@contextmanager
def recording() -> Iterator[_Texts]:
    texts = _Texts()
    with mock.patch.object(host_driver, "load", texts.load):
        yield texts


def _run(op_type: str, sample: Any) -> None:
    with tf.Graph().as_default():
        try:
            built = Built(op_type, sample, "/device:GPU:0")
            with tf.Session(config=OPTIONS) as session:
                built(session)
        except Exception:  # of meaningless numbers, or an op without a GPU kernel
            return


OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "centered": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
}


def joined_texts() -> Iterator[tuple[str, str]]:
    """Sources of joined launches: training steps of many variables, and sums of rows."""
    with recording() as texts:
        for name, make in OPTIMIZERS.items():
            for dtype in (tf.float32, tf.float16, tf.float64):
                texts.label = f"joined {name} {dtype.name}"
                with tf.Graph().as_default(), tf.Session(config=OPTIONS) as session:
                    _train(session, make(), dtype)
    yield from ((name, text) for name, text in texts.named() if "_table" in text)


def _train(session: Any, optimizer: Any, dtype: Any) -> None:
    with tf.device("/gpu:0"):
        shapes = [[], [], [], *([size] for size in (2, 3, 5)), [1, 40], [6, 40], [9, 40]]
        variables = [tf.Variable(tf.ones(shape, dtype)) for shape in shapes]
        rows = [tf.reduce_mean(matrix, 1, keepdims=True) - matrix for matrix in variables[-3:]]
        slopes = [tf.cast(0.25, dtype) * variable for variable in variables[:-3]] + rows
        train = optimizer.apply_gradients(list(zip(slopes, variables)))
    session.run(tf.global_variables_initializer())
    session.run(train)


if __name__ == "__main__":
    corpus = list(sample_texts(sys.argv[1:]))
    print(f"{len(corpus)} sources, {len({name for name, _ in corpus})} names")
