"""Runs small graphs without a session: each op by its own CPU kernel, on arrays.

    evaluate(tensor, {placeholder: array})        one value, or a list for a list of tensors
    gradients(y, xs)                              symbolic gradients, by the declared `grad`s
    check_gradient(function, x, y, order=2)       those against finite differences, in float64

Every kernel that runs is checked on the way: its outputs start as garbage, so that an element
which is not written shows; its inputs are read-only; and the results of inference, before the run
and from the exact shapes, must hold for the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.op_def import host_slots
from gpugraph.kernel import Call
from gpugraph.ops.arrays.indexed_slices_to_tensor import dense
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS, raw_ops
from gpugraph.ops.framework.op_evaluation import ArrayContext

__all__ = ["Evaluator", "check_gradient", "evaluate", "gradients"]


class Evaluator:
    """Evaluates tensors; keeps nodes' states (random generators) from one call to the next."""

    def __init__(self) -> None:
        self.states: dict[str, Any] = {}

    def __call__(self, fetches: Any, feeds: Mapping[Tensor, Any] | None = None) -> Any:
        """Return the value of one tensor, or of each in a list or tuple."""
        known: dict[Tensor, np.ndarray] = {}
        for tensor, value in (feeds or {}).items():
            known[tensor] = np.asarray(value, tensor.dtype.base_dtype.as_numpy_dtype)
        done: set[Operation] = set()
        if isinstance(fetches, Tensor):
            return self._value(fetches, known, done)
        return [self._value(tensor, known, done) for tensor in fetches]

    def _value(self, tensor: Tensor, known: dict[Tensor, np.ndarray], done: set[Operation]) -> Any:
        waiting = [tensor.op] if tensor not in known else []
        while waiting:
            op = waiting[-1]
            missing = [
                source.op for source in op.inputs if source not in known and source.op not in done
            ]
            missing += [other for other in op.control_inputs if other not in done]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if op not in done:
                done.add(op)
                outputs = self.run(op, [known[source] for source in op.inputs])
                for output, value in zip(op.outputs, outputs, strict=True):
                    known.setdefault(output, value)
        return known[tensor]

    def run(self, op: Operation, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run one op's CPU kernel, and check it."""
        entry = find_kernel(op.type, "CPU", op.attrs)
        assert entry is not None and isinstance(entry.kernel, Call), op.type
        kernel = entry.kernel
        types = [output.dtype.base_dtype for output in op.outputs]
        inferred = _infer(op, values)
        shapes = [] if kernel.dynamic else [tuple(shape.as_list()) for shape in inferred]
        outputs = [
            _garbage(size, dtype.as_numpy_dtype)
            for size, dtype in zip(shapes, types, strict=not kernel.dynamic)
        ]
        inputs = [_read_only(value) for value in values]
        host = host_slots(op._op_def.inputs, op._op_def.host_inputs, op.attrs)
        passed = [item for index, item in enumerate(inputs) if index not in host]
        context = ArrayContext(op.name, op.attrs, inputs, shapes, types, self.states)
        with np.errstate(all="ignore"):
            returned = kernel.bind(context, [*passed, *outputs])()
        if kernel.dynamic:
            outputs = [np.asarray(array) for array in returned]
        for output, value, shape in zip(op.outputs, outputs, inferred, strict=True):
            actual = TensorShape.of(value.shape)
            assert output.shape.is_compatible_with(actual), (op.type, output.shape, actual)
            assert shape.is_compatible_with(actual), (op.type, shape, actual)
            assert value.dtype == output.dtype.as_numpy_dtype, (op.type, value.dtype)
        return outputs


def _infer(op: Operation, values: Sequence[np.ndarray]) -> Sequence[TensorShape]:
    context = InferContext(
        [TensorShape.of(value.shape) for value in values],
        op.attrs,
        [as_dtype(value.dtype) for value in values],
        len(op.outputs),
        values.__getitem__,
    )
    shapes: Sequence[TensorShape] = op._op_def.infer(context)  # type: ignore[misc]
    return shapes


def _garbage(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    if np.dtype(dtype).kind == "O":
        return np.empty(shape, dtype)
    array = np.empty(shape, dtype)
    array.reshape(-1).view(np.uint8).fill(0x5B)
    if array.dtype.kind == "b":
        array.fill(True)
    return array


def _read_only(value: np.ndarray) -> np.ndarray:
    view = np.asarray(value).view()
    view.setflags(write=False)
    return view


def evaluate(fetches: Any, feeds: Mapping[Tensor, Any] | None = None) -> Any:
    """Return the value of one tensor, or of each in a list, by a fresh `Evaluator`."""
    return Evaluator()(fetches, feeds)


def gradients(y: Tensor, xs: Sequence[Tensor], grad_y: Any = None) -> list[Any]:
    """d sum(y * grad_y) / dx for each of `xs`, as tensors; None where y does not depend on x."""
    received: dict[Tensor, list[Any]] = {y: [raw_ops.OnesLike(y) if grad_y is None else grad_y]}
    needed = _ancestors(y.op)
    for op in sorted(needed, key=lambda operation: operation._id, reverse=True):
        dys = [_total(received.get(output)) for output in op.outputs]
        if all(dy is None for dy in dys) or any(output in xs for output in op.outputs):
            continue
        grad = DECLARATIONS[op.type].grad
        if not callable(grad):
            continue
        dys = [
            raw_ops.ZerosLike(o) if d is None else d for o, d in zip(op.outputs, dys, strict=True)
        ]
        dxs = grad(op, *dys)
        dxs = list(dxs) if isinstance(dxs, (list, tuple)) else [dxs]
        assert len(dxs) == len(op.inputs), (op.type, dxs)
        for source, dx in zip(op.inputs, dxs, strict=True):
            if dx is not None:
                assert dx.dtype.base_dtype is source.dtype.base_dtype, (op.type, dx)
                assert dx.shape.is_compatible_with(source.shape), (op.type, dx, source)
                received.setdefault(source, []).append(dense(dx))
    return [_total(received.get(x)) for x in xs]


def _ancestors(op: Operation) -> set[Operation]:
    seen = {op}
    waiting = [op]
    while waiting:
        for source in waiting.pop().inputs:
            if source.op not in seen:
                seen.add(source.op)
                waiting.append(source.op)
    return seen


def _total(parts: list[Any] | None) -> Any:
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = raw_ops.AddV2(total, part)
    return total


def check_gradient(
    function: Callable[..., Tensor],
    *values: Any,
    order: int = 1,
    unknown: bool = True,
    step: float = 1e-5,
    tolerance: float = 1e-5,
) -> None:
    """Holds the gradients of `function(*tensors)` against central differences, in float64.

    With `unknown`, once more with placeholders of unknown rank. With `order=2`, the gradient's
    gradient too.
    """
    arrays = [np.asarray(value, np.float64) for value in values]
    for known in (True, False) if unknown else (True,):
        graph = Graph()
        with graph.as_default():
            xs = [
                raw_ops.Placeholder(
                    dtype=dtypes.float64, shape=TensorShape.of(array.shape if known else None)
                )
                for array in arrays
            ]
            y = function(*xs)
            for _ in range(order):
                y = _check_once(y, xs, arrays, step, tolerance)
                if y is None:
                    return


def _check_once(
    y: Tensor, xs: Sequence[Tensor], arrays: Sequence[np.ndarray], step: float, tolerance: float
) -> Tensor | None:
    """Check d sum(y * weights) / dx, and return the gradients weighted and summed, or None."""
    random = np.random.default_rng(7)
    base = evaluate(y, dict(zip(xs, arrays, strict=True)))
    weights = random.uniform(0.5, 1.5, base.shape)
    result = gradients(y, xs, raw_ops.Const(value=weights, dtype=dtypes.float64))
    total: Tensor | None = None
    for index, dx in enumerate(result):
        wanted = _differences(y, xs, arrays, index, weights, step)
        if dx is None:
            np.testing.assert_allclose(wanted, 0, atol=tolerance)
            continue
        value = evaluate(dx, dict(zip(xs, arrays, strict=True)))
        assert value.shape == arrays[index].shape, (value.shape, arrays[index].shape)
        np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)
        scaled = raw_ops.Mul(dx, raw_ops.Const(value=_weights(value), dtype=dtypes.float64))
        flat = raw_ops.Reshape(scaled, raw_ops.Const(value=_MINUS_ONE, dtype=dtypes.int32))
        part = raw_ops.Sum(flat, raw_ops.Const(value=_ZERO, dtype=dtypes.int32))
        total = part if total is None else raw_ops.AddV2(total, part)
    return total


_MINUS_ONE = np.array([-1], np.int32)
_ZERO = np.array([0], np.int32)


def _weights(value: np.ndarray) -> np.ndarray:
    return np.random.default_rng(11).uniform(0.5, 1.5, value.shape)


def _differences(
    y: Tensor,
    xs: Sequence[Tensor],
    arrays: Sequence[np.ndarray],
    index: int,
    weights: np.ndarray,
    step: float,
) -> np.ndarray:
    result = np.zeros_like(arrays[index])
    for position in np.ndindex(*result.shape):
        sums = []
        for sign in (1.0, -1.0):
            moved = [array.copy() for array in arrays]
            moved[index][position] += sign * step
            sums.append(np.sum(evaluate(y, dict(zip(xs, moved, strict=True))) * weights))
        result[position] = (sums[0] - sums[1]) / (2 * step)
    return result
