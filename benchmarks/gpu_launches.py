"""Launches of a training step of ResNet-50 on an emulated GPU, and the bytes that they touch.

    python benchmarks/gpu_launches.py [--batch N] [--size PIXELS] [--dtype float16] [--layout NHWC]
                                      [--inference] [--transformer] [--unfused]

--transformer counts a step of two layers of a transformer with heads of 64 instead, for which
--size is the length of a sequence. --unfused switches the fusion of attentions, convolutions and
products off. The last line is the memory that the step's tensors occupy at once.

Nothing is computed: the driver records each launch with the memory that it reads or writes, in
which an array counts once for each launch. The table has a row for each kernel, with products by
cublasLt as `cublasLt`. Times do not follow from it; it shows which kernels run how often, and how
much memory they need at minimum.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "ci")]

from cuda_corpus import Recorded  # noqa: E402

import gpugraph as tf  # noqa: E402
from gpugraph.config import RewriterConfig  # noqa: E402
from gpugraph.devices import gpu_devices  # noqa: E402
from gpugraph.devices.cuda.driver.driver_interface import Product, Span  # noqa: E402
from gpugraph.devices.cuda.emulation.host_driver import HostDriver  # noqa: E402

BLOCKS = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""Of ResNet-50: the channels of a stage, its blocks, and the stride of its first block."""


GENERATED = re.compile(r"gg_[0-9a-f]{16}_")


class Counted:
    """The launches and bytes of each kernel, while `is_on`."""

    def __init__(self) -> None:
        self.is_on = False
        self.launches: dict[str, int] = defaultdict(int)
        self.bytes: dict[str, int] = defaultdict(int)

    def call(self, name: str, *spans: Span) -> Callable[[], None]:
        """Return the callable of a launch, which only counts."""
        num_bytes = sum(dict(spans).values())

        def count() -> None:
            if self.is_on:
                self.launches[name] += 1
                self.bytes[name] += num_bytes

        return count


def driver_class(counted: Counted) -> type[HostDriver]:
    """Return the class of drivers that count their launches and compute nothing."""

    class Driver(HostDriver):
        def compile(self, source: str, name: str) -> Any:
            return Recorded(name)

        def launcher(
            self,
            module: Any,
            function: str,
            geometry: Any,
            arguments: Sequence[Any],
            stream: Any,
            reads: Sequence[Span] = (),
            writes: Sequence[Span] = (),
        ) -> Callable[[], None]:
            name = "generated kernels" if GENERATED.match(function) else function
            return counted.call(name, *reads, *writes)

        def product(
            self, product: Product, workspace: tuple[int, int], stream: Any
        ) -> Callable[[], None] | None:
            reads, writes = product.spans()
            return counted.call("cublasLt", *reads, *writes)

        def copy(self, target: int, source: int, num_bytes: int, stream: Any) -> None:
            counted.call("copies", (target, num_bytes), (source, num_bytes))()

        def capture(self, stream: Any, work: Callable[[], None]) -> Callable[[], None]:
            return work

    return Driver


def resnet50(images: Any, layout: str, training: bool) -> Any:
    """Return the logits of ResNet-50 (He et al., 2015) for 1000 classes."""
    axis = 3 if layout == "NHWC" else 1
    form = "channels_last" if layout == "NHWC" else "channels_first"

    def convolved(x: Any, channels: int, size: int, stride: int = 1, relu: bool = True) -> Any:
        x = tf.layers.conv2d(x, channels, size, stride, "same", data_format=form, use_bias=False)
        x = tf.layers.batch_normalization(x, axis=axis, training=training, fused=True)
        return tf.nn.relu(x) if relu else x

    x = convolved(images, 64, 7, 2)
    x = tf.layers.max_pooling2d(x, 3, 2, "same", data_format=form)
    for channels, count, first in BLOCKS:
        for index in range(count):
            stride = first if index == 0 else 1
            short = x if index else convolved(x, 4 * channels, 1, stride, relu=False)
            y = convolved(x, channels, 1)
            y = convolved(y, channels, 3, stride)
            x = tf.nn.relu(convolved(y, 4 * channels, 1, relu=False) + short)
    x = tf.reduce_mean(x, [1, 2] if layout == "NHWC" else [2, 3])
    return tf.layers.dense(x, 1000)


HEADS, WIDTH = 16, 64
"""Of the transformer: the heads of a layer, and the size of a head."""


def transformer(x: Any) -> Any:
    """Return the logits of two layers (Vaswani et al., 2017) for 1000 classes."""
    batch, length, width = x.shape.as_list()

    def heads(y: Any) -> Any:
        return tf.transpose(tf.reshape(y, [batch, length, HEADS, WIDTH]), [0, 2, 1, 3])

    for _ in range(2):
        query, key, value = (heads(tf.layers.dense(x, width)) for _ in range(3))
        scores = tf.matmul(query, key, transpose_b=True) * WIDTH**-0.5
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
        x = x + tf.layers.dense(tf.reshape(mixed, [batch, length, width]), width)
        x = x + tf.layers.dense(tf.nn.relu(tf.layers.dense(x, 4 * width)), width)
    return tf.layers.dense(tf.reduce_mean(x, 1), 1000)


ARENA = re.compile(r"^arena on \S+: ([^,]+),", re.MULTILINE)


def measured(
    batch: int,
    size: int,
    dtype: str,
    layout: str,
    training: bool,
    network: str = "resnet50",
    is_fused: bool = True,
) -> tuple[Counted, str]:
    """Return the counts of the third run of a step, and the size of its arena."""
    counted = Counted()
    options = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[32768]))
    if not is_fused:
        options.graph_options.rewrite_options.remapping = RewriterConfig.OFF
    with mock.patch.object(gpu_devices, "HostDriver", driver_class(counted)):
        with tf.Graph().as_default(), tf.Session(config=options) as session:
            shape = (batch, size, size, 3) if layout == "NHWC" else (batch, 3, size, size)
            if network == "transformer":
                shape = (batch, size, HEADS * WIDTH)
            images = tf.Variable(tf.zeros(shape, dtype), trainable=False)
            if network == "transformer":
                logits = transformer(images)
            else:
                logits = resnet50(images, layout, training)
            logits = tf.cast(logits, tf.float32)
            labels = tf.constant(np.zeros(batch, np.int32))
            step: Any = logits
            if training:
                loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
                step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
            session.run(tf.global_variables_initializer())
            for run in range(3):
                counted.is_on = run == 2
                session.run(step)
            arena = ARENA.search(str(session.explain(step)))
    return counted, arena[1] if arena else "none"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--dtype", default="float16")
    parser.add_argument("--layout", default="NHWC", choices=["NHWC", "NCHW"])
    parser.add_argument("--inference", action="store_true")
    parser.add_argument("--transformer", action="store_true")
    parser.add_argument("--unfused", action="store_true")
    options = parser.parse_args()
    how = (options.batch, options.size, options.dtype, options.layout, not options.inference)
    network = "transformer" if options.transformer else "resnet50"
    counted, arena = measured(*how, network, not options.unfused)
    print(f"{'launches':>9}{'MB':>10}  kernel")
    for name in sorted(counted.launches, key=lambda name: -counted.bytes[name]):
        print(f"{counted.launches[name]:9}{counted.bytes[name] / 1e6:10.1f}  {name}")
    total = sum(counted.bytes.values()) / 1e6
    print(f"{sum(counted.launches.values()):9}{total:10.1f}  in all")
    print(f"arena: {arena}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
