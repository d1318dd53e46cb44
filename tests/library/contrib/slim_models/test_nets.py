"""The networks of slim: published sizes, rates in place of strides, names, a training step."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import gpugraph as tf

slim = tf.contrib.slim
nets = slim.nets


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


PUBLISHED = {  # numbers of trained parameters for 1000 classes
    "vgg_16": (nets.vgg.vgg_16, nets.vgg.vgg_arg_scope, 138_357_544),
    "vgg_19": (nets.vgg.vgg_19, nets.vgg.vgg_arg_scope, 143_667_240),
    "resnet_v1_50": (nets.resnet_v1.resnet_v1_50, nets.resnet_v1.resnet_arg_scope, 25_557_032),
    "resnet_v1_101": (nets.resnet_v1.resnet_v1_101, nets.resnet_v1.resnet_arg_scope, 44_549_160),
    "resnet_v1_152": (nets.resnet_v1.resnet_v1_152, nets.resnet_v1.resnet_arg_scope, 60_192_808),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_sizes_are_those_of_the_papers(name):
    network, scope, wanted = PUBLISHED[name]
    size = network.default_image_size
    with slim.arg_scope(scope()):
        logits, end_points = network(tf.placeholder(tf.float32, [None, size, size, 3]), 1000)
    assert (logits.shape.as_list()[-1] == 1000 and f"{name}/conv1/conv1_1" in end_points) or (
        f"{name}/conv1" in end_points
    )
    assert slim.model_analyzer.analyze_vars(tf.trainable_variables())[0] == wanted


@pytest.mark.parametrize(
    ("network", "scope", "size", "count", "last"),
    [
        (nets.alexnet.alexnet_v2, nets.alexnet.alexnet_v2_arg_scope, 224, 16, "alexnet_v2/fc8"),
        (nets.overfeat.overfeat, nets.overfeat.overfeat_arg_scope, 231, 16, "overfeat/fc8"),
        (
            nets.inception.inception_v1, nets.inception.inception_v1_arg_scope, 224, 230,
            "InceptionV1/Logits/Conv2d_0c_1x1",
        ),
        (
            nets.inception.inception_v2, nets.inception.inception_v2_arg_scope, 224, 277,
            "InceptionV2/Logits/Conv2d_1c_1x1",
        ),
        (
            nets.inception.inception_v3, nets.inception.inception_v3_arg_scope, 299, 388,
            "InceptionV3/Logits/Conv2d_1c_1x1",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
def test_variables_and_logits(network, scope, size, count, last):
    with slim.arg_scope(scope()):
        logits, _ = network(tf.placeholder(tf.float32, [2, size, size, 3]), 7)
    assert logits.shape.as_list() == [2, 7]
    names = [variable.op.name for variable in tf.global_variables()]
    assert len(names) == count and f"{last}/biases" in names


def test_a_row_in_the_middle_and_one_that_is_not():
    images = tf.placeholder(tf.float32, [1, 224, 224, 3])
    net, end_points = nets.inception.inception_v1_base(images, "Mixed_3c")
    assert net.shape.as_list() == [1, 28, 28, 480] and list(end_points)[-1] == "Mixed_3c"
    net, _ = nets.inception.inception_v2_base(images, "Conv2d_1a_7x7", depth_multiplier=0.5)
    assert net.shape.as_list() == [1, 112, 112, 32]
    net, _ = nets.inception.inception_v3_base(images, "Conv2d_2a_3x3")
    assert net.shape.as_list() == [1, 109, 109, 32]
    with pytest.raises(ValueError, match="Unknown final endpoint Mixed_9z"):
        nets.inception.inception_v1_base(images, "Mixed_9z", scope="other")
    with pytest.raises(ValueError, match="depth_multiplier is not greater than zero"):
        nets.inception.inception_v2_base(images, depth_multiplier=0)


def small(module, network, images, **arguments):
    block = getattr(module, f"{network}_block")
    blocks = [
        block("block1", base_depth=1, num_units=2, stride=2),
        block("block2", base_depth=2, num_units=2, stride=2),
        block("block3", base_depth=4, num_units=2, stride=1),
    ]
    with slim.arg_scope(nets.resnet_utils.resnet_arg_scope()):
        return getattr(module, network)(
            images, blocks, is_training=False, global_pool=False, scope="net",
            **arguments,
        )  # fmt: skip


@pytest.mark.parametrize("network", ["resnet_v1", "resnet_v2"])
@pytest.mark.parametrize("stride", [4, 8])
def test_rates_in_place_of_strides_compute_the_same_pixels(network, stride):
    module = getattr(nets, network)
    images = tf.constant(np.random.default_rng(0).random((2, 65, 65, 3)), tf.float32)
    dense, end_points = small(module, network, images, output_stride=stride)
    with tf.variable_scope("", reuse=True):
        sparse, _ = small(module, network, images, reuse=True)
    assert {"net/block1", "net/block2/unit_1/bottleneck_" + network[-2:]} <= set(end_points)
    with tf.Session() as session:
        tf.set_random_seed(1)
        session.run(tf.global_variables_initializer())
        one, other = session.run([dense[:, :: 16 // stride, :: 16 // stride], sparse])
    np.testing.assert_allclose(one, other, 1e-3, 1e-4)


def test_strides_that_can_not_be_reached():
    images = tf.zeros([1, 33, 33, 3])
    with pytest.raises(ValueError, match="output_stride needs to be a multiple of 4"):
        small(nets.resnet_v1, "resnet_v1", images, output_stride=6)
    with pytest.raises(ValueError, match="target output_stride cannot be reached"):
        small(nets.resnet_v2, "resnet_v2", images, output_stride=64)


def test_a_network_trains():
    tf.set_random_seed(3)
    images = np.random.default_rng(1).random((4, 33, 33, 3)).astype(np.float32)
    block = nets.resnet_v2.resnet_v2_block
    blocks = [block("block1", 2, 2, 2), block("block2", 4, 1, 1)]
    with slim.arg_scope(nets.resnet_v2.resnet_arg_scope(batch_norm_decay=0.9)):
        logits, end_points = nets.resnet_v2.resnet_v2(images, blocks, 3)
    assert end_points["predictions"].shape.as_list() == [4, 1, 1, 3]
    labels = tf.constant([0, 1, 2, 0])
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits[:, 0, 0])
    train = tf.contrib.layers.optimize_loss(
        loss, tf.train.get_or_create_global_step(), 0.01, "Adam"
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run(train) for _ in range(12)]
    assert losses[-1] < 0.7 * losses[0]


def test_the_paths_of_programs_lead_here():
    with tf.as_tensorflow():
        resnet = importlib.import_module("tensorflow.contrib.slim.python.slim.nets.resnet_v1")
        utils = importlib.import_module("tensorflow.contrib.slim.nets.resnet_utils")
        analyzer = importlib.import_module("tensorflow.contrib.slim.python.slim.model_analyzer")
    assert resnet.resnet_v1_50 is nets.resnet_v1.resnet_v1_50
    assert utils.Block is nets.resnet_utils.Block
    assert analyzer.analyze_vars is slim.model_analyzer.analyze_vars
