"""The rows of gpu.py by jax.jit: a step is one function, whose old weights are donated; no TF32."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import cpu_jax
import jax
import jax.numpy as jnp
import numpy as np
from cpu_numbers import Expression, Mlp, Transformer
from gpu_numbers import SAMPLE, Attention, Convolution, Copy, Matmul, Resnet
from gpu_work import EPSILON, Work

jax.config.update("jax_default_matmul_precision", "highest")


def versions() -> str:
    return f"{jax.__version__}, {jax.devices()[0].platform}"


def sees_gpu() -> bool:
    return jax.devices()[0].platform == "gpu"


def forget() -> None:
    """Free the memory of earlier rows."""
    jax.clear_caches()


def trained(loss: Callable[..., Any], weights: Any, work: Any, *arguments: Any) -> Work:
    start, update = {
        "sgd": (cpu_jax.none, cpu_jax.sgd),
        "momentum": (cpu_jax.zeros, cpu_jax.momentum),
        "adam": (cpu_jax.moments, cpu_jax.adam),
    }[work.optimizer]

    def moved(weights: Any, state: Any, *arguments: Any) -> Any:
        now, grads = jax.value_and_grad(loss)(weights, *arguments)
        return *update(weights, grads, state, work.rate), now

    train, feed = jax.jit(moved, donate_argnums=(0, 1)), [jnp.asarray(array) for array in arguments]
    weights = jax.tree.map(jnp.array, weights)
    state, now = start(weights), jnp.zeros(())

    def step() -> Any:
        nonlocal weights, state, now
        weights, state, now = train(weights, state, *feed)
        return now

    return Work(step, lambda: jax.block_until_ready((weights, now)), lambda: float(step()))


def computed(function: Callable[..., Any], *arguments: Any) -> Work:
    run = jax.jit(function)
    last = arguments[0]

    def step() -> Any:
        nonlocal last
        last = run(*arguments)
        return last

    return Work(
        step,
        lambda: last.block_until_ready(),
        lambda: np.asarray(step().reshape(-1)[:SAMPLE].astype(jnp.float32)),
    )


def resident(array: Any, dtype: str = "float32") -> Any:
    return jnp.asarray(array).astype(dtype)


def one_op() -> Work:
    run = jax.jit(lambda x: x + 1.0)
    return Work(lambda: float(run(1.5)), lambda: None, lambda: float(run(1.5)))


def network(layers: Any, x: Any, labels: Any) -> Any:
    for index, (kernel, bias) in enumerate(layers):
        x = x @ kernel + bias
        x = jax.nn.relu(x) if index < len(layers) - 1 else x
    return cpu_jax.cross_entropy(x, labels)


def mlp(work: Mlp) -> Work:
    return trained(network, work.weights(), work, work.x(), work.labels())


def fed_mlp(work: Mlp) -> Work:
    """Its batch comes from NumPy and its loss is read at each step."""
    step = jax.jit(
        lambda weights, x, labels: _stepped(weights, x, labels, work.rate), donate_argnums=0
    )
    weights, feeds = jax.tree.map(jnp.array, work.weights()), (work.x(), work.labels())

    def run() -> Any:
        nonlocal weights
        weights, now = step(weights, *feeds)
        return float(now)

    return Work(run, lambda: None, run)


def _stepped(weights: Any, x: Any, labels: Any, rate: float) -> Any:
    now, grads = jax.value_and_grad(network)(weights, x, labels)
    return cpu_jax.sgd(weights, grads, None, rate)[0], now


def resnet(work: Resnet) -> Work:
    def loss(weights: Any, x: Any, labels: Any) -> Any:
        return cpu_jax.cross_entropy(work.of(x, weights, OPS), labels)

    return trained(loss, work.weights(), work, work.x(), work.labels())


def conv(x: Any, kernel: Any, stride: int) -> Any:
    around = [(kernel.shape[0] // 2,) * 2] * 2
    names = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, kernel, (stride,) * 2, around, dimension_numbers=names)


def norm(x: Any, gain: Any, offset: Any) -> Any:
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * (jax.lax.rsqrt(variance + EPSILON) * gain) + offset


def pool(x: Any) -> Any:
    around = ((0, 0), (1, 1), (1, 1), (0, 0))
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), around)


OPS = SimpleNamespace(
    conv=conv,
    norm=norm,
    relu=jax.nn.relu,
    pool=pool,
    mean=lambda x: x.mean((1, 2)),
    dense=lambda x, kernel, bias: x @ kernel + bias,
)


def transformer(work: Transformer) -> Work:
    def loss(blocks: Any, x: Any, target: Any) -> Any:
        for weights in blocks:
            x = cpu_jax.block(x, weights, work)
        return jnp.square(x - target).mean()

    return trained(loss, work.weights(), work, work.x(), work.target())


def expression(work: Expression) -> Work:
    def function(x: Any) -> Any:
        return jnp.tanh(x * 1.5 + 0.3) * jax.nn.sigmoid(x * 0.7) + jnp.exp(-x * x)

    return computed(function, resident(work.x()))


def copy(work: Copy) -> Work:
    return computed(jnp.copy, resident(work.x()))


def matmul(work: Matmul) -> Work:
    return computed(jnp.matmul, *(resident(factor, work.dtype) for factor in work.factors()))


def convolution(work: Convolution) -> Work:
    images, kernel = (resident(array, work.dtype) for array in work.arrays())
    layouts = ("NHWC", "HWIO", "NHWC")
    function = partial(
        jax.lax.conv_general_dilated,
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=layouts,
    )
    return computed(lambda x, w: function(x, w), images, kernel)


def attention(work: Attention) -> Work:
    """JAX's attention over batch, tokens, heads, depth: by cuDNN where that supports it."""
    q, k, v = (resident(factor, work.dtype).swapaxes(1, 2) for factor in work.qkv())
    by_cudnn = sees_gpu() and work.dtype != "float32"
    for implementation in ("cudnn", "xla") if by_cudnn else ("xla",):
        function = partial(jax.nn.dot_product_attention, implementation=implementation)
        done = computed(lambda q, k, v, f=function: f(q, k, v).swapaxes(1, 2), q, k, v)
        try:
            done.results()
        except (RuntimeError, ValueError, NotImplementedError):  # each way has its own
            if implementation == "xla":
                raise
            continue
        return done
    raise AssertionError("one way has returned, or raised")
