"""Convolutions by orthogonal kernels keep the norm of their input."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

framework = tf.contrib.framework
NAMES = {1: "convolutional_orthogonal_1d", 2: "convolutional_orthogonal_2d",
         3: "convolutional_orthogonal_3d"}  # fmt: skip


@pytest.mark.parametrize("name", ["delta", "orthogonal"])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_lengths_are_kept(name, dimensions, width):
    delta = framework.convolutional_delta_orthogonal
    make = delta if name == "delta" else getattr(framework, NAMES[dimensions])
    with tf.Graph().as_default(), tf.Session() as session:
        kernel = session.run(make(gain=3.0, seed=2)([width] * dimensions + [3, 4]))
    size = 4
    images = np.random.default_rng(0).standard_normal((*[size] * dimensions, 3))
    outputs = np.zeros((*[size] * dimensions, 4))
    axes = tuple(range(dimensions))
    for place in np.ndindex(*[width] * dimensions):  # around the edges
        outputs += np.roll(images, place, axes) @ kernel[place]
    np.testing.assert_allclose(np.linalg.norm(outputs), 3 * np.linalg.norm(images), rtol=1e-4)


def test_kernels_are_refused():
    for make, shape, message in [
        (framework.convolutional_delta_orthogonal, [2, 2], "at least three-dimensional"),
        (framework.convolutional_delta_orthogonal, [2, 3, 2], "In_filters cannot be greater"),
        (framework.convolutional_orthogonal_2d, [2, 2, 2], "must be four-dimensional"),
        (framework.convolutional_orthogonal_2d, [2, 3, 2, 2], "Kernel sizes must be equal"),
        (framework.convolutional_orthogonal_1d, [2, 3, 2], "cannot exceed the number of output"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()(shape)
    with pytest.raises(ValueError, match="Expected floating point type, got int32"):
        framework.convolutional_orthogonal_1d(dtype=tf.int32)
