"""A single-shot detector: anchors, encoded boxes, hard negatives."""

import tensorflow as tf
import numpy as np

slim = tf.contrib.slim
import math
from collections import namedtuple

SSDParams = namedtuple(
    "SSDParameters",
    [
        "img_shape",
        "num_classes",
        "feat_layers",
        "feat_shapes",
        "anchor_sizes",
        "anchor_ratios",
        "anchor_steps",
        "prior_scaling",
    ],
)
P = SSDParams(
    (64, 64),
    5,
    ["block4", "block7"],
    [(8, 8), (4, 4)],
    [(12.0, 20.0), (24.0, 40.0)],
    [[2, 0.5], [2, 0.5, 3, 1.0 / 3]],
    [8, 16],
    [0.1, 0.1, 0.2, 0.2],
)


def anchors_one(img_shape, feat_shape, sizes, ratios, step, offset=0.5, dtype=np.float32):
    y, x = np.mgrid[0 : feat_shape[0], 0 : feat_shape[1]]
    y = (y.astype(dtype) + offset) * step / img_shape[0]
    x = (x.astype(dtype) + offset) * step / img_shape[1]
    y = np.expand_dims(y, axis=-1)
    x = np.expand_dims(x, axis=-1)
    n = len(sizes) + len(ratios)
    h = np.zeros((n,), dtype=dtype)
    w = np.zeros((n,), dtype=dtype)
    h[0] = sizes[0] / img_shape[0]
    w[0] = sizes[0] / img_shape[1]
    h[1] = math.sqrt(sizes[0] * sizes[1]) / img_shape[0]
    w[1] = math.sqrt(sizes[0] * sizes[1]) / img_shape[1]
    for i, r in enumerate(ratios):
        h[i + 2] = sizes[0] / img_shape[0] / math.sqrt(r)
        w[i + 2] = sizes[0] / img_shape[1] * math.sqrt(r)
    return y, x, h, w


def encode_layer(labels, bboxes, anchors, num_classes):
    yref, xref, href, wref = anchors
    ymin = yref - href / 2.0
    xmin = xref - wref / 2.0
    ymax = yref + href / 2.0
    xmax = xref + wref / 2.0
    vol_anchors = (xmax - xmin) * (ymax - ymin)
    shape = (yref.shape[0], yref.shape[1], href.size)
    feat_labels = tf.zeros(shape, dtype=tf.int64)
    feat_scores = tf.zeros(shape)
    fy = tf.zeros(shape)
    fx = tf.zeros(shape)
    fY = tf.ones(shape)
    fX = tf.ones(shape)

    def jaccard(bbox):
        iy, ix = tf.maximum(ymin, bbox[0]), tf.maximum(xmin, bbox[1])
        iY, iX = tf.minimum(ymax, bbox[2]), tf.minimum(xmax, bbox[3])
        inter = tf.maximum(iY - iy, 0.0) * tf.maximum(iX - ix, 0.0)
        return tf.div(inter, vol_anchors - inter + (bbox[2] - bbox[0]) * (bbox[3] - bbox[1]))

    def condition(i, *a):
        return tf.less(i, tf.shape(labels))[0]

    def body(i, feat_labels, feat_scores, fy, fx, fY, fX):
        label = labels[i]
        bbox = bboxes[i]
        jac = jaccard(bbox)
        mask = tf.greater(jac, feat_scores)
        mask = tf.logical_and(mask, feat_scores > -0.5)
        mask = tf.logical_and(mask, label < num_classes)
        imask = tf.cast(mask, tf.int64)
        fmask = tf.cast(mask, tf.float32)
        feat_labels = imask * label + (1 - imask) * feat_labels
        feat_scores = tf.where(mask, jac, feat_scores)
        fy = fmask * bbox[0] + (1 - fmask) * fy
        fx = fmask * bbox[1] + (1 - fmask) * fx
        fY = fmask * bbox[2] + (1 - fmask) * fY
        fX = fmask * bbox[3] + (1 - fmask) * fX
        return [i + 1, feat_labels, feat_scores, fy, fx, fY, fX]

    i = 0
    [i, feat_labels, feat_scores, fy, fx, fY, fX] = tf.while_loop(
        condition, body, [i, feat_labels, feat_scores, fy, fx, fY, fX]
    )
    cy, cx, h, w = (fY + fy) / 2.0, (fX + fx) / 2.0, fY - fy, fX - fx
    loc = tf.stack(
        [
            (cx - xref) / wref / P.prior_scaling[0],
            (cy - yref) / href / P.prior_scaling[1],
            tf.log(w / wref) / P.prior_scaling[3],
            tf.log(h / href) / P.prior_scaling[2],
        ],
        axis=-1,
    )
    return feat_labels, loc, feat_scores


def ssd_arg_scope(weight_decay=0.0005, data_format="NHWC"):
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        activation_fn=tf.nn.relu,
        weights_regularizer=slim.l2_regularizer(weight_decay),
        weights_initializer=tf.contrib.layers.xavier_initializer(),
        biases_initializer=tf.zeros_initializer(),
    ):
        with slim.arg_scope(
            [slim.conv2d, slim.max_pool2d], padding="SAME", data_format=data_format
        ) as sc:
            return sc


def net(inputs, is_training):
    ep = {}
    with tf.variable_scope("ssd", "ssd", [inputs], reuse=None):
        n = slim.repeat(inputs, 2, slim.conv2d, 16, [3, 3], scope="conv1")
        n = slim.max_pool2d(n, [2, 2], scope="pool1")
        n = slim.repeat(n, 2, slim.conv2d, 24, [3, 3], scope="conv2")
        n = slim.max_pool2d(n, [2, 2], scope="pool2")
        n = slim.conv2d(n, 24, [3, 3], stride=2, scope="conv4")
        ep["block4"] = n
        n = slim.conv2d(n, 32, [3, 3], rate=2, scope="conv6")
        n = slim.dropout(n, 0.9, is_training=is_training)
        n = slim.conv2d(n, 32, [3, 3], stride=2, scope="conv7")
        ep["block7"] = n
        logits, locs = [], []
        for i, layer in enumerate(P.feat_layers):
            with tf.variable_scope(layer + "_box"):
                f = ep[layer]
                if i == 0:
                    with tf.variable_scope("norm"):
                        f = tf.nn.l2_normalize(f, -1, epsilon=1e-12) * slim.model_variable(
                            "gamma",
                            shape=[f.get_shape()[-1].value],
                            initializer=tf.ones_initializer(),
                        )
                na = len(P.anchor_sizes[i]) + len(P.anchor_ratios[i])
                locs.append(
                    tf.reshape(
                        slim.conv2d(f, na * 4, [3, 3], activation_fn=None, scope="conv_loc"),
                        f.get_shape().as_list()[:-1] + [na, 4],
                    )
                )
                logits.append(
                    tf.reshape(
                        slim.conv2d(
                            f, na * P.num_classes, [3, 3], activation_fn=None, scope="conv_cls"
                        ),
                        f.get_shape().as_list()[:-1] + [na, P.num_classes],
                    )
                )
        return [slim.softmax(l) for l in logits], locs, logits, ep


tf.logging.set_verbosity(tf.logging.ERROR)
with tf.Graph().as_default():
    gs = slim.create_global_step()
    img = tf.random_uniform([2, 64, 64, 3], seed=3)
    labels = tf.constant([1, 3], tf.int64)
    boxes = tf.constant([[0.1, 0.1, 0.5, 0.4], [0.3, 0.4, 0.9, 0.9]])
    anchors = [
        anchors_one(
            P.img_shape, P.feat_shapes[i], P.anchor_sizes[i], P.anchor_ratios[i], P.anchor_steps[i]
        )
        for i in range(2)
    ]
    enc = [encode_layer(labels, boxes, a, P.num_classes) for a in anchors]
    with slim.arg_scope(ssd_arg_scope()):
        preds, locs, logits, eps = net(img, True)
    fl, fg, fs, floc, gl = [], [], [], [], []
    for i in range(2):
        fl.append(tf.reshape(logits[i], [-1, P.num_classes]))
        floc.append(tf.reshape(locs[i], [-1, 4]))
        fg.append(tf.reshape(tf.stack([enc[i][0]] * 2), [-1]))
        fs.append(tf.reshape(tf.stack([enc[i][2]] * 2), [-1]))
        gl.append(tf.reshape(tf.stack([enc[i][1]] * 2), [-1, 4]))
    l, g, s, lo, glo = [tf.concat(t, axis=0) for t in (fl, fg, fs, floc, gl)]
    pmask = s > 0.35
    fp = tf.cast(pmask, tf.float32)
    npos = tf.reduce_sum(fp)
    no_classes = tf.cast(pmask, tf.int32)
    sm = slim.softmax(l)
    nmask = tf.logical_and(tf.logical_not(pmask), s > -0.5)
    fn = tf.cast(nmask, tf.float32)
    nvalues = tf.where(nmask, sm[:, 0], 1.0 - fn)
    nflat = tf.reshape(nvalues, [-1])
    n_neg = tf.minimum(tf.cast(3.0 * npos, tf.int32) + 2, tf.cast(tf.reduce_sum(fn), tf.int32))
    val, idx = tf.nn.top_k(-nflat, k=n_neg)
    fn = tf.cast(tf.logical_and(nmask, nvalues < -val[-1]), tf.float32)
    with tf.name_scope("cross_entropy_pos"):
        loss = tf.div(
            tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=l, labels=g) * fp),
            2.0,
            name="value",
        )
        tf.losses.add_loss(loss)
    with tf.name_scope("cross_entropy_neg"):
        loss = tf.div(
            tf.reduce_sum(
                tf.nn.sparse_softmax_cross_entropy_with_logits(logits=l, labels=no_classes) * fn
            ),
            2.0,
            name="value",
        )
        tf.losses.add_loss(loss)
    ab = tf.abs(lo - glo)
    sl1 = tf.where(tf.less(ab, 1), 0.5 * tf.square(ab), ab - 0.5)
    tf.losses.add_loss(tf.div(tf.reduce_sum(sl1 * tf.expand_dims(fp, -1)), 2.0, name="value"))
    total = slim.losses.get_total_loss()
    lr = tf.train.exponential_decay(0.01, gs, 10, 0.94, staircase=True)
    train = slim.learning.create_train_op(
        total, tf.train.MomentumOptimizer(lr, 0.9), gs, clip_gradient_norm=5
    )
    b = tf.reshape(boxes, [-1, 4])
    keep = tf.image.non_max_suppression(
        tf.concat([b, b + 0.01], 0), tf.constant([0.9, 0.8, 0.85, 0.3]), 4, iou_threshold=0.5
    )
    drawn = tf.image.draw_bounding_boxes(img[:1], tf.expand_dims(boxes, 0))
    crop = tf.image.crop_and_resize(img, boxes, [0, 1], [7, 7])
    bb, bsize, dist = tf.image.sample_distorted_bounding_box(
        tf.shape(img[0]),
        bounding_boxes=tf.expand_dims(boxes, 0),
        min_object_covered=0.1,
        aspect_ratio_range=(0.6, 1.67),
        area_range=(0.1, 1.0),
        max_attempts=50,
        use_image_if_no_bounding_boxes=True,
    )
    sliced = tf.slice(img[0], bb, bsize)
    with tf.Session() as sess:
        sess.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
        ls = [sess.run(train) for _ in range(8)]
        print(
            ls[0],
            ls[-1],
            sess.run(keep),
            sess.run([tf.shape(drawn), tf.shape(crop), tf.shape(sliced)]),
        )
        slim.model_analyzer.analyze_vars(slim.get_model_variables(), print_info=False)
