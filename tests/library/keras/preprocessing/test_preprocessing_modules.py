"""`tf.keras.preprocessing` by keras-preprocessing, with today's NumPy; and without the package."""

from __future__ import annotations

import pickle
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import gpugraph as tf

preprocessing, layers = tf.keras.preprocessing, tf.keras.layers

needs_package = pytest.mark.skipif(
    find_spec("keras_preprocessing") is None, reason="keras-preprocessing is not installed"
)
IMAGES = np.random.RandomState(0).rand(20, 6, 6, 3).astype(np.float32)
CLASSES = np.arange(20) % 2


@pytest.fixture(autouse=True)
def graph():
    tf.keras.backend.clear_session()
    with tf.Graph().as_default():
        yield


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras_preprocessing", None)
    monkeypatch.setitem(sys.modules, "keras_preprocessing.text", None)
    monkeypatch.delitem(vars(preprocessing.text), "one_hot", raising=False)
    one_hot = preprocessing.text.one_hot
    monkeypatch.delitem(vars(preprocessing.text), "one_hot")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'gpugraph\[preprocessing\]'"):
        one_hot("a text", 5)
    assert "one_hot" in dir(preprocessing.text)
    with pytest.raises(AttributeError, match="has no attribute 'two_hot'"):
        _ = preprocessing.text.two_hot


@needs_package
def test_sequences_and_texts():
    padded = preprocessing.sequence.pad_sequences([[1, 2], [3]], maxlen=3)
    assert padded.tolist() == [[0, 1, 2], [0, 0, 3]]
    tokenizer = preprocessing.text.Tokenizer(num_words=4)
    tokenizer.fit_on_texts(["the cat", "the dog"])
    assert tokenizer.texts_to_sequences(["the dog sat"]) == [[1, 3]]
    again = preprocessing.text.tokenizer_from_json(tokenizer.to_json())
    assert again.word_index == {"the": 1, "cat": 2, "dog": 3}
    steps = preprocessing.sequence.TimeseriesGenerator(np.arange(9)[:, None], np.arange(9), 3)
    assert isinstance(steps, tf.keras.utils.Sequence) and steps[0][0].shape == (6, 3, 1)


@needs_package
def test_images_into_fit():
    generator = preprocessing.image.ImageDataGenerator(
        horizontal_flip=True, featurewise_center=True, validation_split=0.25
    )
    generator.fit(IMAGES)
    batches = generator.flow(IMAGES, CLASSES, batch_size=8, subset="training")
    assert isinstance(batches, tf.keras.utils.Sequence) and len(batches) == 2
    assert isinstance(batches, preprocessing.image.NumpyArrayIterator)
    assert isinstance(batches, preprocessing.image.Iterator)
    model = tf.keras.Sequential([layers.Flatten(input_shape=(6, 6, 3)), layers.Dense(1)])
    model.compile("sgd", "mse")
    held = generator.flow(IMAGES, CLASSES, subset="validation")
    history = model.fit(batches, validation_data=held, epochs=2, verbose=0).history
    assert len(history["val_loss"]) == 2 and np.isfinite(history["loss"]).all()
    assert model.predict(batches).shape == (15, 1)
    assert pickle.loads(pickle.dumps(generator)).horizontal_flip


@needs_package
def test_images_move():
    pytest.importorskip("scipy")
    axes = {"row_axis": 0, "col_axis": 1, "channel_axis": 2}
    moved = preprocessing.image.apply_affine_transform(IMAGES[0], tx=1, **axes)
    np.testing.assert_allclose(moved[:-1], IMAGES[0][1:], atol=1e-5)


@needs_package
def test_settings_are_those_of_keras(monkeypatch):
    array = np.arange(6.0).reshape(2, 3)
    assert preprocessing.image.img_to_array(array).shape == (2, 3, 1)
    tf.keras.backend.set_image_data_format("channels_first")
    tf.keras.backend.set_floatx("float64")
    try:
        value = preprocessing.image.img_to_array(array)
        assert value.shape == (1, 2, 3) and value.dtype == np.float64
        generator = preprocessing.image.ImageDataGenerator()
        assert (generator.data_format, generator.dtype) == ("channels_first", "float64")
        generator = preprocessing.image.ImageDataGenerator(data_format="channels_last")
        assert generator.data_format == "channels_last"
    finally:
        tf.keras.backend.set_image_data_format("channels_last")
        tf.keras.backend.set_floatx("float32")


@needs_package
def test_import_paths():
    with tf.as_tensorflow():
        from tensorflow.keras.preprocessing.sequence import pad_sequences  # noqa: PLC0415

        assert pad_sequences is preprocessing.sequence.pad_sequences
        with pytest.raises(ImportError, match="cannot import name 'nothing'"):
            from tensorflow.keras.preprocessing.image import nothing  # noqa: F401, PLC0415
