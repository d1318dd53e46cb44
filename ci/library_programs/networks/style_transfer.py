"""Style transfer, also by SciPy."""

import tensorflow as tf, numpy as np, scipy.io, os, sys
from functools import reduce

LAYERS = ("conv1_1", "relu1_1", "pool1", "conv2_1", "relu2_1")
rng = np.random.RandomState(0)
data = {
    "conv1_1": (rng.randn(3, 3, 3, 8).astype("f") * 0.1, np.zeros(8, "f")),
    "conv2_1": (rng.randn(3, 3, 8, 16).astype("f") * 0.1, np.zeros(16, "f")),
}


def net_preloaded(x, pooling):
    net = {}
    current = x
    for name in LAYERS:
        kind = name[:4]
        if kind == "conv":
            k, b = data[name]
            current = tf.nn.bias_add(
                tf.nn.conv2d(current, tf.constant(k), strides=(1, 1, 1, 1), padding="SAME"), b
            )
        elif kind == "relu":
            current = tf.nn.relu(current)
        elif kind == "pool":
            current = (tf.nn.avg_pool if pooling == "avg" else tf.nn.max_pool)(
                current, ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="SAME"
            )
        net[name] = current
    return net


def _tensor_size(tensor):
    from operator import mul

    return reduce(mul, (d.value for d in tensor.get_shape()), 1)


content = rng.rand(1, 24, 20, 3).astype(np.float32) * 255
style = rng.rand(1, 16, 16, 3).astype(np.float32) * 255
content_features, style_features = {}, {}
g = tf.Graph()
with g.as_default(), g.device("/cpu:0"), tf.Session() as sess:
    image = tf.placeholder("float", shape=content.shape)
    net = net_preloaded(image, "max")
    content_features["relu2_1"] = net["relu2_1"].eval(feed_dict={image: content - 120})
with tf.Graph().as_default() as g2, g2.device("/cpu:0"), tf.Session() as sess:
    image = tf.placeholder("float", shape=style.shape)
    net = net_preloaded(image, "avg")
    for layer in ("relu1_1", "relu2_1"):
        f = net[layer].eval(feed_dict={image: style - 120})
        f = np.reshape(f, (-1, f.shape[3]))
        style_features[layer] = np.matmul(f.T, f) / f.size
with tf.Graph().as_default():
    initial = tf.random_normal(content.shape) * 0.256
    image = tf.Variable(initial)
    net = net_preloaded(image, "max")
    content_loss = 5e0 * (
        2
        * tf.nn.l2_loss(net["relu2_1"] - content_features["relu2_1"])
        / content_features["relu2_1"].size
    )
    style_losses = []
    for l in style_features:
        layer = net[l]
        _, height, width, number = map(lambda i: i.value, layer.get_shape())
        size = height * width * number
        feats = tf.reshape(layer, (-1, number))
        gram = tf.matmul(tf.transpose(feats), feats) / size
        style_gram = style_features[l]
        style_losses.append(2 * tf.nn.l2_loss(gram - style_gram) / style_gram.size)
    style_loss = 5e2 * reduce(tf.add, style_losses)
    tv_y_size = _tensor_size(image[:, 1:, :, :])
    tv_x_size = _tensor_size(image[:, :, 1:, :])
    tv_loss = (
        1e2
        * 2
        * (
            (tf.nn.l2_loss(image[:, 1:, :, :] - image[:, : content.shape[1] - 1, :, :]) / tv_y_size)
            + (
                tf.nn.l2_loss(image[:, :, 1:, :] - image[:, :, : content.shape[2] - 1, :])
                / tv_x_size
            )
        )
    )
    loss = (
        content_loss + style_loss + tv_loss + 1e-3 * tf.reduce_sum(tf.image.total_variation(image))
    )
    train_step = tf.train.AdamOptimizer(1e1, 0.9, 0.999, 1e-8).minimize(loss)
    scipy_opt = tf.contrib.opt.ScipyOptimizerInterface(
        loss, method="L-BFGS-B", options={"maxiter": 5, "disp": 0}
    )
    best = float("inf")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        print("Optimization started...")
        for i in range(15):
            train_step.run()
            this = loss.eval()
            best = min(best, this)
        scipy_opt.minimize(sess, fetches=[loss], loss_callback=lambda l: None)
        print(best, loss.eval() <= this)
        png = tf.image.encode_png(
            tf.cast(tf.clip_by_value(image[0] + 120, 0, 255), tf.uint8)
        ).eval()
        jpg = sess.run(
            tf.image.encode_jpeg(
                tf.image.convert_image_dtype(
                    tf.image.rgb_to_grayscale(tf.sigmoid(image[0])), tf.uint8, saturate=True
                ),
                quality=90,
            )
        )
        print(len(png) > 100, len(jpg) > 100)
