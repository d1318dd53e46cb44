"""The optimizers' updates against their formulas in NumPy, large variables and all float types."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph.ops  # noqa: F401
from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.kernel import Call
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS, raw_ops
from gpugraph.ops.framework.op_evaluation import run_kernel

SHAPES = [(), (3, 4), (0, 2), (70_001,)]
TYPES = [np.float16, np.float32, np.float64]


def descend(var, alpha, delta):
    return [var - alpha * delta]


def momentum(var, accum, lr, grad, rate, nesterov=False):
    accum = accum * rate + grad
    step = grad * lr + accum * rate * lr if nesterov else accum * lr
    return [var - step, accum]


def adam(var, m, v, power1, power2, lr, beta1, beta2, epsilon, grad, nesterov=False):
    one = var.dtype.type(1)
    alpha = lr * np.sqrt(one - power2) / (one - power1)
    m = m + (grad - m) * (one - beta1)
    v = v + (grad * grad - v) * (one - beta2)
    first = grad * (one - beta1) + beta1 * m if nesterov else m
    return [var - (first * alpha) / (np.sqrt(v) + epsilon), m, v]


def adagrad(var, accum, lr, grad, update_slots=True):
    accum = accum + grad * grad if update_slots else accum
    return [var - grad * lr / np.sqrt(accum), accum]


def rms_prop(var, ms, mom, lr, rho, rate, epsilon, grad):
    ms = ms + (grad * grad - ms) * (var.dtype.type(1) - rho)
    mom = mom * rate + lr * grad / np.sqrt(ms + epsilon)
    return [var - mom, ms, mom]


CASES = [
    ("ApplyGradientDescent", descend, {}, {}, [0.5]),
    ("ApplyMomentum", momentum, {}, {}, [0.1, 0.9]),
    ("ApplyMomentum", momentum, {"use_nesterov": True}, {"nesterov": True}, [0.1, 0.9]),
    ("ApplyAdam", adam, {}, {}, [0.9, 0.99, 0.01, 0.9, 0.99, 1e-3]),
    (
        "ApplyAdam",
        adam,
        {"use_nesterov": True},
        {"nesterov": True},
        [0.9, 0.99, 0.01, 0.9, 0.99, 1e-3],
    ),
    ("ApplyAdagrad", adagrad, {}, {}, [0.1]),
    ("ApplyAdagrad", adagrad, {"update_slots": False}, {"update_slots": False}, [0.1]),
    ("ApplyRMSProp", rms_prop, {}, {}, [0.1, 0.9, 0.5, 1e-3]),
]


def inputs_of(op_type, shape, dtype, numbers):
    """Return arrays for the references and the gradient, scalars for the rest."""
    random = np.random.default_rng(3)
    remaining = iter(numbers)
    values = []
    for arg in DECLARATIONS[op_type].op_def.inputs:
        if arg.is_ref or arg.name in ("grad", "delta"):
            values.append(random.uniform(0.1, 1, shape).astype(dtype))
        else:
            values.append(np.array(next(remaining), dtype))
    return values


@pytest.mark.parametrize("device", ["CPU", "GPU"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("op_type", "reference", "attrs", "options", "numbers"), CASES)
def test_update(op_type, reference, attrs, options, numbers, shape, dtype, device):
    op_def = DECLARATIONS[op_type].op_def
    values = inputs_of(op_type, shape, dtype, numbers)
    expected = reference(*[value.copy() for value in values], **options)
    full = {key: attr.default for key, attr in op_def.attrs.items()}
    full |= {"T": dtypes.as_dtype(dtype), **attrs}
    kernel = find_kernel(op_type, device, full).kernel
    kernel = kernel if isinstance(kernel, Call) else kernel.host
    untouched = [value.copy() for value in values[len(expected) :]]
    run_kernel(op_def, kernel, full, values)
    tolerance = {2: 4e-3, 4: 2e-6, 8: 1e-14}[np.dtype(dtype).itemsize]
    for value, wanted in zip(values, expected, strict=False):
        assert value.dtype == dtype
        np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)
    for value, before in zip(values[len(expected) :], untouched, strict=True):
        np.testing.assert_array_equal(value, before)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_declaration(case):
    decl = DECLARATIONS[case[0]]
    refs = [index for index, arg in enumerate(decl.op_def.inputs) if arg.is_ref]
    assert sorted(decl.memory.writes) == refs
    assert dict(decl.memory.view) == {0: 0}
    assert decl.op_def.is_stateful


def variable(shape, dtype=dtypes.float32):
    return raw_ops.VariableV2(shape=TensorShape(shape), dtype=dtype)


def test_in_a_graph():
    with Graph().as_default():
        var, accum = variable([2, 3]), variable([2, 3])
        grad = placeholder(dtypes.float32, TensorShape([None, 3]))
        result = raw_ops.ApplyMomentum(var, accum, 0.1, grad, 0.9, use_nesterov=True)
        assert result.dtype is dtypes.float32_ref
        assert result.shape.as_list() == [2, 3]


def test_refused():
    with Graph().as_default():
        var, accum = variable([2, 3]), variable([2, 3])
        with pytest.raises(ValueError):
            raw_ops.ApplyMomentum(var, accum, 0.1, np.zeros((3, 2), np.float32), 0.9)
        with pytest.raises(ValueError):
            raw_ops.ApplyMomentum(var, variable([2]), 0.1, np.zeros((2, 3), np.float32), 0.9)
        with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
            raw_ops.ApplyGradientDescent(var, [0.1], np.zeros((2, 3), np.float32))
        with pytest.raises(TypeError):
            raw_ops.ApplyGradientDescent(placeholder(dtypes.float32), 0.1, 1.0)
        with pytest.raises(TypeError):
            raw_ops.ApplyGradientDescent(variable([], dtypes.int32), 1, 1)
