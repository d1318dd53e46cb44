"""Speed on the CPU: gpugraph beside TensorFlow's v1 API, JAX, torch, onnxruntime and NumPy.

    python benchmarks/cpu.py [--rows WORD ...] [--rounds N] [--json FILE] [--check]

All peers do the same work with the same numbers (--check compares results), each by its usual
means: inputs of a step are NumPy arrays, and its result exists when the step ends. gpugraph and
TensorFlow run the same program by `Session.run`; weights are variables. JAX: one jitted function
per step, nothing donated. torch: eager (fused optimizers), and the forward pass and loss by
torch.compile. onnxruntime: inference only. NumPy: by hand, in some rows. The 10 million elements
are neither fed nor fetched: gpugraph and TensorFlow assign a variable to another, the others keep
them in arrays.

"gpugraph" runs with default settings, once its kernels are compiled in the background; "gpugraph,
NumPy" runs without native kernels. In the rows of a first run nothing is compiled yet: caches are
empty, and "gpugraph, waiting" waits for its kernels. All columns of these rows leave out the import
and a first small program. In those of VGG19 a whole program is timed, the import of gpugraph or
TensorFlow included, with an empty cache of compiled code and with the cache that the same program
has filled.

See benchmarks/peers.py for the search for peers and the measurements.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from control_flow import scalar_loop, scalar_loop_in_jax
from cpu_numbers import (
    Chain,
    Convnet,
    Embedding,
    Expression,
    GraphAttention,
    Mixed,
    Mlp,
    Normal,
    TextCnn,
    Transformer,
    Vgg,
)
from peers import Rows, main, tensorflow


class Sizes(NamedTuple):
    """How much work each row is."""

    chain: Chain = Chain()
    small: Mlp = Mlp((64, 128, 10), 32, "sgd", 0.1)
    expression: Expression = Expression()
    large: Mlp = Mlp((784, 1024, 1024, 10), 256, "adam", 1e-3)
    convnet: Convnet = Convnet()
    forward: Transformer = Transformer(4, 8, 128, 256, 8)
    training: Transformer = Transformer(2, 4, 64, 128, 4)
    mixed: Mixed = Mixed()
    text: TextCnn = TextCnn()
    graph: GraphAttention = GraphAttention()
    embedding: Embedding = Embedding()
    normal: Normal = Normal()
    vgg: Vgg = Vgg()


TINY = Sizes(
    Chain(20),
    Mlp((6, 5, 4), 3, "sgd", 0.1),
    Expression(100),
    Mlp((6, 5, 5, 4), 3, "adam", 1e-3),
    Convnet(2, 8, (3, 4)),
    Transformer(2, 2, 4, 8, 2),
    Transformer(2, 2, 4, 8, 2),
    Mixed(20),
    TextCnn(2, 6, 20, 4, (2, 3), 5),
    GraphAttention(30, 60),
    Embedding((30, 4), 3, 5),
    Normal(101),
    Vgg(1, 4, ((3, 1), (4, 2)), (6, 5)),
)
"""The same rows, but small enough for a test."""


def own() -> Any:
    return importlib.import_module("gpugraph")


def by(module: str, function: str, *arguments: Any) -> Callable[[], Any]:
    """Return a function of a module that only its package's users can import."""
    return lambda: getattr(importlib.import_module(module), function)(*arguments)


def row(name: str, *arguments: Any, without: str = "", hand: bool = False) -> dict[str, Any]:
    """Return the columns of a row: function `name` of each module, except for those in
    `without`.
    """
    functions = {
        "gpugraph": by("cpu_graph", name, own, *arguments),
        "gpugraph, NumPy": by("cpu_graph", name, own, *arguments),
        "tensorflow": by("cpu_graph", name, tensorflow, *arguments),
        "jax": by("cpu_jax", name, *arguments),
        "torch": by("cpu_torch", name, False, *arguments),
        "torch.compile": by("cpu_torch", name, True, *arguments),
        "onnxruntime": by("cpu_onnx", name, *arguments),
        "numpy": by("cpu_numpy", name, *arguments),
    }
    lacking = [*without.split(), *([] if hand else ["numpy"])]
    return {column: function for column, function in functions.items() if column not in lacking}


def inference(name: str, work: Any) -> dict[str, Any]:
    return {**row(name, work, False), "onnxruntime": by("cpu_onnx", name, work)}


def training(name: str, *arguments: Any, hand: bool = False) -> dict[str, Any]:
    return row(name, *arguments, without="onnxruntime", hand=hand)


def first_runs(work: Mixed, whole: bool) -> dict[str, Any]:
    """Neither eager torch nor onnxruntime builds a graph from a program."""
    graph = {
        column: by("cpu_graph", "first_run", own, work, whole)
        for column in ("gpugraph", "gpugraph, NumPy", "gpugraph, waiting")
    }
    others = {
        "tensorflow": by("cpu_graph", "first_run", tensorflow, work, whole),
        "jax": by("cpu_jax", "first_run", work, whole),
    }
    last = ("torch.compile", "cpu_torch") if whole else ("onnxruntime", "cpu_onnx")
    return {**graph, **others, last[0]: by(last[1], "first_run", work)}


def program(name: str, work: Any, *further: str) -> dict[str, Any]:
    """Return a program for TensorFlow 1; `further` columns are gpugraph's too."""
    functions = {column: by("cpu_programs", name, own, work) for column in ("gpugraph", *further)}
    return {**functions, "tensorflow": by("cpu_programs", name, tensorflow, work)}


FIRST, WHOLE = "first run of 1,000 ops", "building and first run of 1,000 ops"
COLD, WARM = "VGG19, whole process, cold cache", "VGG19, whole process, warm cache"


def rows(sizes: Sizes) -> Rows:
    """Return all rows, for work of these sizes."""
    loop = {
        "gpugraph": partial(scalar_loop, own),
        "gpugraph, NumPy": partial(scalar_loop, own),
        "tensorflow": partial(scalar_loop, tensorflow),
        "jax": scalar_loop_in_jax,
    }
    building = row("building", sizes.mixed, without="torch torch.compile onnxruntime")
    return {
        "one op, fed scalar": row("one_op", hand=True),
        "1,500 scalar ops in a chain": row("chain", sizes.chain, hand=True),
        "MLP 64-128-10, batch 32, SGD step": training("mlp", sizes.small, hand=True),
        "tanh(1.5x+.3)*sigmoid(.7x)+exp(-x*x), 10 M": row(
            "expression", sizes.expression, hand=True
        ),
        "MLP 784-1024-1024-10, batch 256, Adam step": training("mlp", sizes.large),
        "conv, pool, conv, pool, 32x28x28, forward": inference("convnet", sizes.convnet),
        "conv, pool, conv, pool, dense, Momentum step": training("convnet", sizes.convnet, True),
        "4 transformer blocks 8x128x256, forward": inference("transformer", sizes.forward),
        "2 transformer blocks 4x64x128, Adam step": training("transformer", sizes.training, True),
        FIRST: first_runs(sizes.mixed, whole=False),
        WHOLE: first_runs(sizes.mixed, whole=True),
        "building one op": building,
        "while_loop, 1,000 scalar iterations": loop,
        "text-CNN, batch 64, Adam step": program("text_cnn", sizes.text, "gpugraph, NumPy"),
        "graph attention, 2,708 nodes, gradients": program(
            "graph_attention", sizes.graph, "gpugraph, NumPy"
        ),
        "embedding 50,000 x 64, 2,560 lookups, Adagrad step": program(
            "embedding", sizes.embedding, "gpugraph, NumPy"
        ),
        "normal random numbers, 10 M": program("normal", sizes.normal, "gpugraph, NumPy"),
        COLD: program("vgg", sizes.vgg),
        WARM: program("vgg", sizes.vgg),
    }


if __name__ == "__main__":
    main(rows(Sizes()), __file__, {FIRST: "cold", WHOLE: "cold", COLD: "cold", WARM: "warm"})
