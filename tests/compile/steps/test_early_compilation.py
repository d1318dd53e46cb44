"""Early compilation: code that later plans of a graph need compiles while its first plan runs."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.compile.steps import early_compilation
from gpugraph.devices.codegen.c_compiler import compiler


@pytest.fixture(autouse=True)
def files(monkeypatch):
    """Return the files whose compilation is requested early."""
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)
    if compiler().reason:
        pytest.skip(compiler().reason)
    requests = []
    monkeypatch.setattr(early_compilation, "prepare_source", lambda *file: requests.append(file))
    with tf.Graph().as_default():
        yield requests


def pooled_convolution(size, batch=None, dtype=tf.float32):
    images = tf.placeholder(dtype, [batch, size, size, 3])
    kernel = tf.get_variable("kernel", [3, 3, 3, 64], dtype)
    return tf.nn.max_pool(tf.nn.conv2d(images, kernel, [1, 1, 1, 1], "SAME"), 2, 1, "SAME")


def test_the_first_run_asks_for_the_files_of_large_ops(files):
    pooled_convolution(256)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
    assert files == [("host_convolution.h", "float32"), ("host_pooling.h", "float32")]


@pytest.mark.parametrize(
    "sizes, dtype, transpose, asked",
    [
        ((None, 784, 1024), tf.float32, False, [("host_matmul.h", "float32")]),
        ((256, 1024, 256), tf.float64, True, [("host_matmul.h", "float64")]),
        ((32, 64, 128), tf.float32, False, []),
        ((None, 784, 1024), tf.float16, False, []),
        ((4096, None, 4096), tf.float32, False, []),
        ((1, 4096, 8192), tf.float32, False, []),  # one vector, by NumPy's BLAS
    ],
)
def test_large_products_ask_for_tiles(files, sizes, dtype, transpose, asked):
    m, k, n = sizes
    a = tf.placeholder(dtype, [k, m] if transpose else [m, k])
    tf.matmul(a, tf.placeholder(dtype, [k, n]), transpose_a=transpose)
    with tf.Session() as session:
        session.run(tf.constant(1.0))
    assert files == asked


def test_ops_are_looked_at_once(files):
    pooled_convolution(256)
    with tf.Session() as session:
        session.run(tf.constant(1.0))
        files.clear()
        session.run(tf.constant(2.0))
        assert files == []
        tf.nn.avg_pool(tf.zeros([8, 256, 256, 8], tf.float64), 2, 1, "SAME")
        session.run(tf.constant(3.0))
    assert files == [("host_pooling.h", "float64")]


@pytest.mark.parametrize("size, dtype", [(16, tf.float32), (256, tf.float16)])
def test_small_ops_and_those_without_native_code_ask_for_nothing(files, size, dtype):
    pooled_convolution(size, 1, dtype)
    with tf.Session() as session:
        session.run(tf.constant(1.0))
    assert files == []


def test_sessions_without_native_code_ask_for_nothing(files):
    pooled_convolution(256)
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.OFF
    with tf.Session(config=config) as session:
        session.run(tf.constant(1.0))
    assert files == []
