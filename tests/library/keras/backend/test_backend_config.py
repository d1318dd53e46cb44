"""The defaults: dtype, epsilon, order of axes."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

K = tf.keras.backend


def test_defaults_and_what_is_set():
    assert (K.backend(), K.floatx(), K.epsilon(), K.image_data_format()) == (
        "tensorflow",
        "float32",
        1e-7,
        "channels_last",
    )
    K.set_floatx("float64")
    K.set_epsilon(1e-3)
    K.set_image_data_format("channels_first")
    assert (K.floatx(), K.epsilon(), K.image_data_format()) == ("float64", 1e-3, "channels_first")
    assert K.cast_to_floatx([1, 2]).dtype == np.float64
    assert K.placeholder((2,)).dtype is tf.float64


def test_what_is_no_choice_is_refused():
    with pytest.raises(ValueError, match="Unknown floatx type: int8"):
        K.set_floatx("int8")
    with pytest.raises(ValueError, match="Unknown data_format: upside_down"):
        K.set_image_data_format("upside_down")
    assert (K.floatx(), K.image_data_format()) == ("float32", "channels_last")
