"""Models of real size: gpugraph beside TensorFlow's v1 API, JAX, torch and onnxruntime.

    PEERS="tensorflow=PYTHON jax=PYTHON torch=PYTHON onnxruntime=PYTHON" \
        python benchmarks/models.py [--rows WORD ...] [--rounds N] [--json FILE] [--check]

Each model stands once, as a function of a library's ops (models_libraries.py), so that all packages
compute the same with the same numbers (--check compares results). The rows "frozen" have constants
for weights in TensorFlow and gpugraph, as frozen graphs have, all other rows have variables.
onnxruntime has no training, and torch is eager. GPT-2 samples greedily, one token after the other,
with the keys and values of all tokens before: TensorFlow's loop concatenates them, JAX's writes
them into an array of the final size.

See benchmarks/peers.py for the search for peers and the measurements.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from cpu_numbers import classes, random
from peers import Rows, main, tensorflow


class Images(NamedTuple):
    """A network of images: `of` builds it. Training minimizes the cross entropy of its logits."""

    of: Callable[[Any, Any], Any]
    batch: int
    is_frozen: bool = True
    size: int = 224
    classes: int = 1000
    optimizer: str = "momentum"
    rate: float = 1e-7

    def x(self) -> Any:
        return random(100, self.batch, self.size, self.size, 3, scale=1)

    def labels(self) -> Any:
        return classes(self.batch, self.classes)


def resnet(ops: Any, x: Any) -> Any:
    """ResNet-50."""
    y = ops.max_pool(ops.relu(ops.norm(ops.conv(x, 64, 7, 2))), 3)
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            short = y if block else ops.norm(ops.conv(y, 4 * width, 1, stride))
            z = ops.relu(ops.norm(ops.conv(y, width, 1, stride)))
            z = ops.relu(ops.norm(ops.conv(z, width, 3, 1)))
            y = ops.relu(ops.norm(ops.conv(z, 4 * width, 1, 1)) + short)
    return ops.dense(ops.mean(y), 1000)


def mobilenet(ops: Any, x: Any) -> Any:
    """MobileNet, version 1."""
    y = ops.relu6(ops.norm(ops.conv(x, 32, 3, 2)))
    for width, stride in (
        *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
        *[(512, 1)] * 5,
        *((1024, 2), (1024, 1)),
    ):
        y = ops.relu6(ops.norm(ops.conv(y, 0, 3, stride)))
        y = ops.relu6(ops.norm(ops.conv(y, width, 1, 1)))
    return ops.dense(ops.mean(y), 1000)


def vgg(ops: Any, x: Any) -> Any:
    """VGG16."""
    for width, layers in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(layers):
            x = ops.relu(ops.biased(ops.conv(x, width, 3, 1)))
        x = ops.max_pool(x, 2)
    x = ops.flat(x)
    for width in (4096, 4096):
        x = ops.relu(ops.dense(x, width))
    return ops.dense(x, 1000)


class Texts(NamedTuple):
    """Transformer blocks over tokens, and their optimizer."""

    blocks: int
    batch: int
    tokens: int
    vocabulary: int
    positions: int
    width: int = 768
    heads: int = 12
    optimizer: str = "adam"
    rate: float = 1e-5
    classes: int = 2

    def x(self) -> Any:
        return classes(self.batch * self.tokens, self.vocabulary)

    def labels(self) -> Any:
        return classes(self.batch, self.classes)

    def of(self, ops: Any, ids: Any) -> Any:
        """Return BERT's logits of texts, by the first token of each."""
        shape = self.batch, self.tokens, self.heads
        places = np.tile(np.arange(self.tokens, dtype=np.int32), self.batch)
        x = ops.rows(ops.weight((self.vocabulary, self.width)), ids)
        x = x + ops.rows(ops.weight((self.positions, self.width)), ops.constant(places))
        x = ops.layer_norm(x)
        for _ in range(self.blocks):
            parts = [ops.dense(x, self.width) for _ in range(3)]
            seen = ops.attention(*parts, shape)
            x = ops.layer_norm(x + ops.dense(seen, self.width))
            up = ops.gelu(ops.dense(x, 4 * self.width))
            x = ops.layer_norm(x + ops.dense(up, self.width))
        first = ops.rows(x, ops.constant(np.arange(self.batch, dtype=np.int32) * self.tokens))
        return ops.dense(ops.tanh(ops.dense(first, self.width)), self.classes)

    def gpt2(self, ops: Any, token: Any, place: Any, past: list[Any]) -> tuple[Any, list[Any]]:
        """Return the logits of the next token, and the keys and values of all until now.

        token, place: arrays of one number. past: of each block, keys and values in one tensor.
        """
        table = ops.weight((self.vocabulary, self.width))
        x = ops.rows(table, token) + ops.rows(ops.weight((self.positions, self.width)), place)
        present = []
        for before in past:
            qkv = ops.dense(ops.layer_norm(x), 3 * self.width)
            seen, now = ops.attention_over(qkv, before, place, self.heads)
            present.append(now)
            x = x + ops.dense(seen, self.width)
            x = x + ops.dense(ops.gelu(ops.dense(ops.layer_norm(x), 4 * self.width)), self.width)
        return ops.by_transposed(ops.layer_norm(x), table), present


class Recurrent(NamedTuple):
    """Layers of LSTM over a sequence; training minimizes the mean squared distance of outputs."""

    layers: int = 2
    batch: int = 20
    steps: int = 35
    width: int = 1024
    optimizer: str = "sgd"
    rate: float = 0.1

    def x(self) -> Any:
        return random(100, self.batch, self.steps, self.width, scale=1)

    def target(self) -> Any:
        return random(101, self.batch, self.steps, self.width)

    def kernels(self) -> list[Any]:
        """Return each layer's kernel: inputs and state by the gates i, j, f, o of TensorFlow."""
        shape = 2 * self.width, 4 * self.width
        return [random(layer, *shape, scale=0.02) for layer in range(self.layers)]


class Sizes(NamedTuple):
    """How much work each row is."""

    bert: Texts = Texts(12, 4, 128, 30_522, 512)
    gpt2: Texts = Texts(12, 1, 32, 50_257, 1024)
    images: int = 224
    lstm: Recurrent = Recurrent()


TINY = Sizes(Texts(1, 2, 3, 7, 5, 8, 2), Texts(2, 1, 4, 7, 5, 8, 2), 32, Recurrent(2, 2, 3, 4))
"""The same rows, but small enough for a test."""

LIBRARIES = {
    "gpugraph": lambda: importlib.import_module("gpugraph"),
    "tensorflow": tensorflow,
    "jax": lambda: importlib.import_module("jax"),
    "torch": lambda: importlib.import_module("torch"),
    "onnxruntime": lambda: importlib.import_module("onnxruntime"),
}


def prepared(column: str, how: str, *arguments: Any) -> Any:
    """Return a step of a model: `how` names the method of the column's ops that makes it."""
    libraries = importlib.import_module("models_libraries")
    ops = libraries.OPS[column](LIBRARIES[column]())
    return getattr(ops, how)(*arguments)


def row(how: str, *arguments: Any, without: str = "") -> dict[str, Any]:
    return {
        column: partial(prepared, column, how, *arguments)
        for column in LIBRARIES
        if column not in without
    }


def rows(sizes: Sizes) -> Rows:
    """Return all rows, for work of these sizes."""
    bert, gpt2, size, lstm = sizes

    def images(name: Any, batch: int, is_frozen: bool = True) -> Images:
        return Images(name, batch, is_frozen, size)

    training = partial(row, "training", without="onnxruntime")
    return {
        "BERT-base, 4 x 128, Adam step": training(bert),
        "ResNet-50, 1 image, frozen": row("inference", images(resnet, 1)),
        "ResNet-50, 1 image": row("inference", images(resnet, 1, False)),
        "ResNet-50, 8 images, frozen": row("inference", images(resnet, 8)),
        "ResNet-50, 8 images, Momentum step": training(images(resnet, 8, False)),
        "VGG16, 1 image, frozen": row("inference", images(vgg, 1)),
        "MobileNet, 1 image, frozen": row("inference", images(mobilenet, 1)),
        "GPT-2 small, 32 tokens": row("sampling", gpt2),
        "2-layer LSTM 1024, 20 x 35, SGD step": row("recurrent", lstm, without="onnxruntime"),
    }


if __name__ == "__main__":
    main(rows(Sizes()), __file__)
