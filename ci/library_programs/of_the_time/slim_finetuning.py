"""Networks of slim: trained, fine-tuned, evaluated."""

import tensorflow as tf, numpy as np, tempfile, os
from tensorflow.contrib.slim.python.slim.nets import (
    resnet_v1,
    vgg,
    inception_v1,
    resnet_utils,
    alexnet,
)
from tensorflow.contrib.slim.nets import resnet_v2

slim = tf.contrib.slim
d = tempfile.mkdtemp()
tf.logging.set_verbosity(tf.logging.ERROR)


def get_init_fn(path):
    ex = [s.strip() for s in ["resnet_v1_tiny/logits"]]
    vs = [v for v in slim.get_model_variables() if not any(v.op.name.startswith(e) for e in ex)]
    return slim.assign_from_checkpoint_fn(path, vs, ignore_missing_vars=True)


def net(x, train, nc):
    blocks = [
        resnet_utils.Block(
            "block1",
            resnet_v1.bottleneck,
            [
                {"depth": 16, "depth_bottleneck": 4, "stride": 1},
                {"depth": 16, "depth_bottleneck": 4, "stride": 2},
            ],
        ),
        resnet_v1.resnet_v1_block("block2", base_depth=8, num_units=2, stride=1),
    ]
    with slim.arg_scope(resnet_v1.resnet_arg_scope(weight_decay=1e-4, batch_norm_decay=0.9)):
        return resnet_v1.resnet_v1(
            x,
            blocks,
            nc,
            is_training=train,
            global_pool=True,
            include_root_block=True,
            scope="resnet_v1_tiny",
        )


rng = np.random.RandomState(0)
X = rng.rand(8, 33, 33, 3).astype("f")
Y = rng.randint(0, 3, 8)
for stage in range(2):
    with tf.Graph().as_default():
        x = tf.constant(X)
        y = tf.constant(Y)
        logits, eps = net(x, True, 3 + stage)
        logits = tf.squeeze(logits, [1, 2])
        slim.losses.softmax_cross_entropy(
            logits, slim.one_hot_encoding(y, 3 + stage), label_smoothing=0.1
        )
        total = slim.losses.get_total_loss()
        gs = slim.get_or_create_global_step()
        opt = tf.train.MomentumOptimizer(0.05, 0.9)
        ms = (
            tf.contrib.opt.MovingAverageOptimizer(opt, 0.9, sequential_update=True)
            if stage
            else opt
        )
        op = slim.learning.create_train_op(
            total,
            ms,
            global_step=gs,
            variables_to_train=slim.get_trainable_variables("resnet_v1_tiny/logits")
            if stage
            else None,
            gradient_multipliers={"resnet_v1_tiny/logits/weights": 2.0} if not stage else None,
            summarize_gradients=True,
        )
        for v in slim.get_model_variables():
            slim.summaries.add_histogram_summary(v) if hasattr(
                slim, "summaries"
            ) else tf.summary.histogram(v.op.name, v)
        last = slim.learning.train(
            op,
            d + str(stage),
            number_of_steps=6,
            log_every_n_steps=2,
            save_summaries_secs=1,
            init_fn=get_init_fn(tf.train.latest_checkpoint(d + "0")) if stage else None,
            saver=ms.swapping_saver() if stage else tf.train.Saver(),
            session_config=tf.ConfigProto(),
        )
        print(last, sorted(eps)[:2])
with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [1, 64, 64, 3])
    with slim.arg_scope(inception_v1.inception_v1_arg_scope()):
        n, e = inception_v1.inception_v1_base(x, final_endpoint="Mixed_3b")
    with slim.arg_scope(vgg.vgg_arg_scope()):
        v, _ = vgg.vgg_a(
            tf.placeholder(tf.float32, [1, 224, 224, 3]),
            5,
            is_training=False,
            dropout_keep_prob=1.0,
        )
    with slim.arg_scope(resnet_v2.resnet_arg_scope()):
        r, re = resnet_v2.resnet_v2_50(x, 7, is_training=False, output_stride=16, global_pool=False)
    a, _ = alexnet.alexnet_v2(tf.placeholder(tf.float32, [1, 224, 224, 3]), 4)
    print(
        n.shape,
        v.shape,
        r.shape,
        a.shape,
        len(slim.get_variables()),
        slim.model_analyzer.tensor_description(x),
    )
with tf.Graph().as_default():
    logits, _ = net(tf.constant(X), False, 3)
    logits = tf.squeeze(logits, [1, 2])
    names, ups = slim.metrics.aggregate_metric_map(
        {
            "acc": slim.metrics.streaming_accuracy(tf.argmax(logits, 1), tf.constant(Y)),
            "r2": slim.metrics.streaming_sparse_recall_at_k(logits, tf.constant(Y)[:, None], 2),
        }
    )
    print(
        slim.evaluation.evaluate_once(
            "",
            tf.train.latest_checkpoint(d + "0"),
            d + "e",
            num_evals=2,
            eval_op=list(ups.values()),
            final_op=list(names.values()),
        )
    )
