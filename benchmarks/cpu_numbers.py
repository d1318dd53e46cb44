"""The work of each row of cpu.py, as sizes and numbers, the same for all peers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

EPSILON = 1e-5
"""Of layer normalization."""


def random(seed: int, *shape: int, scale: float = 0.1) -> Any:
    return (np.random.RandomState(seed).standard_normal(shape) * scale).astype(np.float32)


def dense(seed: int, inputs: int, outputs: int) -> tuple[Any, Any]:
    """Return a kernel that keeps the magnitude of its input, and a bias."""
    return random(seed, inputs, outputs, scale=(1 / inputs) ** 0.5), random(seed + 1, outputs)


class Chain(NamedTuple):
    """x * 1.0001 + 0.1, over and over: `length` multiplications and additions of a number."""

    length: int = 1500
    factor: float = 1.0001
    term: float = 0.1

    def of(self, x: Any) -> Any:
        for _ in range(self.length // 2):
            x = x * self.factor + self.term
        return x


class Expression(NamedTuple):
    """tanh(1.5x + 0.3) sigmoid(0.7x) + exp(-x x)"""

    size: int = 10_000_000

    def x(self) -> Any:
        return np.random.default_rng(0).standard_normal(self.size).astype(np.float32)


class Mlp(NamedTuple):
    """Layers with ReLU between them, trained on classes by softmax cross-entropy."""

    widths: tuple[int, ...]
    batch: int
    optimizer: str
    rate: float

    def weights(self) -> list[tuple[Any, Any]]:
        pairs = zip(self.widths, self.widths[1:])
        return [dense(2 * index, *pair) for index, pair in enumerate(pairs)]

    def x(self) -> Any:
        return random(100, self.batch, self.widths[0], scale=1)

    def labels(self) -> Any:
        return classes(self.batch, self.widths[-1])


class Convnet(NamedTuple):
    """Convolution 5x5, bias, ReLU, pooling 2x2 for each depth; in training a dense layer."""

    batch: int = 32
    size: int = 28
    depths: tuple[int, ...] = (32, 64)
    classes: int = 10
    optimizer: str = "momentum"
    rate: float = 0.01

    def filters(self) -> list[tuple[Any, Any]]:
        """Height, width, input depth, output depth."""
        pairs = list(zip((1, *self.depths), self.depths))
        return [
            (
                random(2 * index, 5, 5, *pair, scale=0.2 / pair[0] ** 0.5),
                random(2 * index + 1, pair[1]),
            )
            for index, pair in enumerate(pairs)
        ]

    def flat(self) -> int:
        return int((self.size // 2 ** len(self.depths)) ** 2 * self.depths[-1])

    def dense(self) -> tuple[Any, Any]:
        """The dense layer; its rows are ordered by height, width, depth of its input."""
        return dense(50, self.flat(), self.classes)

    def x(self) -> Any:
        """Height, width, depth of each image."""
        return random(100, self.batch, self.size, self.size, 1, scale=1)

    def labels(self) -> Any:
        return classes(self.batch, self.classes)


class Transformer(NamedTuple):
    """Blocks of attention and of a layer four times as wide, layer normalization before each.

    Training minimizes the mean squared distance from a target by Adam.
    """

    blocks: int
    batch: int
    tokens: int
    width: int
    heads: int
    optimizer: str = "adam"
    rate: float = 1e-3

    @property
    def depth(self) -> int:
        return self.width // self.heads

    def weights(self) -> list[dict[str, Any]]:
        """Return the weights by block; gain and offset of a normalization, kernel and bias of a
        layer.
        """
        return [self.block(100 * index) for index in range(self.blocks)]

    def block(self, seed: int) -> dict[str, Any]:
        sizes = {"qkv": (1, 3), "out": (1, 1), "up": (1, 4), "down": (4, 1)}
        weights = {}
        for index, (name, (inputs, outputs)) in enumerate(sizes.items()):
            layer = dense(seed + 2 * index, inputs * self.width, outputs * self.width)
            weights[f"{name}_kernel"], weights[f"{name}_bias"] = layer
        for index, name in enumerate(("first", "second")):
            weights[f"{name}_gain"] = 1 + random(seed + 20 + index, self.width)
            weights[f"{name}_offset"] = random(seed + 30 + index, self.width)
        return weights

    def x(self) -> Any:
        return random(1000, self.batch, self.tokens, self.width, scale=1)

    def target(self) -> Any:
        return random(1001, self.batch, self.tokens, self.width, scale=1)


class TextCnn(NamedTuple):
    """Texts of `words` words, embedded in `width` numbers; filters of some heights, as wide."""

    batch: int = 64
    words: int = 56
    vocabulary: int = 18_758
    width: int = 128
    heights: tuple[int, ...] = (3, 4, 5)
    depth: int = 128
    classes: int = 2
    optimizer: str = "adam"
    rate: float = 1e-3

    def embedding(self) -> Any:
        return random(1, self.vocabulary, self.width, scale=1)

    def filters(self) -> list[tuple[Any, Any]]:
        """Height, width, 1, output depth; and a bias."""
        return [
            (random(height, height, self.width, 1, self.depth), random(50 + height, self.depth))
            for height in self.heights
        ]

    def dense(self) -> tuple[Any, Any]:
        return dense(100, len(self.heights) * self.depth, self.classes)

    def x(self) -> Any:
        chosen = np.random.RandomState(0).randint(0, self.vocabulary, (self.batch, self.words))
        return chosen.astype(np.int32)

    def labels(self) -> Any:
        return classes(self.batch, self.classes)


class GraphAttention(NamedTuple):
    """Nodes, of which each has a few neighbours (the sizes are those of Cora, a graph of papers)
    and `width` numbers."""

    nodes_count: int = 2708
    edges: int = 5429
    width: int = 8
    rate: float = 0.6

    def nodes(self) -> Any:
        return random(0, self.nodes_count, self.width, scale=1)

    def mask(self) -> Any:
        """0 between neighbours, -1e9 elsewhere."""
        ends = np.random.RandomState(0).randint(0, self.nodes_count, (2, self.edges))
        mask = np.full((self.nodes_count, self.nodes_count), -1e9, np.float32)
        mask[ends[0], ends[1]] = mask[ends[1], ends[0]] = 0
        np.fill_diagonal(mask, 0)
        return mask

    def kernels(self) -> list[Any]:
        """Return one for each side of an edge: 1, width, 1."""
        return [random(seed, 1, self.width, 1, scale=1) for seed in (1, 2)]

    def bias(self) -> Any:
        return random(3, self.width)


class Embedding(NamedTuple):
    """Rows of a table, averaged by example, then one number of each: a step of Adagrad."""

    table: tuple[int, int] = (50_000, 64)
    batch: int = 128
    words: int = 20
    optimizer: str = "adagrad"
    rate: float = 0.1

    def weights(self) -> tuple[Any, Any]:
        return random(130, *self.table), random(131, self.table[1], 1, scale=1)

    def x(self) -> Any:
        return np.random.RandomState(132).randint(0, self.table[0], (self.batch, self.words))

    def target(self) -> Any:
        return random(133, self.batch, 1, scale=1)


class Normal(NamedTuple):
    """A number of normal random numbers."""

    size: int = 10_000_000


class Vgg(NamedTuple):
    """VGG19: blocks of convolutions 3x3 (depth, how many), then layers of these widths."""

    batch: int = 2
    size: int = 224
    blocks: tuple[tuple[int, int], ...] = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))
    widths: tuple[int, ...] = (4096, 4096, 1000)
    rate: float = 1e-4

    def x(self) -> Any:
        return random(100, self.batch, self.size, self.size, 3, scale=1)

    def labels(self) -> Any:
        return classes(self.batch, self.widths[-1])


class Mixed(NamedTuple):
    """`length` ops of ten kinds on small matrices, each on earlier results."""

    length: int = 1000
    size: int = 8

    def x(self) -> Any:
        return random(0, self.size, self.size, scale=1)

    def of(self, x: Any, ops: Any) -> Any:
        """`ops` has matmul, add, mul, sub, maximum, tanh, sigmoid and mean (of rows, kept)."""
        chosen = np.random.RandomState(0)
        values = [x]
        for _ in range(self.length // 10):
            a = values[-1]
            b = values[chosen.randint(max(0, len(values) - 5), len(values))]
            product = ops.mul(ops.matmul(a, b), 0.3)
            bent = ops.tanh(ops.add(product, a))
            gated = ops.mul(bent, ops.sigmoid(ops.sub(product, b)))
            values.append(ops.maximum(ops.sub(gated, ops.mean(gated)), bent))
        return values[-1]


def classes(count: int, among: int) -> Any:
    return np.random.RandomState(0).randint(0, among, count).astype(np.int32)
