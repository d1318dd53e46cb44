"""Towers on two devices, with averaged gradients."""

from __future__ import print_function
import tensorflow as tf, numpy as np, re, time
from datetime import datetime
from tensorflow.contrib.framework.python.ops.variables import assign_from_values_fn

TOWER_NAME = "tower"
N = 2


def _variable_on_cpu(name, shape, initializer):
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, initializer=initializer, dtype=tf.float32)


def _variable_with_weight_decay(name, shape, stddev, wd):
    var = _variable_on_cpu(
        name, shape, tf.truncated_normal_initializer(stddev=stddev, dtype=tf.float32)
    )
    if wd is not None:
        tf.add_to_collection("losses", tf.multiply(tf.nn.l2_loss(var), wd, name="weight_loss"))
    return var


def _activation_summary(x):
    n = re.sub("%s_[0-9]*/" % TOWER_NAME, "", x.op.name)
    tf.summary.histogram(n + "/activations", x)
    tf.summary.scalar(n + "/sparsity", tf.nn.zero_fraction(x))


def inference(images):
    with tf.variable_scope("conv1") as scope:
        kernel = _variable_with_weight_decay("weights", [5, 5, 3, 16], 5e-2, None)
        conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding="SAME")
        b = _variable_on_cpu("biases", [16], tf.constant_initializer(0.0))
        conv1 = tf.nn.relu(tf.nn.bias_add(conv, b), name=scope.name)
        _activation_summary(conv1)
    pool1 = tf.nn.max_pool(conv1, [1, 3, 3, 1], [1, 2, 2, 1], "SAME", name="pool1")
    norm1 = tf.nn.lrn(pool1, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name="norm1")
    with tf.variable_scope("local3") as scope:
        r = tf.reshape(norm1, [images.get_shape().as_list()[0], -1])
        w = _variable_with_weight_decay("weights", [r.get_shape()[1].value, 24], 0.04, 0.004)
        h = tf.nn.relu(tf.matmul(r, w), name=scope.name)
    with tf.variable_scope("softmax_linear") as scope:
        return tf.add(
            tf.matmul(h, _variable_with_weight_decay("weights", [24, 10], 1 / 24.0, None)),
            _variable_on_cpu("biases", [10], tf.constant_initializer(0.0)),
            name=scope.name,
        )


def tower_loss(scope, images, labels):
    logits = inference(images)
    ce = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.cast(labels, tf.int64), logits=logits
        ),
        name="cross_entropy",
    )
    tf.add_to_collection("losses", ce)
    losses = tf.get_collection("losses", scope)
    total = tf.add_n(losses, name="total_loss")
    for l in losses + [total]:
        tf.summary.scalar(re.sub("%s_[0-9]*/" % TOWER_NAME, "", l.op.name), l)
    return total


def average_gradients(tower_grads):
    average = []
    for gv in zip(*tower_grads):
        g = tf.reduce_mean(tf.concat(axis=0, values=[tf.expand_dims(g, 0) for g, _ in gv]), 0)
        average.append((g, gv[0][1]))
    return average


with tf.Graph().as_default(), tf.device("/cpu:0"):
    global_step = tf.get_variable(
        "global_step", [], tf.int32, initializer=tf.constant_initializer(0), trainable=False
    )
    lr = tf.train.piecewise_constant(global_step, [3, 6], [0.1, 0.05, 0.01])
    opt = tf.train.GradientDescentOptimizer(lr)
    rng = np.random.RandomState(0)
    imgs = tf.constant(rng.rand(40, 24, 24, 3), tf.float32)
    lab = tf.constant(rng.randint(0, 10, 40))
    ds = (
        tf.data.Dataset.from_tensor_slices((imgs, lab))
        .map(
            lambda i, l: (
                tf.image.per_image_standardization(
                    tf.image.random_contrast(
                        tf.image.random_brightness(tf.random_crop(i, [20, 20, 3]), max_delta=63),
                        0.2,
                        1.8,
                    )
                ),
                l,
            )
        )
        .repeat()
        .apply(tf.contrib.data.map_and_batch(lambda i, l: (i, l), 8, drop_remainder=True))
        .prefetch(1)
    )
    images, labels = ds.make_one_shot_iterator().get_next()
    bq = tf.contrib.slim.prefetch_queue.prefetch_queue([images, labels], capacity=2 * N)
    tower_grads = []
    with tf.variable_scope(tf.get_variable_scope()):
        for i in range(N):
            with tf.device("/gpu:%d" % i):
                with tf.name_scope("%s_%d" % (TOWER_NAME, i)) as scope:
                    ib, lb = bq.dequeue()
                    loss = tower_loss(scope, ib, lb)
                    tf.get_variable_scope().reuse_variables()
                    summaries = tf.get_collection(tf.GraphKeys.SUMMARIES, scope)
                    tower_grads.append(opt.compute_gradients(loss))
    grads = average_gradients(tower_grads)
    summaries.append(tf.summary.scalar("learning_rate", lr))
    for g, v in grads:
        if g is not None:
            summaries.append(tf.summary.histogram(v.op.name + "/gradients", g))
    apply_op = opt.apply_gradients(grads, global_step=global_step)
    va = tf.train.ExponentialMovingAverage(0.9999, global_step)
    vop = va.apply(tf.trainable_variables())
    train_op = tf.group(apply_op, vop)
    saver = tf.train.Saver(tf.global_variables())
    summary_op = tf.summary.merge(summaries)
    init = tf.global_variables_initializer()
    sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False))
    sess.run(init)
    tf.train.start_queue_runners(sess=sess)
    for step in range(8):
        _, lv = sess.run([train_op, loss])
        assert not np.isnan(lv)
    print(
        "%s: step %d, loss = %.2f" % ("", step, lv),
        len(sess.run(summary_op)) > 100,
        sorted(va.variables_to_restore())[:2],
        sess.run(lr),
    )
