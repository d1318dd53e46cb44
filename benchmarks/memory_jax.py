"""The networks of memory.py in JAX: the operations, and the memory of a compiled training step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from memory_networks import RATE, Network


class JaxOps:
    """The operations. `weight` makes a new one, or gives those of a list in the same order."""

    def __init__(self, weights: list[Any] | None = None) -> None:
        self.weights: list[Any] = []
        self._next = None if weights is None else iter(weights)
        self.matmul, self.relu, self.tanh = jnp.matmul, jax.nn.relu, jnp.tanh
        self.sigmoid, self.softmax, self.concat = jax.nn.sigmoid, jax.nn.softmax, jnp.concatenate
        self.reshape, self.transpose, self.zeros = jnp.reshape, jnp.transpose, jnp.zeros

    def weight(self, shape: list[int]) -> Any:
        """Return a parameter."""
        if self._next is not None:
            return next(self._next)
        deviation = (2.0 / np.prod(shape[:-1] or [1])) ** 0.5
        random = np.random.RandomState(len(self.weights))
        self.weights.append(jnp.asarray(random.normal(0, deviation, shape), "float32"))
        return self.weights[-1]

    def conv(self, x: Any, depth: int, size: int = 3, stride: int = 1) -> Any:
        """Return a convolution with new weights."""
        kernel = self.weight([size, size, x.shape[3], depth])
        layout = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(
            x, kernel, (stride, stride), "SAME", dimension_numbers=layout
        )

    def pool(self, x: Any) -> Any:
        """Return the largest of each square of 2 x 2."""
        square = (1, 2, 2, 1)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, square, square, "SAME")

    def enlarge(self, x: Any) -> Any:
        """Return each element as a square of 2 x 2."""
        return x.repeat(2, 1).repeat(2, 2)

    def normalized(self, x: Any, axes: list[int]) -> Any:
        """Mean 0 and variance 1 over axes, times a weight, plus a weight."""
        mean = x.mean(axes, keepdims=True)
        variance = jnp.square(x - mean).mean(axes, keepdims=True)
        gain, offset = self.weight([x.shape[-1]]), self.weight([x.shape[-1]])
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain + offset

    def mean(self, x: Any, axes: list[int] | None = None) -> Any:
        """Return the mean over axes."""
        return x.mean(None if axes is None else tuple(axes))

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        """Return the mean loss of classes."""
        logs = jax.nn.log_softmax(logits)
        return -jnp.take_along_axis(logs, labels[:, None], 1).mean()

    def loop(self, body: Callable[[Any, Any], Any], rows: Any, start: Any) -> Any:
        """`state = body(state, row)` for all rows, in one loop."""
        return jax.lax.scan(lambda state, row: (body(state, row), None), start, rows)[0]


def training(network: Network) -> tuple[Any, list[Any], list[Any]]:
    """Return the compiled step `weights, loss = step(weights, *batch)`, weights, and a batch."""
    batch = network.arrays()
    first = JaxOps()
    network.loss(first, *map(jnp.asarray, batch))

    def loss(weights: list[Any], *arrays: Any) -> Any:
        return network.loss(JaxOps(weights), *arrays)

    @partial(jax.jit, donate_argnums=0)
    def step(weights: list[Any], *arrays: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(weights, *arrays)
        return [w - RATE * slope for w, slope in zip(weights, slopes)], value

    return step.lower(first.weights, *batch).compile(), first.weights, batch
