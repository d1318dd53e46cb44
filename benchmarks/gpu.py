"""Speed on a GPU: gpugraph beside torch, torch.compile, jax.jit and CuPy, in one Python.

    python benchmarks/gpu.py [--rows WORD ...] [--rounds N] [--seconds S] [--json FILE]
                             [--table FILE] [--emulated]

All columns do the same work with the same numbers in the same dtypes, without TF32, each by its
usual means; the results of their first steps are compared. The data is on the GPU: only rows named
so feed or fetch, and steps are enqueued one after another and waited for together.
gpugraph runs a TensorFlow 1 program by `Session.run`; "not captured" is without CUDA graphs, and
"own convolutions" without cuDNN, a column of rows with convolutions where cuDNN is installed. In a
row of "one op" a number goes to the GPU and its result comes back.

See benchmarks/gpu_peers.py for the measurements. With --emulated the work is tiny, gpugraph's GPU
is emulated on the host and the others run on the CPU: a trial of the programs, without valid times.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cpu_numbers import Expression, Mlp, Transformer
from gpu_numbers import Attention, Convolution, Copy, Matmul, Resnet
from gpu_peers import OWN_CONVOLUTIONS, Row, main

__all__ = ["Sizes", "rows"]


class Sizes(NamedTuple):
    """How much work each row is."""

    small: Mlp = Mlp((64, 128, 10), 32, "sgd", 0.1)
    large: Mlp = Mlp((784, 4096, 4096, 10), 1024, "adam", 1e-4)
    resnet: Resnet = Resnet()
    transformer: Transformer = Transformer(6, 16, 512, 512, 8, rate=1e-4)
    expression: Expression = Expression(1 << 26)
    copy: Copy = Copy()
    products: tuple[Matmul, ...] = (
        *(Matmul(size) for size in (1024, 4096, 8192)),
        *(Matmul(size, dtype) for dtype in ("float16", "bfloat16") for size in (4096, 8192)),
    )
    attention: tuple[Attention, ...] = (Attention(), Attention(batch=2, dtype="float32"))
    convolutions: tuple[Convolution, ...] = (
        Convolution(),
        Convolution(size=14, channels=256, outputs=256),
        Convolution(dtype="float32"),
    )


TINY = Sizes(
    Mlp((6, 5, 4), 3, "sgd", 0.1),
    Mlp((6, 5, 5, 4), 3, "adam", 1e-3),
    Resnet(2, 32, 4, (1, 2), 5),
    Transformer(2, 2, 4, 8, 2),
    Expression(500),
    Copy(500),
    (Matmul(24), Matmul(24, "float16"), Matmul(24, "bfloat16")),
    (Attention(1, 2, 6, 4), Attention(1, 2, 6, 4, "float32")),
    (Convolution(2, 5, 8, 4), Convolution(2, 5, 3, 4, dtype="float32")),
)
"""The same rows, but small enough for an emulated GPU."""


def by(module: str, function: str, *arguments: Any) -> Callable[[], Any]:
    """Return a function of a module that only its package's users can import."""
    return lambda: getattr(importlib.import_module(module), function)(*arguments)


def columns(name: str, *arguments: Any, without: str = "") -> dict[str, Callable[[], Any]]:
    """Return the functions that prepare a row, by column, except the columns in `without`."""
    functions = {
        "gpugraph": by("gpu_graph", name, *arguments),
        "gpugraph, not captured": by("gpu_graph", name, *arguments),
        OWN_CONVOLUTIONS: by("gpu_graph", name, *arguments),
        "torch": by("gpu_torch", name, False, *arguments),
        "torch.compile": by("gpu_torch", name, True, *arguments),
        "jax": by("gpu_jax", name, *arguments),
        "cupy": by("gpu_array", name, "cupy", *arguments),
        "numpy": by("gpu_array", name, "numpy", *arguments),
    }
    return {
        column: prepare
        for column, prepare in functions.items()
        if column not in without.split()
        and (column != OWN_CONVOLUTIONS or name in ("convolution", "resnet"))
    }


BY_HAND = "cupy numpy"


def rows(sizes: Sizes) -> Mapping[str, Row]:
    """Return all rows. The slowest to prepare are last: they are left out if time is up."""
    small, large, blocks = sizes.small, sizes.large, sizes.transformer
    chain = sizes.expression.size * 8
    table = {
        "one op, fed and fetched": Row(columns("one_op")),
        f"copy of {text(sizes.copy.size * 4)}": Row(
            columns("copy", sizes.copy, without="torch.compile"), sizes.copy.size * 8, "GB/s"
        ),
        f"tanh(1.5x+.3)*sigmoid(.7x)+exp(-x*x), {text(chain // 2)}": Row(
            columns("expression", sizes.expression), chain, "GB/s"
        ),
        f"MLP {widths(small)}, batch {small.batch}, SGD step": Row(columns("mlp", small)),
        "the same, batch fed, loss fetched": Row(columns("fed_mlp", small, without=BY_HAND)),
        f"MLP {widths(large)}, batch {large.batch}, Adam step": Row(
            columns("mlp", large, without=BY_HAND), tolerance=2e-3
        ),
        f"{blocks.blocks} transformer blocks {blocks.batch}x{blocks.tokens}x{blocks.width}, "
        "Adam step": Row(columns("transformer", blocks, without=BY_HAND), tolerance=2e-3),
    }
    for product in sizes.products:
        done = columns("matmul", product, without="torch.compile " + hand(product.dtype))
        name = f"matmul {product.size}, {product.dtype}"
        table[name] = Row(done, 2 * product.size**3, "TFLOP/s", bits(product.dtype))
    for one in sizes.attention:
        done = columns("attention", one, without="torch.compile " + hand(one.dtype))
        name = f"attention {one.batch}x{one.heads}x{one.tokens}x{one.depth}, {one.dtype}"
        amount = 4 * one.batch * one.heads * one.tokens**2 * one.depth
        table[name] = Row(done, amount, "TFLOP/s", bits(one.dtype))
    for layer in sizes.convolutions:
        name = f"convolution {layer.window}x{layer.window}, {layer.batch}x{layer.size}x{layer.size}"
        name += f"x{layer.channels} to {layer.outputs}, {layer.dtype}"
        done = columns("convolution", layer, without="torch.compile cupy")
        table[name] = Row(done, layer.operations, "TFLOP/s", bits(layer.dtype))
    net = sizes.resnet
    name = f"ResNet-{depth(net)}, {net.batch}x{net.size}x{net.size}, Momentum step"
    return {**table, name: Row(columns("resnet", net, without=BY_HAND), tolerance=2e-3)}


def hand(dtype: str) -> str:
    """NumPy and CuPy have no bfloat16."""
    return BY_HAND if dtype == "bfloat16" else ""


def bits(dtype: str) -> float:
    return {"float16": 1e-2, "bfloat16": 4e-2}.get(dtype, 5e-4)


def widths(work: Mlp) -> str:
    return "-".join(map(str, work.widths))


def depth(work: Resnet) -> int:
    return 2 + 3 * sum(work.blocks)


def text(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count} bytes"


if __name__ == "__main__":
    main(rows(Sizes()), rows(TINY), __file__)
