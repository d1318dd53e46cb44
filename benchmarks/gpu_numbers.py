"""The work of the rows of gpu.py that cpu.py does not have, as sizes and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from cpu_numbers import classes, random

__all__ = ["Attention", "Convolution", "Copy", "Matmul", "Resnet", "SAMPLE"]

SAMPLE = 64
"""How many numbers of a large result are compared."""


def many(seed: int, *shape: int) -> Any:
    """Random numbers; where they are millions, the same ones again and again."""
    count = math.prod(shape)
    numbers = np.random.default_rng(seed).standard_normal(min(count, (1 << 22) - 1), np.float32)
    return np.resize(numbers, shape)


class Copy(NamedTuple):
    """A copy of an array of float32."""

    size: int = 1 << 26

    def x(self) -> Any:
        return many(0, self.size)


class Matmul(NamedTuple):
    """A square product; products of 16 bits are summed in float32."""

    size: int
    dtype: str = "float32"

    def factors(self) -> tuple[Any, Any]:
        return tuple(many(index, self.size, self.size) * self.size**-0.25 for index in (0, 1))


class Attention(NamedTuple):
    """softmax(q k^T / sqrt(depth)) v, without a mask."""

    batch: int = 8
    heads: int = 16
    tokens: int = 2048
    depth: int = 64
    dtype: str = "float16"

    def qkv(self) -> tuple[Any, ...]:
        shape = self.batch, self.heads, self.tokens, self.depth
        return tuple(many(index, *shape) for index in range(3))

    @property
    def scale(self) -> float:
        return float(self.depth**-0.5)


class Convolution(NamedTuple):
    """A convolution of square images with channels last, by windows of stride 1 and same size."""

    batch: int = 64
    size: int = 56
    channels: int = 64
    outputs: int = 64
    window: int = 3
    dtype: str = "float16"

    def arrays(self) -> tuple[Any, Any]:
        """Return the images, and the filter (window, window, channels, outputs)."""
        images = many(0, self.batch, self.size, self.size, self.channels)
        shape = self.window, self.window, self.channels, self.outputs
        return images, many(1, *shape) * (self.window**2 * self.channels) ** -0.5

    @property
    def operations(self) -> int:
        return 2 * self.batch * self.size**2 * self.window**2 * self.channels * self.outputs


class Resnet(NamedTuple):
    """A residual network of bottleneck blocks on classes; ResNet-50 by its defaults.

    Normalization is by batch statistics; strided windows are padded alike on both sides.
    """

    batch: int = 32
    size: int = 224
    width: int = 64
    blocks: tuple[int, ...] = (3, 4, 6, 3)
    classes: int = 1000
    optimizer: str = "momentum"
    rate: float = 1e-3

    def places(self) -> Iterator[tuple[str, int, int, int, int]]:
        """Yield each convolution: name, window, input depth, output depth, stride."""
        yield "stem", 7, 3, self.width, 2
        depth = self.width
        for stage, count in enumerate(self.blocks):
            inner = self.width << stage
            for index in range(count):
                name, stride = f"{stage}.{index}", 2 if stage and not index else 1
                yield f"{name}.1", 1, depth, inner, 1
                yield f"{name}.2", 3, inner, inner, stride
                yield f"{name}.3", 1, inner, 4 * inner, 1
                if not index:
                    yield f"{name}.way", 1, depth, 4 * inner, stride
                depth = 4 * inner

    def weights(self) -> dict[str, Any]:
        """Filters (height, width, input depth, output depth), gains, offsets; a dense layer."""
        arrays: dict[str, Any] = {}
        for index, (name, window, inputs, outputs, _) in enumerate(self.places()):
            scale = (2 / (window * window * inputs)) ** 0.5
            arrays[f"{name}.filter"] = random(index, window, window, inputs, outputs, scale=scale)
            around = 0 if name.endswith(".3") else 1  # ways around blocks lead at first
            arrays[f"{name}.gain"] = around + random(1000 + index, outputs)
            arrays[f"{name}.offset"] = random(2000 + index, outputs)
        depth = (self.width << (len(self.blocks) - 1)) * 4
        arrays["kernel"] = random(3000, depth, self.classes, scale=depth**-0.5)
        arrays["bias"] = random(3001, self.classes)
        return arrays

    def of(self, x: Any, weights: Any, ops: Any) -> Any:
        """Return the logits. `ops`: conv(x, filter, stride), norm(x, gain, offset), relu, pool,
        mean
        and dense(x, kernel, bias)."""
        strides = {name: stride for name, _, _, _, stride in self.places()}

        def layer(x: Any, name: str) -> Any:
            y = ops.conv(x, weights[f"{name}.filter"], strides[name])
            return ops.norm(y, weights[f"{name}.gain"], weights[f"{name}.offset"])

        x = ops.pool(ops.relu(layer(x, "stem")))
        for stage, count in enumerate(self.blocks):
            for name in (f"{stage}.{index}" for index in range(count)):
                y = ops.relu(layer(x, f"{name}.1"))
                y = layer(ops.relu(layer(y, f"{name}.2")), f"{name}.3")
                x = ops.relu(y + (layer(x, f"{name}.way") if f"{name}.way" in strides else x))
        return ops.dense(ops.mean(x), weights["kernel"], weights["bias"])

    def x(self) -> Any:
        """Height, width, depth of each image."""
        return random(100, self.batch, self.size, self.size, 3, scale=1)

    def labels(self) -> Any:
        return classes(self.batch, self.classes)
