"""Networks of `tf.keras.applications`: sizes, arguments, files of weights, images and classes."""

from __future__ import annotations

import json
import pydoc
import sys

import numpy as np
import pytest

import gpugraph as tf

from . import functional_networks

pytest.importorskip("keras_applications", reason="the extra `applications` is not installed")

applications = tf.keras.applications
exhaustive = pytest.mark.exhaustive

PUBLISHED = {
    "VGG16": 138_357_544,
    "VGG19": 143_667_240,
    "ResNet50": 25_636_712,
    "ResNet50V2": 25_613_800,
    "InceptionV3": 23_851_784,
    "Xception": 22_910_480,
    "MobileNet": 4_253_864,
    "MobileNetV2": 3_538_984,
    "DenseNet121": 8_062_504,
    "NASNetMobile": 5_326_716,
}
LARGE = {
    "ResNet101": 44_707_176,
    "ResNet152": 60_419_944,
    "ResNet101V2": 44_675_560,
    "ResNet152V2": 60_380_648,
    "InceptionResNetV2": 55_873_736,
    "DenseNet169": 14_307_880,
    "DenseNet201": 20_242_984,
    "NASNetLarge": 88_949_818,
}
"""Numbers of parameters of https://keras.io/api/applications."""

FUNCTIONAL = {"unet": 31_031_685, "transformer_encoder": 18_914_304, "translator": 7_333_952}


@pytest.fixture(autouse=True)
def graph():
    tf.keras.backend.clear_session()
    with tf.Graph().as_default():
        yield


@pytest.fixture
def home(monkeypatch, tmp_path):
    """Return the folder where Keras keeps downloads."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".keras" / "models"
    folder.mkdir(parents=True)
    return folder


def small_network(**arguments):
    return applications.MobileNet((32, 32, 3), alpha=0.25, weights=None, classes=3, **arguments)


def run(model, array):
    return tf.keras.backend.function([model.input], [model.output])([array])[0]


def images(size=32):
    return np.random.RandomState(2).uniform(-1, 1, [2, size, size, 3]).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [*PUBLISHED.items(), *(pytest.param(*pair, marks=exhaustive) for pair in LARGE.items())],
)
def test_it_has_the_published_parameters(name, parameters):
    model = getattr(applications, name)(weights=None)
    assert model.count_params() == parameters
    assert model.output_shape == (None, 1000)


@pytest.mark.parametrize(("name", "parameters"), FUNCTIONAL.items())
def test_networks_of_the_functional_api(name, parameters):
    assert getattr(functional_networks, name)(tf).count_params() == parameters


def test_layers_have_the_names_of_1_15():
    model = applications.resnet50.ResNet50(weights=None)
    names = [layer.name for layer in model.layers]
    assert model.name == "resnet50" and len(names) == 177
    assert names[1:3] == ["conv1_pad", "conv1_conv"]
    assert names[-3:] == ["conv5_block3_out", "avg_pool", "probs"]
    assert applications.MobileNetV2(weights=None).layers[-1].name == "Logits"


def test_the_table_of_layers():
    lines = []
    applications.VGG16(weights=None).summary(print_fn=lines.append)
    assert lines[0] == 'Model: "vgg16"'
    assert lines[8] == "block1_conv2 (Conv2D)        (None, 224, 224, 64)      36928     "
    assert lines[-4] == "Total params: 138,357,544"


def test_modules_share_the_functions_of_the_room():
    assert applications.vgg16.VGG16 is applications.VGG16
    page = pydoc.plain(pydoc.render_doc(applications.mobilenet_v2))
    assert "MobileNetV2(input_shape=None, alpha=1.0" in page
    with pytest.raises(TypeError, match=r"VGG16\(\) got an unexpected keyword argument 'size'"):
        applications.VGG16(size=3)


@pytest.mark.parametrize(("pooling", "shape"), [(None, (2, 1, 1, 256)), ("avg", (2, 256))])
def test_without_the_classes(pooling, shape):
    model = applications.MobileNet(
        (32, 32, 3), alpha=0.25, weights=None, include_top=False, pooling=pooling
    )
    assert run(model, images()).shape == shape


def test_it_begins_with_a_tensor():
    inputs = tf.keras.Input((32, 32, 1))
    colours = tf.keras.layers.Conv2D(3, 1)(inputs)
    model = applications.VGG16(False, None, input_tensor=colours, pooling="max")
    assert model.inputs == [inputs] and model.output_shape == (None, 512)
    batch = tf.placeholder(tf.float32, [None, 32, 32, 3])
    model = applications.VGG16(False, None, input_tensor=batch)
    assert model.inputs == [batch]


def test_a_network_is_trained_at_its_end():
    base = applications.MobileNet(
        (32, 32, 3), alpha=0.25, weights=None, include_top=False, pooling="avg"
    )
    base.trainable = False
    model = tf.keras.Sequential([base, tf.keras.layers.Dense(2)])
    model.compile(tf.keras.optimizers.SGD(1e-3), "mse")
    before = [*base.get_weights(), *model.layers[1].get_weights()]
    losses = [model.train_on_batch(images(), np.eye(2)) for _ in range(3)]
    after = [*base.get_weights(), *model.layers[1].get_weights()]
    assert losses[2] < losses[0]
    changed = [not np.array_equal(*pair) for pair in zip(before, after)]
    assert changed[-2:] == [True, True] and len(model.trainable_weights) == 2
    kernels = [number for number, array in enumerate(before[:-2]) if array.ndim == 4]
    assert not any(changed[number] for number in kernels)


@pytest.mark.parametrize("by_name", [False, True])
def test_weights_come_from_a_file(tmp_path, by_name):
    pytest.importorskip("h5py", reason="HDF5 files need h5py")
    path = tmp_path / "weights.h5"
    model = small_network()
    model.save_weights(str(path))
    expected = run(model, images())
    if by_name:
        loaded = small_network()
        loaded.load_weights(str(path), by_name=True)
    else:
        loaded = applications.MobileNet((32, 32, 3), alpha=0.25, weights=str(path), classes=3)
    np.testing.assert_array_equal(run(loaded, images()), expected)


def test_weights_of_imagenet_are_a_file_of_the_user(home):
    pytest.importorskip("h5py", reason="HDF5 files need h5py")
    arguments = {"input_shape": (128, 128, 3), "alpha": 0.25, "include_top": False}
    path = home / "mobilenet_2_5_128_tf_no_top.h5"
    with pytest.raises(FileNotFoundError, match="URL fetch failure on https://") as error:
        applications.MobileNet(**arguments)
    assert f"Put the file at {path}, or give weights=PATH or weights=None" in str(error.value)
    model = applications.MobileNet(**arguments, weights=None)
    model.save_weights(str(path))
    expected = run(model, images(128))
    np.testing.assert_array_equal(run(applications.MobileNet(**arguments), images(128)), expected)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="The `weights` argument should be either"):
        applications.VGG16(weights="nowhere.h5")
    with pytest.raises(ValueError, match="`classes` should be 1000"):
        applications.VGG16(classes=3)
    with pytest.raises(ValueError, match="Input size must be at least 71x71"):
        applications.Xception(weights=None, include_top=False, input_shape=(32, 32, 3))


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("resnet50", [20 - 103.939, 100 - 116.779, 200 - 123.68]),
        ("densenet", [(200 / 255 - 0.485) / 0.229, -0.285014, (20 / 255 - 0.406) / 0.225]),
        ("xception", [200 / 127.5 - 1, 100 / 127.5 - 1, 20 / 127.5 - 1]),
    ],
)
def test_images_as_networks_were_trained_on_them(module, expected):
    preprocess = getattr(applications, module).preprocess_input
    pixels = np.broadcast_to(np.uint8([200, 100, 20]), [1, 2, 2, 3])
    np.testing.assert_allclose(preprocess(pixels.copy())[0, 1, 1], expected, rtol=1e-5)
    with tf.Session() as session:
        tensor = preprocess(tf.constant(pixels, tf.float32))
        np.testing.assert_allclose(session.run(tensor)[0, 1, 1], expected, rtol=1e-5)


def test_images_by_mode_and_order():
    pixels = np.full([3, 2, 2], 51.0)
    preprocess = applications.imagenet_utils.preprocess_input
    by_channel = preprocess(pixels, data_format="channels_first", mode="torch")
    np.testing.assert_allclose(by_channel[:, 0, 0], [-1.2445, -1.1429, -0.9156], atol=1e-4)
    with pytest.raises(ValueError, match="Unknown data_format channels"):
        preprocess(pixels, "channels")


def test_the_likeliest_classes(home):
    predictions = np.zeros([2, 1000], np.float32)
    predictions[0, [3, 7]], predictions[1, 999] = [0.25, 0.75], 1.0
    decode = applications.vgg16.decode_predictions
    with pytest.raises(FileNotFoundError, match=r"Put the file at .*imagenet_class_index\.json$"):
        decode(predictions)
    names = {str(number): [f"n{number}", f"thing {number}"] for number in range(1000)}
    (home / "imagenet_class_index.json").write_text(json.dumps(names))
    first, second = decode(predictions, top=2)
    assert first == [("n7", "thing 7", 0.75), ("n3", "thing 3", 0.25)]
    assert second[0] == ("n999", "thing 999", 1.0)
    with pytest.raises(ValueError, match="expects a batch of predictions"):
        decode(predictions[0])


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras_applications", None)
    with pytest.raises(ImportError, match=r"pip install 'gpugraph\[applications\]'"):
        applications.VGG16(weights=None)


def test_layers_may_come_from_another_module():
    built = []

    class Layers:
        def __getattr__(self, name):
            built.append(name)
            return getattr(tf.keras.layers, name)

    small_network(layers=Layers())
    assert built.count("DepthwiseConv2D") == 13
