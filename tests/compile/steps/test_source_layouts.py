"""Windows over float16 and bfloat16, and with channels first, are native in sessions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.codegen.c_compiler import compiler

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)


def gradients(level: int, data_format: str, dtype: Any) -> tuple[list[Any], set[str]]:
    """Results of a small network and its gradients, and the op types that ran natively."""
    random = np.random.default_rng(6)
    first = data_format == "NCHW"
    images = random.normal(size=(2, 3, 12, 11) if first else (2, 12, 11, 3)).astype(np.float32)
    kernel = random.normal(size=(3, 3, 3, 8)).astype(np.float32)
    two = [1, 1, 2, 2] if first else [1, 2, 2, 1]
    with tf.Graph().as_default():
        fed = [tf.placeholder(tf.float32, array.shape) for array in (images, kernel)]
        x, w = (tf.cast(tensor, dtype) for tensor in fed)
        y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME", data_format=data_format)
        y = tf.nn.max_pool(y, two, two, "VALID", data_format=data_format)
        loss = tf.reduce_sum(tf.cast(y * y, tf.float32))
        fetches = [tf.cast(z, tf.float32) for z in (y, *tf.gradients(loss, [x, w]))]
        options = tf.OptimizerOptions(global_jit_level=level)
        config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))
        feeds = dict(zip(fed, (images, kernel)))
        with tf.Session(config=config) as session:
            session.run(fetches, feeds)
            metadata, trace = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            results = session.run(fetches, feeds, trace, metadata)
        nodes = [node for device in metadata.step_stats.dev_stats for node in device.node_stats]
        labels = [node.timeline_label for node in nodes if "native" in node.timeline_label]
        return results, {label.partition(" = ")[2].partition("(")[0] for label in labels}


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16, tf.bfloat16], ids=lambda t: t.name)
def test_windows_run_natively_in_every_layout(data_format: str, dtype: Any) -> None:
    results, native = gradients(tf.OptimizerOptions.ON_1, data_format, dtype)
    wanted, none = gradients(tf.OptimizerOptions.OFF, data_format, dtype)
    windows = {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "MaxPool", "MaxPoolGrad"}
    assert windows <= native
    assert not none
    digits = {tf.float32: 1e-5, tf.float16: 2e-3, tf.bfloat16: 2e-2}[dtype]
    for result, expected in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result, expected, 0, digits * np.abs(expected).max())
