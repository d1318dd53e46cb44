"""Neural style: an image is optimized for the features of one and the Gram matrices of another."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

LAYERS = ("conv1_1", "conv1_2", "pool1", "conv2_1", "conv2_2", "pool2", "conv3_1")
WIDTHS = {"conv1_1": 8, "conv1_2": 8, "conv2_1": 16, "conv2_2": 16, "conv3_1": 32}
random = np.random.RandomState(6)
FILTERS = {}
channels = 3
for layer in LAYERS:
    if layer.startswith("conv"):
        shape = (3, 3, channels, WIDTHS[layer])
        FILTERS[layer] = (random.randn(*shape) * np.sqrt(2.0 / (9 * channels))).astype(np.float32)
        channels = WIDTHS[layer]


def net(image):
    """Return a small network in place of VGG19, whose weights are not at hand: layer ->
    activations.
    """
    features, current = {}, image
    for name in LAYERS:
        if name.startswith("conv"):
            kernel = tf.constant(FILTERS[name])
            current = tf.nn.conv2d(current, kernel, strides=(1, 1, 1, 1), padding="SAME")
            current = tf.nn.relu(current)
        else:
            current = tf.nn.avg_pool(
                current, ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="SAME"
            )
        features[name] = current
    return features


def tensor_size(tensor):
    return int(np.prod([d.value for d in tensor.get_shape()[1:]]))


content = random.uniform(-1, 1, (1, 32, 32, 3)).astype(np.float32)
style = np.sign(np.sin(np.arange(32) / 2.0))[None, :, None, None] * np.ones((1, 32, 32, 3))
style_layers = ("conv1_1", "conv2_1", "conv3_1")

style_features = {}
with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as sess:
    image = tf.placeholder(tf.float32, shape=style.shape)
    style_net = net(image)
    for layer in style_layers:
        features = style_net[layer].eval(feed_dict={image: style})
        features = np.reshape(features, (-1, features.shape[3]))
        style_features[layer] = np.matmul(features.T, features) / features.size

with tf.Graph().as_default():
    image = tf.placeholder(tf.float32, shape=content.shape)
    with tf.Session() as sess:
        content_features = net(image)["conv2_2"].eval(feed_dict={image: content})

with tf.Graph().as_default():
    initial = tf.random_normal(content.shape, seed=1) * 0.256
    image = tf.Variable(initial)
    features = net(image)
    content_loss = 5.0 * (
        2 * tf.nn.l2_loss(features["conv2_2"] - content_features) / content_features.size
    )
    style_loss = 0
    for layer in style_layers:
        feats = features[layer]
        _, height, width, number = map(lambda i: i.value, feats.get_shape())
        feats = tf.reshape(feats, (-1, number))
        gram = tf.matmul(tf.transpose(feats), feats) / (height * width * number)
        style_gram = style_features[layer]
        style_loss += 2 * tf.nn.l2_loss(gram - style_gram) / style_gram.size
    tv_y_size = tensor_size(image[:, 1:, :, :])
    tv_loss = 0.1 * (
        tf.nn.l2_loss(image[:, 1:, :, :] - image[:, :-1, :, :]) / tv_y_size
        + tf.nn.l2_loss(image[:, :, 1:, :] - image[:, :, :-1, :]) / tv_y_size
    )
    loss = content_loss + 100.0 * style_loss + tv_loss
    train_step = tf.train.AdamOptimizer(0.05, 0.9, 0.999, 1e-8).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(20):
            print("step %d loss %.9g" % (i, loss.eval()))
            train_step.run()
