"""Matrix products: values, transposes and adjoints, broadcasting batches, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
import gpugraph.ops
from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.linalg import matmul as linalg

from ..evaluator import check_gradient, evaluate, gradients


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as graph:
        yield graph


def random(*shape):
    return np.random.default_rng(len(shape)).uniform(-1, 1, shape)


def turned(array, turn):
    return np.swapaxes(array, -1, -2).copy() if turn else array


TURNS = [(False, False), (False, True), (True, False), (True, True)]


class TestMatMul:
    @pytest.mark.parametrize(("turn_a", "turn_b"), TURNS)
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.complex64])
    def test_values(self, turn_a, turn_b, dtype):
        a = np.arange(6).reshape(2, 3).astype(dtype)
        b = np.arange(12).reshape(3, 4).astype(dtype)
        tensor = linalg.matmul(turned(a, turn_a), turned(b, turn_b), turn_a, turn_b)
        value = evaluate(tensor)
        np.testing.assert_array_equal(value, a @ b)
        assert value.dtype == dtype
        assert tensor.shape.as_list() == [2, 4]

    @pytest.mark.parametrize("batch", [(), (2,)])
    def test_float16_is_added_up_in_float32_and_rounded_once(self, batch):
        a, b = random(*batch, 40, 2000).astype(np.float16), random(2000, 30).astype(np.float16)
        wanted = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
        np.testing.assert_array_equal(evaluate(linalg.matmul(a, b)), wanted)

    def test_names(self):
        x = constant(random(2, 2))
        assert [linalg.matmul(x, x).op.name, (x @ x).op.name] == ["MatMul", "matmul_1"]
        tensor = linalg.matmul(x, np.eye(2), name="m")
        assert tensor.op.name == "m"
        assert tensor.op.inputs[1].op.name == "m/b"

    def test_operators(self):
        x = random(2, 3)
        np.testing.assert_allclose(evaluate(constant(x) @ x.T), x @ x.T)
        np.testing.assert_allclose(evaluate(x.T @ constant(x)), x.T @ x)

    def test_empty(self):
        tensor = linalg.matmul(np.zeros((2, 0)), np.zeros((0, 3)))
        np.testing.assert_array_equal(evaluate(tensor), np.zeros((2, 3)))

    def test_adjoint(self):
        a = random(2, 2) + 1j * random(2, 2)
        tensor = linalg.matmul(a, a, adjoint_a=True, transpose_b=True)
        np.testing.assert_allclose(evaluate(tensor), a.conj().T @ a.T)

    def test_unknown(self):
        x = placeholder(dtypes.float64, TensorShape([None, 3]))
        tensor = linalg.matmul(x, random(3, 2))
        assert tensor.op.type == "MatMul"
        assert tensor.shape.as_list() == [None, 2]

    def test_refused(self):
        with pytest.raises(ValueError, match="Dimensions must be equal"):
            linalg.matmul(random(2, 3), random(2, 3))
        with pytest.raises(ValueError, match="rank"):
            linalg.matmul(random(2), random(2, 3))
        with pytest.raises(ValueError, match="Only one"):
            linalg.matmul(random(2, 2), random(2, 2), transpose_a=True, adjoint_a=True)
        with pytest.raises(TypeError):
            linalg.matmul(constant(random(2, 2)), constant(np.eye(2, dtype=np.float32)))

    @pytest.mark.parametrize(("turn_a", "turn_b"), TURNS)
    def test_gradient(self, turn_a, turn_b):
        check_gradient(
            lambda a, b: raw_ops.MatMul(a, b, transpose_a=turn_a, transpose_b=turn_b),
            turned(random(2, 3), turn_a),
            turned(random(3, 2), turn_b),
            order=2,
        )

    def test_complex_gradient(self):
        a = constant(random(2, 2) + 1j * random(2, 2))
        da = gradients(linalg.matmul(a, a), [a], constant(np.eye(2, dtype=np.complex128)))[0]
        value = evaluate(a)
        np.testing.assert_allclose(evaluate(da), value.conj().T * 2)


class TestBatchMatMul:
    @pytest.mark.parametrize(("turn_a", "turn_b"), TURNS)
    @pytest.mark.parametrize(
        ("left", "right"), [((2, 2, 3), (2, 3, 2)), ((3, 2, 1, 4), (2, 4, 2)), ((2, 3), (4, 3, 1))]
    )
    def test_values(self, left, right, turn_a, turn_b):
        a, b = random(*left), random(*right)
        tensor = linalg.matmul(turned(a, turn_a), turned(b, turn_b), turn_a, turn_b)
        assert tensor.op.type == "BatchMatMulV2"
        np.testing.assert_allclose(evaluate(tensor), a @ b)
        assert tensor.shape.as_list() == list((a @ b).shape)

    def test_complex(self):
        a = random(2, 2, 2) + 1j * random(2, 2, 2)
        tensor = linalg.matmul(a, a, transpose_a=True, adjoint_b=True)
        np.testing.assert_allclose(
            evaluate(tensor), a.swapaxes(1, 2) @ a.conj().swapaxes(1, 2), atol=1e-12
        )

    def test_refused(self):
        for left, right in (((2, 2, 3), (2, 2, 3)), ((2, 1, 1), (3, 1, 1)), ((2,), (2, 2, 2))):
            with pytest.raises(ValueError):
                linalg.matmul(random(*left), random(*right))

    @pytest.mark.parametrize(("turn_a", "turn_b"), TURNS)
    def test_gradient(self, turn_a, turn_b):
        def product(a, b):
            return raw_ops.BatchMatMulV2(a, b, adj_x=turn_a, adj_y=turn_b)

        a, b = turned(random(2, 1, 2, 1), turn_a), turned(random(2, 1, 2), turn_b)
        check_gradient(product, a, b, order=2)


@pytest.mark.parametrize("rank", [2, 3])
def test_sizes_that_do_not_fit_at_run(rank):
    x = tf.placeholder(tf.float32)
    product = tf.matmul(x, np.ones([2] * rank, np.float32))
    if rank == 2:
        x.set_shape([None, None])
        product = tf.matmul(x, np.ones([2, 2], np.float32))
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(product, {x: np.ones([2] * (rank - 1) + [3])})
    first, second = "2," * (rank - 1) + "3", "2," * (rank - 1) + "2"
    words = f"Matrix size-incompatible: In[0]: [{first}], In[1]: [{second}]"
    assert caught.value.message.startswith(words)
