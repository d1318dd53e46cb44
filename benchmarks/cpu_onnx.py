"""The rows of cpu.py that onnxruntime can do: inference, from models written by onnx_text."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
from cpu_numbers import EPSILON, Chain, Convnet, Expression, Mixed, Transformer
from onnx_text import Model
from peers import Once, Work

Step = Callable[[], Any]


class Value:
    """A result with operators * and +, so that formulas read as for the other peers.

    channels: for models that ask for it; a result has as many as the first input.
    """

    def __init__(self, model: Model, name: str, channels: int = 0) -> None:
        self.model, self.name, self.channels = model, name, channels

    def op(self, kind: str, *others: Any, **attributes: Any) -> Value:
        name = self.model.op(kind, *self._names(others), **attributes)
        return Value(self.model, name, self.channels)

    def split(self, count: int, axis: int) -> list[Value]:
        model = self.model
        names = model.op("Split", self.name, outputs=count, axis=axis, num_outputs=count)
        return [Value(model, name) for name in names]

    def _names(self, others: Sequence[Any]) -> list[str]:
        """Its name, and those of others; numbers and arrays become constants."""
        constant = self.model.constant
        return [
            self.name,
            *(value.name if isinstance(value, Value) else constant(value) for value in others),
        ]

    def __mul__(self, other: Any) -> Value:
        return self.op("Mul", other)

    def __add__(self, other: Any) -> Value:
        return self.op("Add", other)


def opened(text: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(text, options, providers=["CPUExecutionProvider"])


def text_of(
    function: Callable[[Value], Value], input_shape: Sequence[int], shape: Sequence[int]
) -> bytes:
    model = Model()
    result = function(Value(model, model.input("x", input_shape)))
    return model.bytes(result.name, shape)


def runner(function: Callable[[Value], Value], x: Any, shape: Sequence[int]) -> Step:
    session = opened(text_of(function, x.shape, shape))
    return lambda: session.run(None, {"x": x})


def one_op() -> Step:
    return runner(lambda x: x + 1.0, np.array(1.5, np.float32), ())


def chain(work: Chain) -> Step:
    return runner(work.of, np.array(1.5, np.float32), ())


def expression(work: Expression) -> Work:
    """Input and output are bound: neither is copied."""

    def function(x: Value) -> Value:
        bent = (x * 1.5 + 0.3).op("Tanh") * (x * 0.7).op("Sigmoid")
        return bent + (x.op("Neg") * x).op("Exp")

    x = work.x()
    session = opened(text_of(function, x.shape, x.shape))
    y = onnxruntime.OrtValue.ortvalue_from_shape_and_type(x.shape, np.float32)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(x))
    binding.bind_ortvalue_output(session.get_outputs()[0].name, y)
    return Work(lambda: session.run_with_iobinding(binding), lambda: y.numpy())


def convnet(work: Convnet) -> Work:
    def function(x: Value) -> Value:
        for kernel, bias in work.filters():
            filters = kernel.transpose(3, 2, 0, 1)
            y = x.op("Conv", filters, bias, pads=[2, 2, 2, 2], kernel_shape=[5, 5])
            x = y.op("Relu").op("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
        return x

    left = work.size // 2 ** len(work.depths)
    x = work.x().transpose(0, 3, 1, 2).copy()
    step = runner(function, x, (work.batch, work.depths[-1], left, left))
    return Work(step, lambda: step()[0].transpose(0, 2, 3, 1))


def block(x: Value, weights: dict[str, Any], work: Transformer) -> Value:
    def normalized(x: Value, name: str) -> Value:
        pair = weights[f"{name}_gain"], weights[f"{name}_offset"]
        return x.op("LayerNormalization", *pair, epsilon=EPSILON)

    def layer(x: Value, name: str) -> Value:
        return x.op("MatMul", weights[f"{name}_kernel"]).op("Add", weights[f"{name}_bias"])

    sizes = np.array([work.batch, work.tokens, 3 * work.heads, work.depth])
    qkv = layer(normalized(x, "first"), "qkv").op("Reshape", sizes)
    q, k, v = qkv.split(3, axis=2)
    q, v = (value.op("Transpose", perm=[0, 2, 1, 3]) for value in (q, v))
    scores = q.op("MatMul", k.op("Transpose", perm=[0, 2, 3, 1])) * work.depth**-0.5
    seen = scores.op("Softmax", axis=-1).op("MatMul", v).op("Transpose", perm=[0, 2, 1, 3])
    together = np.array([work.batch, work.tokens, work.width])
    x = x + layer(seen.op("Reshape", together), "out")
    return x + layer(layer(normalized(x, "second"), "up").op("Gelu"), "down")


def transformer(work: Transformer) -> Step:
    def function(x: Value) -> Value:
        for weights in work.weights():
            x = block(x, weights, work)
        return x

    return runner(function, work.x(), work.x().shape)


# -- graphs of many small ops

OPS = SimpleNamespace(
    matmul=lambda x, y: x.op("MatMul", y),
    add=lambda x, y: x.op("Add", y),
    mul=lambda x, y: x.op("Mul", y),
    sub=lambda x, y: x.op("Sub", y),
    maximum=lambda x, y: x.op("Max", y),
    tanh=lambda x: x.op("Tanh"),
    sigmoid=lambda x: x.op("Sigmoid"),
    mean=lambda x: x.op("ReduceMean", np.array([-1])),
)


def first_run(work: Mixed) -> Once:
    """Open a session on an existing model and run it."""
    x = work.x()
    text = text_of(lambda x: work.of(x, OPS), x.shape, x.shape)
    opened(text_of(lambda x: Mixed(10).of(x, OPS), x.shape, x.shape)).run(None, {"x": x})
    start = time.perf_counter()
    result = opened(text).run(None, {"x": x})
    return Once(time.perf_counter() - start, result)
