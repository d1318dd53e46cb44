"""`import keras` without Keras: the modules of Keras 2.2, by the names of `tf.keras`."""

from __future__ import annotations

import importlib.util
import sys

import pytest

import gpugraph
from gpugraph.tensorflow_import.tensorflow_names import find

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("keras") is not None, reason="Keras is installed"
)


def test_an_old_program_finds_its_names() -> None:
    with gpugraph.as_tensorflow() as missing:
        import keras  # noqa: PLC0415
        import keras.backend as K  # noqa: PLC0415
        from keras import objectives  # noqa: PLC0415
        from keras.backend.tensorflow_backend import set_session  # noqa: PLC0415
        from keras.engine.topology import Layer  # noqa: PLC0415
        from keras.layers import Convolution2D, Deconvolution2D, Dense  # noqa: PLC0415
        from keras.legacy import interfaces  # noqa: PLC0415
        from keras.models import Input, Model  # noqa: PLC0415
        from keras.optimizers import TFOptimizer, sgd  # noqa: PLC0415
        from keras.utils import np_utils  # noqa: PLC0415

        layers = gpugraph.keras.layers
        assert keras.__version__ == "2.2.4" and K.backend() == "tensorflow"
        assert keras.backend is K and K.image_dim_ordering() == "tf"
        assert (Dense, Convolution2D) == (layers.Dense, layers.Conv2D)
        assert (Layer, Deconvolution2D) == (layers.Layer, layers.Conv2DTranspose)
        assert objectives.mse is gpugraph.keras.losses.mse and set_session
        assert Model is keras.Model and np_utils.to_categorical([1], 2).tolist() == [[0, 1]]
        assert sgd is keras.optimizers.SGD and interfaces.legacy_dense_support(Dense) is Dense
        with gpugraph.Graph().as_default():
            x = Input((3,))
            assert K.is_placeholder(x) and K.is_tensor(x + 1) and not K.is_placeholder(x + 1)
            assert K.is_variable(K.variable(1.0)) and not K.is_variable(x)
            optimizer = gpugraph.train.AdamOptimizer()
            assert TFOptimizer(optimizer) is optimizer
        assert not list(missing)
    assert "keras" not in sys.modules


def test_a_missing_name_has_similar_ones() -> None:
    with gpugraph.as_tensorflow() as missing:
        with pytest.raises(ImportError, match=r"no keras.layers.Dens .*nearest: .*Dense"):
            from keras.layers import Dens  # noqa: F401, PLC0415
        with pytest.raises(ModuleNotFoundError, match=r"No module named 'keras.layrs': "):
            importlib.import_module("keras.layrs")
        assert [name.path for name in missing][-1] == "old_keras.layrs"


def test_the_private_package_has_the_names_of_keras() -> None:
    assert find("python.keras", "Model") is gpugraph.keras.Model
