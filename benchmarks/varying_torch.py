"""The works of varying_shapes.py in PyTorch: eager, or compiled with `dynamic=True`.

The networks have the layers, sizes, optimizers and feeds of the works there. RNNs are PyTorch's
layers, and boolean masks its indexing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

Feeds = dict[int, Any]
Work = tuple[Any, Callable[..., Any], Callable[[Random], Feeds]]
"""The module with the parameters, the function from fed tensors to the loss, and a function that
draws feeds.
"""

_ADAM = {"mlp": 1e-4, "transformer": 1e-4, "text_cnn": 1e-3, "epoch": 1e-3}
"""The learning rates of the works that train by Adam. All others train by gradient descent."""


def _uniform(*shape: int) -> Any:
    return np.random.rand(*shape).astype(np.float32)


def _integers(high: int, *shape: int) -> Any:
    return np.random.randint(0, high, shape)


def mlp(torch: Any) -> Work:
    """Six layers of 256; batches of 16 to 115."""
    nn, functional = torch.nn, torch.nn.functional
    layers = [layer for _ in range(6) for layer in (nn.Linear(256, 256), nn.ReLU())]
    net = nn.Sequential(*layers, nn.Linear(256, 10, bias=False))

    def feeds(random: Random) -> Feeds:
        rows = random.randint(16, 115)
        return {0: _uniform(rows, 256), 1: _integers(10, rows)}

    return net, lambda x, y: functional.cross_entropy(net(x), y), feeds


def gru(torch: Any) -> Work:
    """A GRU of 64 over 32 sequences of 10 to 59."""
    net = torch.nn.GRU(64, 64, batch_first=True)
    return (
        net,
        lambda x: net(x)[1].square().mean(),
        lambda random: {0: _uniform(32, random.randint(10, 59), 64)},
    )


def bilstm(torch: Any) -> Work:
    """A bidirectional LSTM of 32 with lengths, over 16 sequences of 10 to 50."""
    net = torch.nn.LSTM(32, 32, batch_first=True, bidirectional=True)
    rnn = torch.nn.utils.rnn

    def loss(x: Any, lengths: Any) -> Any:
        packed = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return rnn.pad_packed_sequence(net(packed)[0], batch_first=True)[0].square().mean()

    def feeds(random: Random) -> Feeds:
        steps = random.randint(10, 50)
        return {0: _uniform(16, steps, 32), 1: np.random.randint(1, steps + 1, 16)}

    return net, loss, feeds


def images(torch: Any) -> Work:
    """A fully convolutional network with resizing, over two images of 48 to 160 on a side."""
    nn, functional = torch.nn, torch.nn.functional
    sizes = [(3, 16, 3), (16, 32, 3), (32, 32, 3), (32, 1, 1)]
    net = nn.ModuleList(nn.Conv2d(*size, padding="same", bias=False) for size in sizes)

    def loss(x: Any) -> Any:
        h = functional.max_pool2d(net[0](x).relu(), 2, ceil_mode=True)
        h = net[2](functional.max_pool2d(net[1](h).relu(), 2, ceil_mode=True)).relu()
        h = functional.interpolate(h, size=x.shape[2:], mode="bilinear")
        return (net[3](h) - x[:, :1]).square().mean()

    def feeds(random: Random) -> Feeds:
        return {0: _uniform(2, 3, random.randint(48, 160), random.randint(48, 160))}

    return net, loss, feeds


def transformer(torch: Any) -> Work:
    """Two transformer blocks of 128 with a mask, over 8 sequences of 8 to 128."""
    nn, functional = torch.nn, torch.nn.functional
    width, heads = 128, 4
    net = nn.ModuleDict({"embedding": nn.Embedding(1000, width)})
    for i in range(2):
        for name in "qkvo":
            net[f"{i}{name}"] = nn.Linear(width, width, bias=False)
        net[f"{i}f"] = nn.Linear(width, 4 * width, bias=False)
        net[f"{i}l"] = nn.Linear(4 * width, width, bias=False)
        net[f"{i}a"], net[f"{i}b"] = (nn.LayerNorm(width, eps=1e-6) for _ in range(2))

    def loss(x: Any, mask: Any) -> Any:
        h = net["embedding"](x)
        batch, length = x.shape
        for i in range(2):
            parts = [net[f"{i}{name}"](h).view(batch, length, heads, -1) for name in "qkv"]
            q, k, v = (part.transpose(1, 2) for part in parts)
            scores = q @ k.transpose(2, 3) / (width // heads) ** 0.5
            seen = (scores + (1.0 - mask)[:, None, None] * -1e9).softmax(-1) @ v
            seen = seen.transpose(1, 2).reshape(batch, length, width)
            h = net[f"{i}a"](h + net[f"{i}o"](seen))
            h = net[f"{i}b"](h + net[f"{i}l"](functional.relu(net[f"{i}f"](h))))
        return (h.square() * mask[..., None]).mean()

    def feeds(random: Random) -> Feeds:
        shape = 8, random.randint(8, 128)
        return {0: _integers(1000, *shape), 1: np.ones(shape, np.float32)}

    return net, loss, feeds


def text_cnn(torch: Any) -> Work:
    """Convolutions over 32 texts of 10 to 100 words."""
    nn, functional = torch.nn, torch.nn.functional
    net = nn.ModuleDict({"embedding": nn.Embedding(5000, 64), "out": nn.Linear(192, 1, bias=False)})
    for size in (3, 4, 5):
        net[f"k{size}"] = nn.Conv1d(64, 64, size, padding="same", bias=False)

    def loss(x: Any, y: Any) -> Any:
        words = net["embedding"](x).transpose(1, 2)
        parts = [net[f"k{size}"](words).relu().amax(2) for size in (3, 4, 5)]
        logits = net["out"](torch.cat(parts, 1))[:, 0]
        return functional.binary_cross_entropy_with_logits(logits, y)

    def feeds(random: Random) -> Feeds:
        return {0: _integers(5000, 32, random.randint(10, 100)), 1: np.ones(32, "f")}

    return net, loss, feeds


def unique(torch: Any) -> Work:
    """Unique, where and a boolean mask over 500 to 1,500 rows."""
    net = torch.nn.Embedding(2000, 32)

    def loss(x: Any, y: Any) -> Any:
        ids, positions = torch.unique(x, return_inverse=True)
        rows = net(ids)[positions]
        mask = y.sum(1) > 16.0
        count = torch.nonzero(mask).float().sum()
        return (rows * y)[mask].square().mean() + 1e-9 * count

    def feeds(random: Random) -> Feeds:
        rows = random.randint(500, 1500)
        return {0: _integers(2000, rows), 1: _uniform(rows, 32)}

    return net, loss, feeds


def masked(torch: Any) -> Work:
    """A boolean mask in a training step over 300 to 900 rows."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(64, 64, bias=False), nn.ReLU(), nn.Linear(64, 1, bias=False))

    def feeds(random: Random) -> Feeds:
        rows = random.randint(300, 900)
        return {0: _uniform(rows, 64), 1: _uniform(rows)}

    return net, lambda x, y: (net(x)[:, 0] - y).square()[y > 0.5].mean(), feeds


def epoch(torch: Any) -> Work:
    """Epochs of ten batches of 64 by a small CNN, of which the last has 1 to 63 images."""
    nn, functional = torch.nn, torch.nn.functional
    net = nn.Sequential(
        *(nn.Conv2d(3, 16, 3, padding="same", bias=False), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(1024, 10, bias=False)),
    )

    def feeds(random: Random) -> Feeds:
        rows = 64 if random.random() < 0.9 else random.randint(1, 63)
        return {0: _uniform(rows, 3, 16, 16), 1: _integers(10, rows)}

    return net, lambda x, y: functional.cross_entropy(net(x), y), feeds


WORKS = {
    work.__name__: work
    for work in (mlp, gru, bilstm, images, transformer, text_cnn, unique, masked, epoch)
}


def started(
    name: str, compiles: bool
) -> tuple[Callable[[Feeds], float], Callable[[Random], Feeds]]:
    """Return a function that trains a new network of a work with feeds, and the function that draws
    them.

    Args:
      compiles: whether `torch.compile` compiles the loss, with open sizes.
    """
    torch = importlib.import_module("torch")
    torch.manual_seed(0)
    net, loss, draw = WORKS[name](torch)
    if name in _ADAM:
        optimizer = torch.optim.Adam(net.parameters(), _ADAM[name])
    else:
        optimizer = torch.optim.SGD(net.parameters(), 0.01)
    function = torch.compile(loss, dynamic=True) if compiles else loss

    def run(feeds: Feeds) -> float:
        optimizer.zero_grad()
        value = function(*map(torch.from_numpy, feeds.values()))
        value.backward()
        optimizer.step()
        return float(value.detach())

    return run, draw
