"""WALSModel beside TensorFlow 1.15.5, and its ops beside least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.tensorflow_import.contrib_names.matrix_factorization import WALSModel

EXPECTED = {
    "plain": ([-0.167, -0.0003, -0.1705], [0.7902, 0.0, 12.6]),
    "reg": ([-0.1092, 0.0685, -0.1854], [1.8295, 1.9123, 21.0]),
    "noweights": ([-0.0455, -0.0015, -0.0658], [0.5091, 0.3094, 4.2]),
    "weights": ([-0.1247, 0.0546, -0.1647], [0.7287, 1.0405, 13.3]),
    "shards": ([-0.169, 0.041, -0.1939], [0.9139, 1.28, 12.6]),
    "nocache": ([-0.169, 0.041, -0.1939], [0.9139, 1.28, 12.6]),
}
"""By model: the first factor of a row, and the losses of a batch of columns, by TensorFlow 1.15.5
after two sweeps over rows and columns.
"""

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "reg": {"regularization": 0.2, "unobserved_weight": 0.3},
    "noweights": {"row_weights": None, "col_weights": None, "regularization": 0.1},
    "weights": {
        "row_weights": list(np.arange(1, 8) / 4.0), "col_weights": list(np.arange(1, 7) / 3.0),
        "regularization": 0.1,
    },
    "shards": {"num_row_shards": 2, "num_col_shards": 2, "regularization": 0.1},
    "nocache": {
        "use_factors_weights_cache": False, "use_gramian_cache": False, "regularization": 0.1,
    },
}  # fmt: skip


def sparse(matrix: Any, rows: Any = None, is_transposed: bool = False) -> Any:
    """Return the entries of a matrix, or of some of its rows, as a SparseTensor."""
    places = np.argwhere(matrix != 0)
    if rows is not None:
        places = places[np.isin(places[:, 0], rows)]
    values = matrix[places[:, 0], places[:, 1]].astype(np.float32)
    if is_transposed:
        return tf.SparseTensor(places[:, ::-1].astype(np.int64), values, matrix.T.shape)
    return tf.SparseTensor(places.astype(np.int64), values, matrix.shape)


@pytest.mark.parametrize("name", OPTIONS)
def test_factors_and_losses_are_those_of_tensorflow(name: str) -> None:
    random = np.random.RandomState(0)
    matrix = (random.rand(7, 6) < 0.5) * random.randn(7, 6)
    factors = random.randn(7, 3).astype(np.float32), random.randn(6, 3).astype(np.float32)
    starts: list[Any] = list(factors)
    if name == "shards":
        starts = [[factors[0][:4], factors[0][4:]], [factors[1][:3], factors[1][3:]]]
    with tf.Graph().as_default(), tf.Session() as session:
        model = WALSModel(7, 6, 3, row_init=starts[0], col_init=starts[1], **OPTIONS[name])
        rows = [model.update_row_factors(sparse(matrix, part)) for part in (None, [1, 2, 5])]
        columns = [
            model.update_col_factors(sparse(matrix)),
            model.update_col_factors(sparse(matrix, [0, 2, 4], True), transpose_input=True),
        ]
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(model.initialize_op)
        session.run(model.worker_init)
        losses: Any = None
        for _ in range(2):
            session.run(model.row_update_prep_gramian_op)
            session.run(model.initialize_row_update_op)
            for update in rows:
                session.run(update[1])
            session.run(model.col_update_prep_gramian_op)
            session.run(model.initialize_col_update_op)
            for update in columns:
                losses = session.run(update[2:])
                session.run(update[1])
        first = session.run(model.row_factors[0])[0]
    np.testing.assert_allclose(first, EXPECTED[name][0], atol=2e-4)
    np.testing.assert_allclose(losses, EXPECTED[name][1], rtol=1e-3, atol=1e-3)


def test_systems_and_products_are_numpys() -> None:
    random = np.random.RandomState(1)
    factors = random.randn(5, 3).astype(np.float32)
    places = np.array([[2, 0], [0, 4], [2, 3], [0, 1]])
    values = random.randn(4).astype(np.float32)
    weights = random.rand(4).astype(np.float32)
    left, right = np.zeros((3, 3, 3)), np.zeros((3, 3))
    for (row, column), value, weight in zip(places, values, weights):
        left[row] += weight * np.outer(factors[column], factors[column])
        right[row] += value * (0.1 + weight) * factors[column]
    with tf.Graph().as_default(), tf.Session() as session:
        for flip in (False, True):
            systems = tf.raw_ops.WALSComputePartialLhsAndRhs(
                factors=factors, factor_weights=np.ones(5, np.float32), unobserved_weights=0.1,
                input_weights=np.ones(3, np.float32), input_indices=places[:, ::-1 if flip else 1],
                input_values=values, entry_weights=weights, input_block_size=np.int64(3),
                input_is_transpose=flip,
            )  # fmt: skip
            assert systems.partial_lhs.shape.as_list() == [3, 3, 3]
            for found, expected in zip(session.run(systems), (left, right)):
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        other = random.randn(3, 4).astype(np.float32)
        product = tf.raw_ops.MaskedMatmul(
            a=factors, b=other, mask_indices=[[4, 1], [0, 3]], transpose_a=False, transpose_b=False
        )
        whole = factors @ other
        np.testing.assert_allclose(session.run(product), [whole[4, 1], whole[0, 3]], rtol=1e-5)
        wrong = tf.raw_ops.MaskedMatmul(
            a=factors, b=other, mask_indices=[[5, 1]], transpose_a=False, transpose_b=False
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be in the range \[0, 5\)"):
            session.run(wrong)


def test_rejected_arguments() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="must both be None"):
            WALSModel(3, 3, 2, row_weights=None)
        with pytest.raises(ValueError, match="Invalid weight initialization argument"):
            WALSModel(3, 3, 2, row_weights=-1)
        with pytest.raises(ValueError, match="row_init must be a list of 2 arrays"):
            WALSModel(3, 3, 2, row_init=[[1.0]], num_row_shards=2)
        with pytest.raises(TypeError, match="must be a SparseTensor"):
            WALSModel(3, 3, 2).update_row_factors(tf.zeros([3, 3]))
