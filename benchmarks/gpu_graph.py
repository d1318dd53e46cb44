"""The rows of gpu.py as TensorFlow 1 programs on gpugraph: `Session.run` of steps without fetches.

Weights, optimizers' state and the batch are variables, which lie on the GPU.
"""

from __future__ import annotations

import os
import re
from types import SimpleNamespace
from typing import Any

import cpu_graph
import numpy as np
from cpu_numbers import Expression, Mlp, Transformer
from gpu_numbers import SAMPLE, Attention, Convolution, Copy, Matmul, Resnet
from gpu_work import EPSILON, Work

import gpugraph as tf
from gpugraph.devices.cuda.detection.gpu_detection import detect
from gpugraph.session.direct_session import PLAN_LISTENERS

LEFT_TO_HOST = re.compile(r"\((\w+)\) runs on the host for \S+: (.*)")

OPEN: list[Any] = []
"""Sessions that hold memory."""

HOSTED: dict[str, str] = {}
"""Op types that GPUs leave to the host in the plans of this row, and why."""

EMULATED = os.environ.get("GPUGRAPH_VIRTUAL_GPUS") == "emulated"


class Program:
    """A graph while it is built, then its session."""

    def __init__(self, refuses_host: bool = False) -> None:
        """refuses_host: whether an op that falls back to the host is an error, but in a trial."""
        self.refuses_host = refuses_host and not EMULATED
        PLAN_LISTENERS[:] = [self.look]
        tf.reset_default_graph()
        self.initial: dict[Any, Any] = {}
        options = tf.GPUOptions(emulated_gpus=1) if EMULATED else tf.GPUOptions()
        self.config = tf.ConfigProto(gpu_options=options)

    def look(self, plan: Any) -> None:
        """Reports the ops of a new plan that fall back to the host."""
        for line in str(plan).splitlines():
            match = LEFT_TO_HOST.search(line)
            if match:
                HOSTED[match[1]] = match[2]
        if HOSTED and self.refuses_host:
            raise RuntimeError(f"on the host it would take too long: {', '.join(remarks())}")

    def resident(self, array: Any, dtype: str = "", trainable: bool = False) -> Any:
        """Return a variable with this value, in this dtype."""
        start = tf.placeholder(array.dtype, array.shape)
        self.initial[start] = array
        value = tf.cast(start, dtype) if dtype else start
        return tf.Variable(value, trainable=trainable)

    def weights(self, values: Any) -> Any:
        """Return the weights as variables that are trained."""
        if isinstance(values, dict):
            return {name: self.weights(value) for name, value in values.items()}
        if isinstance(values, (list, tuple)):
            return [self.weights(value) for value in values]
        return self.resident(values, trainable=True)

    def session(self) -> Any:
        session = tf.Session(config=self.config)
        OPEN.append(session)
        session.run(tf.global_variables_initializer(), self.initial)
        return session

    def trained(self, loss: Any, work: Any) -> Work:
        optimizer = {
            "sgd": lambda: tf.train.GradientDescentOptimizer(work.rate),
            "momentum": lambda: tf.train.MomentumOptimizer(work.rate, 0.9),
            "adam": lambda: tf.train.AdamOptimizer(work.rate),
        }[work.optimizer]()
        step = optimizer.minimize(loss)
        session = self.session()
        return Work(
            lambda: session.run(step), lambda: wait(session), lambda: session.run([step, loss])[1]
        )

    def computed(self, value: Any) -> Work:
        part = tf.cast(tf.reshape(value, [-1])[:SAMPLE], tf.float32)
        session = self.session()
        return Work(lambda: session.run(value.op), lambda: wait(session), lambda: session.run(part))


def wait(session: Any) -> None:
    for device in session._backend.devices:
        device.synchronize()


def versions() -> str:
    return tf.__version__


def sees_gpu() -> bool:
    return bool(detect().gpus)


def remarks() -> list[str]:
    """Remarks on the row."""
    return [f"{op_type} runs on the host: {reason}" for op_type, reason in sorted(HOSTED.items())]


def forget() -> None:
    """Free the memory of earlier rows."""
    HOSTED.clear()
    PLAN_LISTENERS.clear()
    while OPEN:
        OPEN.pop().close()


def one_op() -> Work:
    program = Program()
    x = tf.placeholder(tf.float32, [])
    y, session = x + 1.0, program.session()
    return Work(lambda: session.run(y, {x: 1.5}), lambda: None, lambda: session.run(y, {x: 1.5}))


def network(x: Any, layers: Any) -> Any:
    for index, (kernel, bias) in enumerate(layers):
        x = tf.matmul(x, kernel) + bias
        x = tf.nn.relu(x) if index < len(layers) - 1 else x
    return x


def mlp(work: Mlp) -> Work:
    program = Program()
    x, labels = program.resident(work.x()), program.resident(work.labels())
    logits = network(x, program.weights(work.weights()))
    return program.trained(cpu_graph.cross_entropy(tf, logits, labels), work)


def fed_mlp(work: Mlp) -> Work:
    """Its batch is fed and its loss fetched at each step."""
    program = Program()
    x = tf.placeholder(tf.float32, [work.batch, work.widths[0]])
    labels = tf.placeholder(tf.int32, [work.batch])
    loss = cpu_graph.cross_entropy(tf, network(x, program.weights(work.weights())), labels)
    step = tf.train.GradientDescentOptimizer(work.rate).minimize(loss)
    session, feeds = program.session(), {x: work.x(), labels: work.labels()}

    def run() -> Any:
        return session.run([step, loss], feeds)[1]

    return Work(run, lambda: None, run)


def resnet(work: Resnet) -> Work:
    program = Program(refuses_host=True)
    x, labels = program.resident(work.x()), program.resident(work.labels())
    logits = work.of(x, program.weights(work.weights()), OPS)
    return program.trained(cpu_graph.cross_entropy(tf, logits, labels), work)


def conv(x: Any, kernel: Any, stride: int) -> Any:
    """Return a convolution padded alike on both sides, as in programs ported from other
    libraries.
    """
    around = kernel.shape.as_list()[0] // 2
    if around and stride > 1:
        x = tf.pad(x, [[0, 0], [around, around], [around, around], [0, 0]])
    padding = "VALID" if around and stride > 1 else "SAME"
    return tf.nn.conv2d(x, kernel, strides=[1, stride, stride, 1], padding=padding)


def pool(x: Any) -> Any:
    """Max pooling of numbers that are not negative, so that zeros around them do not matter."""
    x = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])
    return tf.nn.max_pool(x, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="VALID")


OPS = SimpleNamespace(
    conv=conv,
    norm=lambda x, gain, offset: tf.nn.fused_batch_norm(x, gain, offset, epsilon=EPSILON)[0],
    relu=tf.nn.relu,
    pool=pool,
    mean=lambda x: tf.reduce_mean(x, axis=[1, 2]),
    dense=lambda x, kernel, bias: tf.matmul(x, kernel) + bias,
)


def transformer(work: Transformer) -> Work:
    program = Program()
    x, target = program.resident(work.x()), program.resident(work.target())
    y = tf.reshape(x, [-1, work.width])
    for weights in program.weights(work.weights()):
        y = cpu_graph.block(tf, y, weights, work)
    return program.trained(tf.reduce_mean(tf.square(tf.reshape(y, x.shape) - target)), work)


def expression(work: Expression) -> Work:
    program = Program()
    x = program.resident(work.x())
    return program.computed(tf.tanh(x * 1.5 + 0.3) * tf.sigmoid(x * 0.7) + tf.exp(-x * x))


def copy(work: Copy) -> Work:
    program = Program()
    x, y = program.resident(work.x()), program.resident(np.zeros(work.size, np.float32))
    step, session = tf.assign(y, x), program.session()
    return Work(
        lambda: session.run(step.op), lambda: wait(session), lambda: session.run(step)[:SAMPLE]
    )


def matmul(work: Matmul) -> Work:
    program = Program()
    a, b = (program.resident(factor, work.dtype) for factor in work.factors())
    return program.computed(tf.matmul(a, b))


def convolution(work: Convolution) -> Work:
    program = Program()
    images, kernel = (program.resident(array, work.dtype) for array in work.arrays())
    return program.computed(tf.nn.conv2d(images, kernel, [1, 1, 1, 1], "SAME"))


def attention(work: Attention) -> Work:
    program = Program()
    q, k, v = (program.resident(factor, work.dtype) for factor in work.qkv())
    scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * work.scale)
    return program.computed(tf.matmul(scores, v))
