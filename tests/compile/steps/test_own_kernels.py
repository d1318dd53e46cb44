"""Kernels that a program registers run, never ours in their place, fused or native."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.cuda.emulation.cxx_compiler import host_compiler
from gpugraph.ops.framework import kernel_registry as kernels
from gpugraph.ops.op_index import load_all

needs_cc = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)
needs_cxx = pytest.mark.skipif(bool(host_compiler().reason), reason=host_compiler().reason)


@pytest.fixture
def register() -> Iterator[Any]:
    """`register_kernel`, undone by the end of the test."""
    load_all()  # else ops that load later lose their kernels, too
    kept = {key: list(entries) for key, entries in kernels._KERNELS.items()}
    with tf.Graph().as_default():
        yield tf.register_kernel
    kernels._KERNELS.clear()
    kernels._KERNELS.update(kept)


def forty_two(*arrays: Any) -> None:
    arrays[-1][...] = 42


def after_own(op: str) -> tuple[Any, dict[Any, Any]]:
    """Fusion around an op whose kernel is replaced."""
    x = tf.placeholder(tf.float32, [4, 4])
    programs = {
        "Tanh": lambda: tf.tanh(x * 2),
        "Softmax": lambda: tf.nn.softmax(x * 2),
        "MatMul": lambda: tf.matmul(x, x),
        "Transpose": lambda: tf.transpose(x * 2),
        "Sum": lambda: tf.reduce_sum(x * 2, axis=1, keepdims=True),
    }[op]()
    return programs + 1, {x: np.ones((4, 4))}


@needs_cc
@pytest.mark.parametrize("op", ["Tanh", "Softmax", "MatMul", "Transpose", "Sum"])
def test_on_the_cpu_native_code_leaves_them_alone(op: str, register: Any) -> None:
    register(op, "CPU", tf.Call(forty_two), priority=5)
    y, feeds = after_own(op)
    level = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1)
    options = tf.GraphOptions(optimizer_options=level)
    with tf.Session(config=tf.ConfigProto(graph_options=options)) as session:
        for _ in range(4):
            np.testing.assert_array_equal(np.unique(session.run(y, feeds)), [43])


@needs_cxx
@pytest.mark.parametrize("op", ["Tanh", "Softmax", "MatMul", "Transpose", "Sum"])
def test_on_gpus_they_run_on_copies_in_host_memory(op: str, register: Any) -> None:
    register(op, "GPU", tf.Call(forty_two), priority=5)
    y, feeds = after_own(op)
    options = tf.GPUOptions(emulated_gpus=1)
    with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
        for _ in range(3):
            np.testing.assert_array_equal(np.unique(session.run(y, feeds)), [43])
        report = str(session.explain(y, feeds))
        assert f"({op}) runs on the host for /job:localhost/replica:0/task:0/device:GPU:0" in report


@needs_cxx
def test_on_gpus_texts_of_others_are_fused_too(register: Any) -> None:
    def plus_seven(x: Any, y: Any) -> None:
        np.add(x, 7, out=y)

    register("Tanh", "GPU", tf.Elementwise("x + T(7)", tf.Call(plus_seven)), priority=5)
    y, feeds = after_own("Tanh")
    options = tf.GPUOptions(emulated_gpus=1)
    with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
        np.testing.assert_array_equal(session.run(y, feeds), np.full((4, 4), 10))
        assert "runs on the host" not in str(session.explain(y, feeds))


def chains() -> tuple[dict[str, Any], dict[Any, Any]]:
    """Return chains of ops with kernels of ours: the last op of each, and feeds."""
    x, images = tf.placeholder(tf.float32, [4, 4]), tf.placeholder(tf.float32, [1, 8, 8, 3])
    biased = tf.nn.bias_add(tf.matmul(x, x), tf.constant([1.0, 2, 3, 4]))
    filters = tf.constant(np.ones((3, 3, 3, 4), np.float32))
    convolution = tf.nn.conv2d(images, filters, [1, 1, 1, 1], "SAME")
    q = tf.reshape(x, [1, 4, 4])
    heads = tf.matmul(tf.nn.softmax(tf.matmul(q, q, transpose_b=True)), q)
    last = {
        "product": tf.nn.relu(biased),
        "convolution": tf.nn.relu(tf.nn.bias_add(convolution, tf.constant([1.0, 2, 3, 4]))),
        "attention": heads,
    }
    return last, {x: np.ones((4, 4)), images: np.ones((1, 8, 8, 3))}


@needs_cxx
@pytest.mark.parametrize(
    "chain, op, fused",
    [
        ("product", "MatMul", "_FusedMatMul"),
        ("product", "BiasAdd", "_FusedMatMul"),
        ("product", "Relu", "_FusedMatMul"),
        ("convolution", "BiasAdd", "_FusedConv2D"),
        ("convolution", "Relu", "_FusedConv2D"),
        ("attention", "Softmax", "_FusedAttention"),
    ],
)
def test_on_gpus_no_op_of_ours_stands_for_them(
    chain: str, op: str, fused: str, register: Any
) -> None:
    last, feeds = chains()
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=1))
    ran = []

    def own(*arrays: Any) -> None:
        ran.append(op)
        forty_two(*arrays)

    with tf.Session(config=config) as session:
        assert fused in str(session.explain(last[chain], feeds))
    register(op, "GPU", tf.Call(own), priority=5)
    with tf.Session(config=config) as session:
        session.run(last[chain], feeds)
    assert ran == [op]
