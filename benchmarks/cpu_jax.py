"""The rows of cpu.py as JAX programs: one jitted function of the weights and of NumPy arrays."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
from cpu_numbers import EPSILON, Chain, Convnet, Expression, Mixed, Mlp, Transformer
from peers import Once, Work

Step = Callable[[], Any]


def runner(function: Callable[..., Any], weights: Any, *arguments: Any) -> Step:
    run, kept = jax.jit(function), jax.tree.map(jnp.asarray, weights)
    return lambda: run(kept, *arguments).block_until_ready()


def trained(loss: Callable[..., Any], weights: Any, work: Any, *arguments: Any) -> Step:
    """A step returns the loss; weights and the optimizer's state stay on the device."""
    start, update = {"sgd": (none, sgd), "momentum": (zeros, momentum), "adam": (moments, adam)}[
        work.optimizer
    ]

    def moved(weights: Any, state: Any, *arguments: Any) -> Any:
        now, grads = jax.value_and_grad(loss)(weights, *arguments)
        return *update(weights, grads, state, work.rate), now

    train = jax.jit(moved)
    weights = jax.tree.map(jnp.asarray, weights)
    state = start(weights)

    def step() -> Any:
        nonlocal weights, state
        weights, state, now = jax.block_until_ready(train(weights, state, *arguments))
        return now

    return step


def none(_: Any) -> None:
    return None


def zeros(weights: Any) -> Any:
    return jax.tree.map(jnp.zeros_like, weights)


def moments(weights: Any) -> Any:
    return jnp.zeros(()), zeros(weights), zeros(weights)


def sgd(weights: Any, grads: Any, state: Any, rate: float) -> Any:
    return jax.tree.map(lambda w, g: w - rate * g, weights, grads), state


def momentum(weights: Any, grads: Any, state: Any, rate: float) -> Any:
    state = jax.tree.map(lambda s, g: 0.9 * s + g, state, grads)
    return jax.tree.map(lambda w, s: w - rate * s, weights, state), state


def adam(weights: Any, grads: Any, state: Any, rate: float) -> Any:
    count, m, v = state
    count = count + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
    now = rate * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    moved = jax.tree.map(lambda w, m, v: w - now * m / (jnp.sqrt(v) + 1e-8), weights, m, v)
    return moved, (count, m, v)


def cross_entropy(logits: Any, labels: Any) -> Any:
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
    return -chosen.mean()


def one_op() -> Step:
    run = jax.jit(lambda x: x + 1.0)
    return lambda: run(1.5).block_until_ready()


def chain(work: Chain) -> Step:
    run = jax.jit(work.of)
    return lambda: run(1.5).block_until_ready()


def mlp(work: Mlp) -> Step:
    def loss(layers: Any, x: Any, labels: Any) -> Any:
        for index, (kernel, bias) in enumerate(layers):
            x = x @ kernel + bias
            x = jax.nn.relu(x) if index < len(layers) - 1 else x
        return cross_entropy(x, labels)

    return trained(loss, work.weights(), work, work.x(), work.labels())


def expression(work: Expression) -> Step:
    def function(x: Any) -> Any:
        return jnp.tanh(x * 1.5 + 0.3) * jax.nn.sigmoid(x * 0.7) + jnp.exp(-x * x)

    return runner(function, work.x())


def features(filters: Any, x: Any) -> Any:
    for kernel, bias in filters:
        y = jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        y = jax.nn.relu(y + bias)
        x = jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
    return x


def convnet(work: Convnet, training: bool) -> Step:
    if not training:
        return runner(features, work.filters(), work.x())

    def loss(weights: Any, x: Any, labels: Any) -> Any:
        filters, (kernel, bias) = weights
        y = features(filters, x)
        return cross_entropy(y.reshape(len(x), -1) @ kernel + bias, labels)

    return trained(loss, (work.filters(), work.dense()), work, work.x(), work.labels())


def normalized(x: Any, gain: Any, offset: Any) -> Any:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * gain + offset


def block(x: Any, weights: dict[str, Any], work: Transformer) -> Any:
    first = normalized(x, weights["first_gain"], weights["first_offset"])
    qkv = first @ weights["qkv_kernel"] + weights["qkv_bias"]
    qkv = qkv.reshape(work.batch, work.tokens, 3, work.heads, work.depth)
    q, k, v = qkv.transpose(2, 0, 3, 1, 4)
    scores = jax.nn.softmax(q @ k.swapaxes(-1, -2) * work.depth**-0.5)
    seen = (scores @ v).transpose(0, 2, 1, 3).reshape(x.shape)
    x = x + seen @ weights["out_kernel"] + weights["out_bias"]
    second = normalized(x, weights["second_gain"], weights["second_offset"])
    up = second @ weights["up_kernel"] + weights["up_bias"]
    up = jax.nn.gelu(up, approximate=False)
    return x + up @ weights["down_kernel"] + weights["down_bias"]


def transformer(work: Transformer, training: bool) -> Step:
    def function(blocks: Any, x: Any) -> Any:
        for weights in blocks:
            x = block(x, weights, work)
        return x

    def loss(blocks: Any, x: Any, target: Any) -> Any:
        return jnp.square(function(blocks, x) - target).mean()

    if not training:
        return runner(function, work.weights(), work.x())
    return trained(loss, work.weights(), work, work.x(), work.target())


# -- graphs of many small ops

OPS = SimpleNamespace(
    matmul=jnp.matmul,
    add=jnp.add,
    mul=jnp.multiply,
    sub=jnp.subtract,
    maximum=jnp.maximum,
    tanh=jnp.tanh,
    sigmoid=jax.nn.sigmoid,
    mean=lambda x: x.mean(-1, keepdims=True),
)


def first_run(work: Mixed, whole: bool) -> Once:
    """Compiling and running; with tracing, if `whole`."""
    jax.jit(lambda x: Mixed(10).of(x, OPS))(Mixed(10).x()).block_until_ready()
    x = work.x()
    start = time.perf_counter()
    traced = jax.jit(lambda x: work.of(x, OPS)).trace(x)
    start = start if whole else time.perf_counter()
    result = traced.lower().compile()(x).block_until_ready()
    return Once(time.perf_counter() - start, result)


def building(work: Mixed) -> Work:
    x = work.x()

    def step() -> None:  # of a new function each time, since traces are cached
        jax.make_jaxpr(lambda x: work.of(x, OPS))(x)

    return Work(step, per=work.length)
