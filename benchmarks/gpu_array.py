"""Some rows of gpu.py, written by hand in CuPy; in a trial in NumPy."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from cpu_numbers import Expression, Mlp
from gpu_numbers import SAMPLE, Attention, Convolution, Copy, Matmul
from gpu_work import Work


def versions(package: str) -> str:
    return str(importlib.import_module(package).__version__)


def sees_gpu(package: str) -> bool:
    return package == "cupy" and library(package)[0].cuda.runtime.getDeviceCount() > 0


def forget(package: str) -> None:
    """Free the memory of earlier rows."""
    if package == "cupy":
        library(package)[0].get_default_memory_pool().free_all_blocks()


def library(package: str) -> tuple[Any, Callable[[], None], Callable[[Any], Any]]:
    """Return the module, a function that waits for the GPU, and one that makes NumPy arrays."""
    xp: Any = importlib.import_module(package)
    if xp is np:
        return np, lambda: None, np.asarray
    return xp, xp.cuda.get_current_stream().synchronize, xp.asnumpy


def computed(package: str, function: Callable[..., Any]) -> Work:
    _, wait, host = library(package)
    return Work(function, wait, lambda: host(function().reshape(-1)[:SAMPLE]).astype(np.float32))


def one_op(package: str) -> Work:
    xp, _, _ = library(package)

    def step() -> float:
        return float(xp.asarray(np.float32(1.5)) + np.float32(1))

    return Work(step, lambda: None, step)


def mlp(package: str, work: Mlp) -> Work:
    """By gradient descent; the gradients by hand."""
    xp, wait, _ = library(package)
    layers = [[xp.asarray(array) for array in layer] for layer in work.weights()]
    x, labels = xp.asarray(work.x()), xp.asarray(work.labels())
    rows = xp.arange(work.batch)
    rate, count = np.float32(work.rate), np.float32(work.batch)

    def step() -> Any:
        values = [x]
        for index, (kernel, bias) in enumerate(layers):
            y = values[-1] @ kernel + bias
            values.append(xp.maximum(y, 0) if index < len(layers) - 1 else y)
        logits = values[-1] - values[-1].max(1, keepdims=True)
        p = xp.exp(logits)
        total = p.sum(1, keepdims=True)
        loss = (xp.log(total[:, 0]) - logits[rows, labels]).mean()
        d = p / total
        d[rows, labels] -= 1
        d /= count
        for (kernel, bias), value in zip(reversed(layers), reversed(values[:-1])):
            d_kernel, d_bias, d = value.T @ d, d.sum(0), (d @ kernel.T) * (value > 0)
            kernel -= rate * d_kernel
            bias -= rate * d_bias
        return loss

    return Work(step, wait, lambda: float(step()))


def expression(package: str, work: Expression) -> Work:
    xp, _, _ = library(package)
    x = xp.asarray(work.x())
    one, half, third = (np.float32(number) for number in (1.5, 0.3, 0.7))

    def step() -> Any:
        gate = np.float32(1) / (np.float32(1) + xp.exp(x * -third))
        return xp.tanh(x * one + half) * gate + xp.exp(-x * x)

    return computed(package, step)


def copy(package: str, work: Copy) -> Work:
    xp, _, _ = library(package)
    x = xp.asarray(work.x())
    y = xp.empty_like(x)

    def step() -> Any:
        y[...] = x
        return y

    return computed(package, step)


def matmul(package: str, work: Matmul) -> Work:
    xp, _, _ = library(package)
    a, b = (xp.asarray(factor.astype(work.dtype)) for factor in work.factors())
    return computed(package, lambda: xp.matmul(a, b))


def convolution(package: str, work: Convolution) -> Work:
    """One product for each place in a window, of shifted images."""
    xp, _, _ = library(package)
    images, kernel = (xp.asarray(array.astype(work.dtype)) for array in work.arrays())
    edge, size = work.window // 2, work.size

    def step() -> Any:
        wide = xp.pad(images, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
        return sum(
            wide[:, i : i + size, j : j + size] @ kernel[i, j]
            for i in range(work.window)
            for j in range(work.window)
        )

    return computed(package, step)


def attention(package: str, work: Attention) -> Work:
    xp, _, _ = library(package)
    q, k, v = (xp.asarray(factor.astype(work.dtype)) for factor in work.qkv())
    scale = q.dtype.type(work.scale)

    def step() -> Any:
        scores = xp.matmul(q, k.swapaxes(-1, -2)) * scale
        scores = xp.exp(scores - scores.max(-1, keepdims=True))
        return xp.matmul(scores / scores.sum(-1, keepdims=True), v)

    return computed(package, step)
