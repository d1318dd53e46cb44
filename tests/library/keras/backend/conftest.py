"""Each test of Keras's backend begins with a cleared session and the defaults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpugraph as tf

K = tf.keras.backend


@pytest.fixture(autouse=True)
def cleared() -> Iterator[None]:
    K.clear_session()
    yield
    K.clear_session()
    K.set_floatx("float32")
    K.set_epsilon(1e-7)
    K.set_image_data_format("channels_last")
    K.manual_variable_initialization(False)
