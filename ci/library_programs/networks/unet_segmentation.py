"""A U-Net with summaries of images and mean IoU."""

from __future__ import print_function, division, absolute_import, unicode_literals
from collections import OrderedDict
import logging, os, shutil, tempfile
import numpy as np
import tensorflow as tf

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")


def weight_variable(shape, stddev=0.1, name="weight"):
    return tf.Variable(tf.truncated_normal(shape, stddev=stddev), name=name)


def bias_variable(shape, name="bias"):
    return tf.Variable(tf.constant(0.1, shape=shape), name=name)


def conv2d(x, W, b, keep_prob_):
    with tf.name_scope("conv2d"):
        conv_2d = tf.nn.conv2d(x, W, strides=[1, 1, 1, 1], padding="VALID")
        return tf.nn.dropout(tf.nn.bias_add(conv_2d, b), keep_prob_)


def deconv2d(x, W, stride):
    with tf.name_scope("deconv2d"):
        x_shape = tf.shape(x)
        output_shape = tf.stack([x_shape[0], x_shape[1] * 2, x_shape[2] * 2, x_shape[3] // 2])
        return tf.nn.conv2d_transpose(
            x,
            W,
            output_shape,
            strides=[1, stride, stride, 1],
            padding="VALID",
            name="conv2d_transpose",
        )


def crop_and_concat(x1, x2):
    with tf.name_scope("crop_and_concat"):
        x1_shape = tf.shape(x1)
        x2_shape = tf.shape(x2)
        offsets = [0, (x1_shape[1] - x2_shape[1]) // 2, (x1_shape[2] - x2_shape[2]) // 2, 0]
        size = [-1, x2_shape[1], x2_shape[2], -1]
        return tf.concat([tf.slice(x1, offsets, size), x2], 3)


def pixel_wise_softmax(output_map):
    with tf.name_scope("pixel_wise_softmax"):
        max_axis = tf.reduce_max(output_map, axis=3, keepdims=True)
        exponential_map = tf.exp(output_map - max_axis)
        return exponential_map / tf.reduce_sum(exponential_map, axis=3, keepdims=True)


def get_image_summary(img, idx=0):
    V = tf.slice(img, (0, 0, 0, idx), (1, -1, -1, 1))
    V -= tf.reduce_min(V)
    V /= tf.reduce_max(V)
    V *= 255
    img_w = tf.shape(img)[1]
    img_h = tf.shape(img)[2]
    V = tf.reshape(V, tf.stack((img_w, img_h, 1)))
    V = tf.transpose(V, (2, 0, 1))
    V = tf.reshape(V, tf.stack((-1, img_w, img_h, 1)))
    return V


class Unet(object):
    def __init__(self, channels=1, n_class=2, layers=3, features_root=4):
        tf.reset_default_graph()
        self.x = tf.placeholder("float", shape=[None, None, None, channels], name="x")
        self.y = tf.placeholder("float", shape=[None, None, None, n_class], name="y")
        self.keep_prob = tf.placeholder(tf.float32, name="dropout_probability")
        weights, biases = [], []
        dw = OrderedDict()
        pools = OrderedDict()
        with tf.name_scope("preprocessing"):
            nx = tf.shape(self.x)[1]
            ny = tf.shape(self.x)[2]
            in_node = tf.reshape(self.x, tf.stack([-1, nx, ny, channels]))
        in_size = 1000
        size = in_size
        for layer in range(layers):
            with tf.name_scope("down_conv_{}".format(str(layer))):
                f = 2**layer * features_root
                stddev = np.sqrt(2 / (9 * f))
                w1 = weight_variable(
                    [3, 3, channels if layer == 0 else f // 2, f], stddev, name="w1"
                )
                w2 = weight_variable([3, 3, f, f], stddev, name="w2")
                b1 = bias_variable([f], name="b1")
                b2 = bias_variable([f], name="b2")
                t = tf.nn.relu(conv2d(in_node, w1, b1, self.keep_prob))
                dw[layer] = tf.nn.relu(conv2d(t, w2, b2, self.keep_prob))
                weights.append((w1, w2))
                biases.append((b1, b2))
                size -= 4
                if layer < layers - 1:
                    pools[layer] = tf.nn.max_pool(
                        dw[layer], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"
                    )
                    in_node = pools[layer]
                    size /= 2
        in_node = dw[layers - 1]
        for layer in range(layers - 2, -1, -1):
            with tf.name_scope("up_conv_{}".format(str(layer))):
                f = 2 ** (layer + 1) * features_root
                stddev = np.sqrt(2 / (9 * f))
                wd = weight_variable([2, 2, f // 2, f], stddev, name="wd")
                bd = bias_variable([f // 2], name="bd")
                h = tf.nn.relu(deconv2d(in_node, wd, 2) + bd)
                cat = crop_and_concat(dw[layer], h)
                w1 = weight_variable([3, 3, f, f // 2], stddev, name="w1")
                b1 = bias_variable([f // 2])
                in_node = tf.nn.relu(conv2d(cat, w1, b1, self.keep_prob))
                weights.append((w1, w1))
                size *= 2
                size -= 2
        with tf.name_scope("output_map"):
            w = weight_variable([1, 1, features_root, n_class], stddev)
            b = bias_variable([n_class])
            self.logits = tf.nn.relu(conv2d(in_node, w, b, tf.constant(1.0)))
        for i, c in enumerate(weights):
            tf.summary.histogram("w_%d" % i, c[0])
        tf.summary.image("summary_conv", get_image_summary(self.logits))
        with tf.name_scope("cost"):
            fl = tf.reshape(self.logits, [-1, n_class])
            fy = tf.reshape(self.y, [-1, n_class])
            cw = tf.constant(np.array([1.0, 2.0], dtype=np.float32))
            wm = tf.reduce_sum(tf.multiply(fy, cw), axis=1)
            lm = tf.nn.softmax_cross_entropy_with_logits_v2(logits=fl, labels=fy)
            p = pixel_wise_softmax(self.logits)
            eps = 1e-5
            inter = tf.reduce_sum(p * self.y)
            dice = -(2 * inter / (eps + tf.reduce_sum(p) + tf.reduce_sum(self.y)))
            self.cost = (
                tf.reduce_mean(tf.multiply(lm, wm))
                + dice
                + 0.001 * sum([tf.nn.l2_loss(w) for ws in weights for w in ws])
            )
        self.predicter = p
        self.miou, self.miou_op = tf.metrics.mean_iou(
            tf.argmax(self.y, 3), tf.argmax(p, 3), n_class
        )


rng = np.random.RandomState(0)
X = rng.rand(2, 44, 44, 1).astype(np.float32)
net = Unet()
global_step = tf.Variable(0, name="global_step")
lr = tf.Variable(0.2, name="learning_rate")
opt = tf.train.MomentumOptimizer(
    learning_rate=tf.train.exponential_decay(0.2, global_step, 10, 0.95, staircase=True),
    momentum=0.9,
    use_nesterov=True,
).minimize(net.cost, global_step=global_step)
summary_op = tf.summary.merge_all()
folder = tempfile.mkdtemp()
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    shape = sess.run(
        net.predicter, {net.x: X, net.y: np.zeros((2, 1, 1, 2)), net.keep_prob: 1.0}
    ).shape
    Y = np.eye(2)[(rng.rand(2, shape[1], shape[2]) > 0.5).astype(int)]
    w = tf.summary.FileWriter(folder, graph=sess.graph)
    for i in range(6):
        _, c, s, _ = sess.run(
            (opt, net.cost, summary_op, net.miou_op), {net.x: X, net.y: Y, net.keep_prob: 0.9}
        )
        w.add_summary(s, i)
        w.flush()
    logging.info("cost %g miou %g %s", c, sess.run(net.miou), shape)
    path = tf.train.Saver().save(sess, os.path.join(folder, "m.cpkt"))
with tf.Session() as sess:
    tf.train.Saver().restore(sess, path)
    print(sess.run(global_step))
shutil.rmtree(folder)
