"""Some rows of cpu.py, written by hand in NumPy: results go into arrays that are reused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cpu_numbers import Chain, Expression, Mlp
from peers import Work

Step = Callable[[], Any]


def one_op() -> Step:
    return lambda: np.float32(1.5) + np.float32(1)


def chain(work: Chain) -> Step:
    numbers: Any = np.float32(work.factor), np.float32(work.term)
    scalars = Chain(work.length, *numbers)
    return lambda: scalars.of(np.float32(1.5))


def expression(work: Expression) -> Work:
    x = work.x()
    out = np.empty_like(x)
    return Work(expression_into(x, out), lambda: out)


def expression_into(x: Any, out: Any) -> Step:
    """Return the expression with as few temporaries as possible."""
    one, other = np.empty_like(x), np.empty_like(x)

    def step() -> None:
        np.multiply(x, np.float32(1.5), out=one)
        np.add(one, np.float32(0.3), out=one)
        np.tanh(one, out=one)
        np.multiply(x, np.float32(-0.7), out=other)
        np.exp(other, out=other)
        np.add(other, np.float32(1), out=other)
        np.divide(one, other, out=one)
        np.multiply(x, x, out=other)
        np.negative(other, out=other)
        np.exp(other, out=other)
        np.add(one, other, out=out)

    return step


def mlp(work: Mlp) -> Step:
    """One hidden layer, by gradient descent; the gradients by hand too."""
    (w1, b1), (w2, b2) = work.weights()
    inputs, labels, rows = work.x(), work.labels(), np.arange(work.batch)
    rate, count = np.float32(work.rate), np.float32(work.batch)
    h, d_h, logits, p, chosen = (
        np.empty((work.batch, width), np.float32)
        for width in (w1.shape[1], w1.shape[1], w2.shape[1], w2.shape[1], 1)
    )
    d_w1, d_w2, d_b1, d_b2 = map(np.empty_like, (w1, w2, b1, b2))

    def step() -> Any:
        np.matmul(inputs, w1, out=h)
        np.add(h, b1, out=h)
        np.maximum(h, 0, out=h)
        np.matmul(h, w2, out=logits)
        np.add(logits, b2, out=logits)
        np.subtract(logits, logits.max(1, keepdims=True), out=logits)
        np.exp(logits, out=p)
        np.sum(p, 1, keepdims=True, out=chosen)
        np.divide(p, chosen, out=p)
        loss = (np.log(chosen[:, 0]) - logits[rows, labels]).mean()
        p[rows, labels] -= 1
        np.divide(p, count, out=p)
        np.matmul(h.T, p, out=d_w2)
        np.sum(p, 0, out=d_b2)
        np.matmul(p, w2.T, out=d_h)
        np.multiply(d_h, h > 0, out=d_h)
        np.matmul(inputs.T, d_h, out=d_w1)
        np.sum(d_h, 0, out=d_b1)
        for weight, grad in ((w1, d_w1), (b1, d_b1), (w2, d_w2), (b2, d_b2)):
            np.multiply(grad, rate, out=grad)
            np.subtract(weight, grad, out=weight)
        return loss

    return step
