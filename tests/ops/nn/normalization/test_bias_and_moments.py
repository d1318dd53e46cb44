"""Bias, activations, softmax, cross entropies, moments: values against NumPy, and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph.ops  # noqa: F401
from gpugraph.base import dtypes
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.kernel import Elementwise
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.nn.activations import relu_and_elu as activations, softmax
from gpugraph.ops.nn.losses import cross_entropy_ops as nn_losses
from gpugraph.ops.nn.normalization import bias_and_moments as nn

from ...evaluator import check_gradient, evaluate, gradients

NAN, INF = np.nan, np.inf


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as graph:
        yield graph


def random(*shape):
    return np.random.default_rng(len(shape)).uniform(-2, 2, shape)


def close(tensor, expected, feeds=None):
    value = evaluate(tensor, feeds)
    tolerance = {2: 2e-3, 4: 1e-5, 8: 1e-12}[value.dtype.itemsize]
    np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)
    return value


def softmax_of(x, axis=-1):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


class TestBias:
    @pytest.mark.parametrize("shape", [(2, 3), (2, 4, 3), (2, 2, 2, 3)])
    def test_last_axis(self, shape):
        x, b = random(*shape), random(3)
        biased = nn.bias_add(x, b)
        assert (biased.op.name, biased.op.type) == ("BiasAdd", "BiasAdd")
        close(biased, x + b)

    @pytest.mark.parametrize("data_format", ["NCHW", "NC..."])
    def test_second_axis(self, data_format):
        x, b = random(2, 3, 2, 2), random(3)
        close(nn.bias_add(x, b, data_format), x + b[:, None, None])

    def test_refused(self):
        for value, bias, layout in (
            (random(2, 3), random(2), None),
            (random(3), random(3), None),
            (random(2, 3), random(3, 1), None),
            (random(2, 3), random(3), "HWC"),
        ):
            with pytest.raises(ValueError):
                nn.bias_add(value, bias, layout)

    def test_channels_become_known(self):
        x = placeholder(dtypes.float64, TensorShape([None, None]))
        assert nn.bias_add(x, random(3)).shape.as_list() == [None, 3]

    @pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
    def test_gradients(self, data_format):
        check_gradient(
            lambda x, b: raw_ops.Square(nn.bias_add(x, b, data_format)),
            random(2, 3, 2),
            random(2 if data_format == "NHWC" else 3),
            order=2,
            unknown=data_format == "NHWC",
        )

    def test_only_the_last_axis_is_fused(self):
        for layout, kind in (("NHWC", True), ("NCHW", False)):
            kernel = find_kernel("BiasAdd", "GPU", {"data_format": layout}).kernel
            assert isinstance(kernel, Elementwise) is kind

    def test_xw_plus_b(self):
        x, w, b = random(2, 3), random(3, 4), random(4)
        product = nn.xw_plus_b(x, w, b)
        assert product.op.name == "xw_plus_b"
        close(product, x @ w + b)


VALUES = np.array([-8.0, -1.0, -0.0, 0.0, 0.5, 6.0, 7.0])


class TestActivations:
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_values(self, dtype):
        x = VALUES.astype(dtype)
        close(activations.relu(x), np.maximum(x, 0))
        close(activations.relu6(x), np.clip(x, 0, 6))
        close(activations.leaky_relu(x), np.where(x > 0, x, 0.2 * x))
        close(activations.leaky_relu(x, 0.1), np.where(x > 0, x, 0.1 * x))
        close(activations.elu(x), np.where(x < 0, np.exp(x) - 1, x))

    def test_integers(self):
        x = np.array([-2, 3, 9], np.int32)
        np.testing.assert_array_equal(evaluate(activations.relu(x)), [0, 3, 9])
        np.testing.assert_array_equal(evaluate(activations.relu6(x)), [0, 3, 6])
        close(activations.leaky_relu(x), np.array([-0.4, 3, 9], np.float32))

    def test_nan_stays(self):
        for function in (activations.relu, activations.relu6, activations.elu):
            assert np.isnan(evaluate(function([NAN]))).all()

    def test_names(self):
        names = [
            function(1.0).op.name
            for function in (activations.relu, activations.relu6, activations.elu)
        ]
        assert names == ["Relu", "Relu6", "Elu"]

    @pytest.mark.parametrize("name", ["relu", "relu6", "leaky_relu", "elu"])
    def test_gradients(self, name):
        function = getattr(activations, name)
        x = np.array([-3.0, -0.5, 0.3, 2.0, 7.0])
        check_gradient(lambda x: function(x), x, order=2)
        check_gradient(lambda x: raw_ops.Square(function(x)), x, order=2, tolerance=1e-4)

    def test_gradient_at_the_kinks(self):
        x = constant(np.array([0.0, 6.0]))
        np.testing.assert_array_equal(evaluate(gradients(activations.relu(x), [x])[0]), [0, 1])
        np.testing.assert_array_equal(evaluate(gradients(activations.relu6(x), [x])[0]), [0, 0])

    def test_second_gradient_of_relu_is_zeros(self):
        x = constant(VALUES)
        dx = gradients(activations.relu(x), [x])[0]
        np.testing.assert_array_equal(evaluate(gradients(dx, [x])[0]), np.zeros(7))


class TestSoftmax:
    @pytest.mark.parametrize("axis", [None, -1, 0, 1])
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_values(self, axis, dtype):
        x = (random(2, 3, 4) * 5).astype(dtype)
        expected = softmax_of(x.astype(np.float64), -1 if axis is None else axis)
        close(softmax.softmax(x, axis), expected)
        close(softmax.log_softmax(x, axis), np.log(expected) * 1.0)

    def test_unknown_rank(self):
        value = random(2, 3, 4)
        x = placeholder(dtypes.float64)
        for axis in (-1, 0, 1):
            close(softmax.softmax(x, axis), softmax_of(value, axis), {x: value})

    def test_large_values(self):
        close(softmax.softmax([1000.0, 1000.0, -1000.0]), [0.5, 0.5, 0])
        close(softmax.log_softmax([1000.0, 0.0]), [0, -1000])

    def test_empty(self):
        for shape in ((0, 3), (3, 0)):
            assert evaluate(softmax.softmax(np.zeros(shape))).shape == shape
            assert evaluate(softmax.log_softmax(np.zeros(shape))).shape == shape

    def test_names(self):
        assert softmax.softmax([1.0, 2.0]).op.name == "Softmax"
        assert softmax.softmax([[1.0]], axis=0, name="s").op.name == "s"

    def test_refused(self):
        with pytest.raises((ValueError, InvalidArgumentError)):
            softmax.softmax(1.0)
        with pytest.raises(InvalidArgumentError):
            softmax.softmax([1.0], 1)
        with pytest.raises(ValueError):
            softmax.softmax([1.0], axis=0, dim=0)

    @pytest.mark.parametrize("function", [softmax.softmax, softmax.log_softmax])
    def test_gradient(self, function):
        check_gradient(lambda x: function(x), random(2, 3), order=2)
        check_gradient(lambda x: function(x, 0), random(2, 3))


def dense_loss(labels, logits):
    return -(labels * np.log(softmax_of(logits))).sum(-1)


class TestCrossEntropy:
    @pytest.mark.parametrize("shape", [(3, 4), (4,), (2, 3, 4)])
    def test_dense(self, shape):
        logits, labels = random(*shape) * 3, softmax_of(random(*shape))
        for function in (
            nn_losses.softmax_cross_entropy_with_logits,
            nn_losses.softmax_cross_entropy_with_logits_v2,
        ):
            loss = function(labels=labels, logits=logits)
            close(loss, dense_loss(labels, logits))
            assert loss.shape.as_list() == list(shape[:-1])

    def test_other_axis(self):
        logits, labels = random(3, 4), softmax_of(random(3, 4), 0)
        loss = nn_losses.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=0)
        close(loss, dense_loss(labels.T, logits.T))

    def test_float16_is_computed_in_float32(self):
        logits = np.array([[12.0, 12.0, 0.0]], np.float16)
        labels = np.array([[0.5, 0.5, 0.0]], np.float16)
        loss = nn_losses.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
        assert loss.dtype is dtypes.float16
        close(loss, dense_loss(labels.astype(float), logits.astype(float)))

    def test_unknown_shapes(self):
        value, wanted = random(2, 3, 4), softmax_of(random(2, 3, 4))
        logits, labels = (placeholder(dtypes.float64) for _ in range(2))
        loss = nn_losses.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        close(loss, dense_loss(wanted, value), {logits: value, labels: wanted})
        chosen = placeholder(dtypes.int64)
        loss = nn_losses.sparse_softmax_cross_entropy_with_logits(labels=chosen, logits=logits)
        label_values = np.array([[0, 1, 2], [3, 3, 0]])
        close(
            loss, dense_loss(np.eye(4)[label_values], value), {logits: value, chosen: label_values}
        )

    def test_broadcast_labels(self):
        logits, labels = random(3, 4), softmax_of(random(1, 4))
        op = raw_ops.SoftmaxCrossEntropyWithLogits(logits, labels)
        close(op.loss, dense_loss(labels, logits))
        close(op.backprop, softmax_of(logits) - labels)

    @pytest.mark.parametrize("dtype", [np.int32, np.int64])
    @pytest.mark.parametrize("shape", [(3,), (), (2, 3)])
    def test_sparse(self, shape, dtype):
        logits = random(*shape, 4)
        labels = np.random.default_rng(0).integers(0, 4, shape).astype(dtype)
        loss = nn_losses.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        close(loss, dense_loss(np.eye(4)[labels], logits))
        assert loss.shape.as_list() == list(shape)

    def test_sparse_backprop(self):
        logits, labels = random(3, 4), np.array([0, 3, 1])
        op = raw_ops.SparseSoftmaxCrossEntropyWithLogits(logits, labels)
        close(op.backprop, softmax_of(logits) - np.eye(4)[labels])

    @pytest.mark.parametrize("label", [-1, 4])
    def test_wrong_label(self, label):
        loss = nn_losses.sparse_softmax_cross_entropy_with_logits(
            labels=[0, label], logits=random(2, 4)
        )
        with pytest.raises(InvalidArgumentError, match=f"{label}.*0, 4"):
            evaluate(loss)

    def test_empty(self):
        loss = nn_losses.sparse_softmax_cross_entropy_with_logits(
            labels=np.zeros(0, np.int32), logits=np.zeros((0, 4))
        )
        assert evaluate(loss).shape == (0,)
        loss = nn_losses.softmax_cross_entropy_with_logits_v2(
            labels=np.zeros((2, 0)), logits=np.zeros((2, 0))
        )
        np.testing.assert_array_equal(evaluate(loss), [0, 0])

    def test_refused(self):
        for function in (
            nn_losses.softmax_cross_entropy_with_logits,
            nn_losses.sparse_softmax_cross_entropy_with_logits,
            nn_losses.sigmoid_cross_entropy_with_logits,
        ):
            with pytest.raises(ValueError, match="named arguments"):
                function([1.0], [1.0])
            with pytest.raises(ValueError, match="Both labels and logits"):
                function(labels=[1.0])
        with pytest.raises(ValueError, match="Rank mismatch"):
            nn_losses.sparse_softmax_cross_entropy_with_logits(labels=[[0]], logits=[[1.0]])
        with pytest.raises(ValueError, match="scalar"):
            nn_losses.sparse_softmax_cross_entropy_with_logits(labels=0, logits=1.0)
        with pytest.raises(ValueError, match="same shape"):
            nn_losses.sigmoid_cross_entropy_with_logits(labels=[0.0], logits=[1.0, 2.0])
        for labels in (constant([1]), np.array([1])):
            with pytest.raises(TypeError, match=r"type int.* does not match type float32"):
                nn_losses.sigmoid_cross_entropy_with_logits(labels=labels, logits=[1.0])

    def test_gradients(self):
        labels = softmax_of(random(3, 4))
        check_gradient(
            lambda x, y: nn_losses.softmax_cross_entropy_with_logits_v2(labels=y, logits=x),
            random(3, 4),
            labels,
            order=2,
        )
        check_gradient(
            lambda x: nn_losses.sparse_softmax_cross_entropy_with_logits(
                labels=[3, 0, 0], logits=x
            ),
            random(3, 4),
            order=2,
        )

    def test_gradient_through_broadcast_labels(self):
        check_gradient(
            lambda x, y: raw_ops.SoftmaxCrossEntropyWithLogits(x, y)[0],
            random(3, 4),
            softmax_of(random(1, 4)),
            order=2,
            unknown=False,
        )

    def test_labels_are_constants_by_default(self):
        logits, labels = constant(random(2, 3)), constant(softmax_of(random(2, 3)))
        loss = nn_losses.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        assert gradients(loss, [labels]) == [None]

    def test_sigmoid(self):
        x = np.array([-900.0, -2.0, 0.0, 3.0, 900.0])
        z = np.array([0.0, 0.3, 0.5, 1.0, 1.0])
        loss = nn_losses.sigmoid_cross_entropy_with_logits(labels=z, logits=x)
        close(loss, np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x))))
        assert loss.op.name == "logistic_loss"
        check_gradient(
            lambda x, z: nn_losses.sigmoid_cross_entropy_with_logits(labels=z, logits=x),
            random(4),
            z[:4],
            order=2,
        )


class TestMoments:
    @pytest.mark.parametrize("axes", [[0], [0, 2], 1, [-1], []])
    @pytest.mark.parametrize("keepdims", [False, True])
    def test_values(self, axes, keepdims):
        x = random(2, 3, 4)
        over = tuple(np.atleast_1d(np.array(axes, int)))
        mean, variance = nn.moments(x, axes, keepdims=keepdims)
        close(mean, x.mean(over, keepdims=keepdims))
        close(variance, x.var(over, keepdims=keepdims))

    def test_float16(self):
        mean, variance = nn.moments(np.full((3, 4), 300, np.float16), [0])
        assert (mean.dtype, variance.dtype) == (dtypes.float16, dtypes.float16)
        close(mean, np.full(4, 300.0))

    def test_axes_as_tensor(self):
        x = random(2, 3)
        axes = placeholder(dtypes.int32, TensorShape([1]))
        close(nn.moments(constant(x), axes)[1], x.var(1), {axes: [-1]})

    def test_gradient(self):
        check_gradient(lambda x: nn.moments(x, [0])[1], random(3, 2))
