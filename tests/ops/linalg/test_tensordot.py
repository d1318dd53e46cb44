"""Sums of products over pairs of axes, beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph.ops  # noqa: F401
from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.linalg.tensordot import tensordot

from ..evaluator import check_gradient, evaluate


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as graph:
        yield graph


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape)


class TestTensordot:
    @pytest.mark.parametrize("axes", [0, 1, 2, [[0, 2], [1, 0]], [2, 0], [[-1], [0]], [[], []]])
    def test_values(self, axes):
        a, b = random(2, 3, 2), random(2, 2, 3)
        if axes == 2:
            b = random(3, 2, 2)
        tensor = tensordot(a, b, axes)
        np.testing.assert_allclose(evaluate(tensor), np.tensordot(a, b, axes))

    def test_unknown_sizes(self):
        value = random(2, 3)
        x = placeholder(dtypes.float64, TensorShape([None, 3]))
        tensor = tensordot(x, value, [[1], [1]])
        assert tensor.shape.as_list() == [None, 2]
        np.testing.assert_allclose(evaluate(tensor, {x: value}), value @ value.T)

    def test_refused(self):
        for axes, words in (
            (3, "must not be larger than the number of dimensions of tensor"),
            (-1, "must be at least 0"),
            ([[0], [0, 1]], "Different number of contraction axes 'a' and 'b', 1 != 2"),
            ([[0]], "'axes' must be an integer or have length 2"),
        ):
            with pytest.raises(ValueError, match=words):
                tensordot(random(2, 2), random(2, 2), axes)
        with pytest.raises(IndexError, match="axis 5 is out of range"):
            tensordot(random(2, 2), random(2, 2), [[5], [0]])

    @pytest.mark.parametrize("axes", [0, 1, 2, [[0, 2], [1, 0]], [[-1], [0]], [[], []]])
    def test_what_is_known_only_at_run(self, axes):
        a, b = random(2, 3, 2), random(2, 2, 3)
        if axes == 2:
            b = random(3, 2, 2)
        expected = np.tensordot(a, b, axes)
        x, y = placeholder(dtypes.float64), placeholder(dtypes.float64)
        tensor = tensordot(x, y, axes)
        assert tensor.shape.rank is None
        np.testing.assert_allclose(evaluate(tensor, {x: a, y: b}), expected)
        if not isinstance(axes, int):
            pairs = placeholder(dtypes.int32)
            tensor = tensordot(a, b, pairs)
            assert tensor.shape.rank is None
            np.testing.assert_allclose(evaluate(tensor, {pairs: axes}), expected)

    def test_gradient(self):
        check_gradient(
            lambda a, b: tensordot(a, b, [[0], [1]]),
            random(2, 3),
            random(2, 2),
            order=2,
            unknown=False,
        )
