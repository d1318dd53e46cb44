"""The rows of gpu.py by torch, eager or by torch.compile: autograd, fused optimizers, no TF32.

torch.compile replays CUDA graphs ("reduce-overhead") where steps are many small kernels, and not
where it would have to copy large inputs for that.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import cpu_torch
import torch
import torch.nn.functional as F
from cpu_numbers import Expression, Mlp, Transformer
from gpu_numbers import SAMPLE, Attention, Convolution, Copy, Matmul, Resnet
from gpu_work import EPSILON, Work

CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
torch.backends.cudnn.benchmark = True


def versions() -> str:
    return f"{torch.__version__}, CUDA {torch.version.cuda}, {'GPU' if CUDA else 'no GPU'}"


def sees_gpu() -> bool:
    return CUDA


def forget() -> None:
    """Free the memory of earlier rows."""
    torch.compiler.reset()
    gc.collect()
    if CUDA:
        torch.cuda.empty_cache()


def wait() -> None:
    if CUDA:
        torch.cuda.synchronize()


def made(function: Callable[..., Any], compiled: bool, graphs: bool = True) -> Callable[..., Any]:
    if not compiled:
        return function
    return torch.compile(function, mode="reduce-overhead" if graphs and CUDA else "default")


def resident(array: Any, dtype: str = "") -> Any:
    value = torch.from_numpy(array).to(DEVICE)
    return value.to(getattr(torch, dtype)) if dtype else value


def trained(
    loss: Callable[..., Any], compiled: bool, weights: Any, work: Any, *arguments: Any
) -> Work:
    run, feed = made(loss, compiled), [resident(argument) for argument in arguments]
    kept = moved(cpu_torch.tensors(weights))
    optimizer = cpu_torch.optimizer_of(kept, work)

    def step() -> Any:
        torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad()
        now = run(kept, *feed)
        now.backward()
        optimizer.step()
        return now

    return Work(step, wait, lambda: step().item())


def moved(weights: Any) -> Any:
    if isinstance(weights, torch.Tensor):
        return weights.to(DEVICE)
    if isinstance(weights, dict):
        return {name: moved(value) for name, value in weights.items()}
    return [moved(value) for value in weights]


def computed(function: Callable[..., Any], compiled: bool, *arguments: Any) -> Work:
    run = made(function, compiled, graphs=False)

    def step() -> Any:
        with torch.inference_mode():
            return run(*arguments)

    return Work(step, wait, lambda: step().reshape(-1)[:SAMPLE].float().cpu().numpy())


def one_op(compiled: bool) -> Work:
    run = made(lambda x: x + 1.0, compiled)

    def step() -> Any:
        return run(torch.tensor(1.5, device=DEVICE)).item()

    return Work(step, lambda: None, step)


def network(layers: Any, x: Any, labels: Any) -> Any:
    for index, (kernel, bias) in enumerate(layers):
        x = F.linear(x, kernel, bias)
        x = F.relu(x) if index < len(layers) - 1 else x
    return F.cross_entropy(x, labels)


def mlp(compiled: bool, work: Mlp) -> Work:
    labels = work.labels().astype("int64")
    return trained(network, compiled, work.weights(), work, work.x(), labels)


def fed_mlp(compiled: bool, work: Mlp) -> Work:
    """Its batch comes from NumPy and its loss is read at each step."""
    x, labels = work.x(), work.labels().astype("int64")

    def loss(layers: Any) -> Any:
        return run(layers, resident(x), resident(labels))

    run = made(network, compiled)
    resident_work = trained(loss, False, work.weights(), work)
    return Work(resident_work.results, wait, resident_work.results)


def resnet(compiled: bool, work: Resnet) -> Work:
    def loss(weights: Any, x: Any, labels: Any) -> Any:
        return F.cross_entropy(work.of(x, weights, OPS), labels)

    x = work.x().transpose(0, 3, 1, 2).copy()
    return trained(loss, compiled, work.weights(), work, x, work.labels().astype("int64"))


OPS = SimpleNamespace(
    conv=lambda x, kernel, stride: F.conv2d(x, kernel, None, stride, kernel.shape[-1] // 2),
    norm=lambda x, gain, offset: F.batch_norm(
        x, None, None, gain, offset, training=True, eps=EPSILON
    ),
    relu=F.relu,
    pool=lambda x: F.max_pool2d(x, 3, 2, 1),
    mean=lambda x: x.mean((2, 3)),
    dense=F.linear,
)


def transformer(compiled: bool, work: Transformer) -> Work:
    def loss(blocks: Any, x: Any, target: Any) -> Any:
        for weights in blocks:
            x = cpu_torch.block(x, weights, work)
        return F.mse_loss(x, target)

    return trained(loss, compiled, work.weights(), work, work.x(), work.target())


def expression(compiled: bool, work: Expression) -> Work:
    return computed(cpu_torch.the_expression, compiled, resident(work.x()))


def copy(compiled: bool, work: Copy) -> Work:
    x = resident(work.x())
    y = torch.empty_like(x)
    return Work(lambda: y.copy_(x), wait, lambda: y.copy_(x)[:SAMPLE].cpu().numpy())


def matmul(compiled: bool, work: Matmul) -> Work:
    return computed(torch.matmul, compiled, *(resident(x, work.dtype) for x in work.factors()))


def convolution(compiled: bool, work: Convolution) -> Work:
    images, kernel = (resident(array, work.dtype) for array in work.arrays())
    x = images.permute(0, 3, 1, 2)  # a view: channels stay last in memory
    w = kernel.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)

    def step(x: Any, w: Any) -> Any:
        return F.conv2d(x, w, padding=work.window // 2).permute(0, 2, 3, 1)

    return computed(step, compiled, x, w)


def attention(compiled: bool, work: Attention) -> Work:
    factors = [resident(factor, work.dtype) for factor in work.qkv()]
    return computed(F.scaled_dot_product_attention, compiled, *factors)
