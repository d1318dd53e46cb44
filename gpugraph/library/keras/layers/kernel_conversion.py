"""Functions that flip convolution kernels, for files from Theano.

Theano, another backend of Keras, stores kernels reversed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.library.keras.backend.keras_variables import batch_get_value, batch_set_value

_CLASSES = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose")


def convert_kernel(kernel: Any) -> Any:
    """Return a copy of a kernel [..., channels in, channels out], flipped along its spatial axes.

    Raises ValueError unless the kernel has 1 to 3 spatial axes.
    """
    array = np.asarray(kernel)
    if not 3 <= array.ndim <= 5:
        raise ValueError(f"Invalid kernel shape: {array.shape}")
    return np.flip(array, tuple(range(array.ndim - 2))).copy()


def convert_all_kernels_in_model(model: Any) -> None:
    """Flip the kernels of a model's convolution layers, for weights trained with Theano."""
    kernels = [layer.kernel for layer in model.layers if type(layer).__name__ in _CLASSES]
    values = batch_get_value(kernels)
    batch_set_value([(kernel, convert_kernel(value)) for kernel, value in zip(kernels, values)])
