"""The rows of cpu.py as torch programs, eager or by torch.compile: modules' functions, autograd.

Images have depth first, as in torch; results are transposed to the layout of the other peers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from cpu_numbers import EPSILON, Chain, Convnet, Expression, Mixed, Mlp, Transformer
from peers import Once, Work

Step = Callable[[], Any]


def made(function: Callable[..., Any], compiled: bool) -> Callable[..., Any]:
    return torch.compile(function) if compiled else function


def inferred(function: Callable[..., Any], compiled: bool, weights: Any, x: Any) -> Step:
    run, kept = made(function, compiled), tensors(weights)

    def step() -> Any:
        with torch.inference_mode():
            return run(kept, torch.from_numpy(x))

    return step


def trained(
    loss: Callable[..., Any], compiled: bool, weights: Any, work: Any, *arguments: Any
) -> Step:
    run, kept = made(loss, compiled), tensors(weights)
    optimizer = optimizer_of(kept, work)

    def step() -> Any:
        optimizer.zero_grad()
        now = run(kept, *map(torch.from_numpy, arguments))
        now.backward()
        optimizer.step()
        return now.detach()

    return step


def optimizer_of(weights: Any, work: Any) -> Any:
    """Return the fused optimizer of the weights, which get gradients."""
    parameters = list(flat(weights))
    for tensor in parameters:
        tensor.requires_grad_()
    return {
        "sgd": lambda: torch.optim.SGD(parameters, work.rate, fused=True),
        "momentum": lambda: torch.optim.SGD(parameters, work.rate, 0.9, fused=True),
        "adam": lambda: torch.optim.Adam(parameters, work.rate, fused=True),
    }[work.optimizer]()


def tensors(weights: Any) -> Any:
    """Return the weights as tensors: kernels of layers as outputs by inputs, filters with depth
    first.
    """
    if isinstance(weights, dict):
        return {name: tensors(value) for name, value in weights.items()}
    if isinstance(weights, (list, tuple)):
        return [tensors(value) for value in weights]
    order = {1: (0,), 2: (1, 0), 4: (3, 2, 0, 1)}[weights.ndim]
    return torch.from_numpy(weights.transpose(order).copy())


def flat(weights: Any) -> Any:
    if isinstance(weights, torch.Tensor):
        yield weights
    else:
        for value in weights.values() if isinstance(weights, dict) else weights:
            yield from flat(value)


def cross_entropy(logits: Any, labels: Any) -> Any:
    return F.cross_entropy(logits, labels)


def one_op(compiled: bool) -> Step:
    run = made(lambda x: x + 1.0, compiled)
    return lambda: run(torch.tensor(1.5))


def chain(compiled: bool, work: Chain) -> Step:
    run = made(work.of, compiled)
    return lambda: run(torch.tensor(1.5))


def mlp(compiled: bool, work: Mlp) -> Step:
    def loss(layers: Any, x: Any, labels: Any) -> Any:
        for index, (kernel, bias) in enumerate(layers):
            x = F.linear(x, kernel, bias)
            x = F.relu(x) if index < len(layers) - 1 else x
        return cross_entropy(x, labels)

    labels = work.labels().astype("int64")
    return trained(loss, compiled, work.weights(), work, work.x(), labels)


def expression(compiled: bool, work: Expression) -> Step:
    run, x = made(the_expression, compiled), torch.from_numpy(work.x())

    def step() -> Any:
        with torch.inference_mode():
            return run(x)

    return step


def the_expression(x: Any) -> Any:
    return torch.tanh(x * 1.5 + 0.3) * torch.sigmoid(x * 0.7) + torch.exp(-x * x)


def features(filters: Any, x: Any) -> Any:
    for kernel, bias in filters:
        x = F.max_pool2d(F.relu(F.conv2d(x, kernel, bias, padding="same")), 2)
    return x


def convnet(compiled: bool, work: Convnet, training: bool) -> Step | Work:
    x = work.x().transpose(0, 3, 1, 2).copy()
    if not training:
        step = inferred(features, compiled, work.filters(), x)
        return Work(step, lambda: step().permute(0, 2, 3, 1))

    def loss(weights: Any, x: Any, labels: Any) -> Any:
        filters, (kernel, bias) = weights
        return cross_entropy(F.linear(features(filters, x).flatten(1), kernel, bias), labels)

    kernel, bias = work.dense()
    rows = kernel.reshape(-1, work.depths[-1], work.classes).transpose(1, 0, 2)
    layer = rows.reshape(kernel.shape), bias
    labels = work.labels().astype("int64")
    return trained(loss, compiled, (work.filters(), layer), work, x, labels)


def block(x: Any, weights: dict[str, Any], work: Transformer) -> Any:
    sizes = [work.width]
    first = F.layer_norm(x, sizes, weights["first_gain"], weights["first_offset"], EPSILON)
    qkv = F.linear(first, weights["qkv_kernel"], weights["qkv_bias"])
    qkv = qkv.view(work.batch, work.tokens, 3, work.heads, work.depth)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    seen = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
    x = x + F.linear(seen, weights["out_kernel"], weights["out_bias"])
    second = F.layer_norm(x, sizes, weights["second_gain"], weights["second_offset"], EPSILON)
    up = F.gelu(F.linear(second, weights["up_kernel"], weights["up_bias"]))
    return x + F.linear(up, weights["down_kernel"], weights["down_bias"])


def transformer(compiled: bool, work: Transformer, training: bool) -> Step:
    def function(blocks: Any, x: Any) -> Any:
        for weights in blocks:
            x = block(x, weights, work)
        return x

    def loss(blocks: Any, x: Any, target: Any) -> Any:
        return F.mse_loss(function(blocks, x), target)

    if not training:
        return inferred(function, compiled, work.weights(), work.x())
    return trained(loss, compiled, work.weights(), work, work.x(), work.target())


# -- graphs of many small ops

OPS = SimpleNamespace(
    matmul=torch.matmul,
    add=torch.add,
    mul=torch.mul,
    sub=torch.sub,
    maximum=torch.maximum,
    tanh=torch.tanh,
    sigmoid=torch.sigmoid,
    mean=lambda x: x.mean(-1, keepdim=True),
)


def first_run(work: Mixed) -> Once:
    """Tracing, compiling and running by torch.compile."""
    torch.compile(lambda x: x + 1)(torch.zeros(1))
    run, x = torch.compile(lambda x: work.of(x, OPS)), torch.from_numpy(work.x())
    start = time.perf_counter()
    result = run(x)
    return Once(time.perf_counter() - start, result)
