"""HDF5Matrix: rows of a file in a training, and its errors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

h5py = pytest.importorskip("h5py", reason="HDF5 files need h5py")

HDF5Matrix, layers = tf.keras.utils.HDF5Matrix, tf.keras.layers
ROWS = np.arange(40.0).reshape(10, 4).astype(np.float32)


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["group/x"], file["y"] = ROWS, ROWS[:, :1]
    return tmp_path / "rows.h5"


def test_its_rows(path):
    matrix = HDF5Matrix(path, "group/x", 2, 8)
    assert (len(matrix), matrix.shape, matrix.ndim, matrix.size) == (6, (6, 4), 2, 24)
    assert matrix.dtype == np.float32
    for key in (0, -1, slice(1, 3), slice(None), [3, 1, 1], np.array([5, 0])):
        np.testing.assert_array_equal(matrix[key], ROWS[2:8][key])
    for key in (6, slice(0, 7), [0, 6]):
        with pytest.raises(IndexError):
            matrix[key]
    twice = HDF5Matrix(path, "y", normalizer=lambda values: np.repeat(values * 2, 2, -1))
    assert twice.shape == (10, 2) and twice[4].tolist() == [32, 32]
    with pytest.raises(ValueError, match="has no 'other'"):
        HDF5Matrix(path, "other")


def test_a_training_reads_its_batches(path):
    x, y = HDF5Matrix(path, "group/x"), HDF5Matrix(path, "y")
    with tf.Graph().as_default():
        model = tf.keras.Sequential([layers.Dense(1, input_shape=(4,), kernel_initializer="ones")])
        model.compile(tf.keras.optimizers.SGD(1e-4), "mse")
        losses = model.fit(x, y, batch_size=4, epochs=3, shuffle="batch", verbose=0).history["loss"]
        assert losses[2] < losses[0]
        np.testing.assert_array_equal(model.predict(x), model.predict(ROWS))
