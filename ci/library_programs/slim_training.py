"""tf-slim: arg_scope, layers with batch normalization, training, evaluation of the checkpoint."""
import tempfile

import numpy as np
import tensorflow as tf
import tf_slim as slim

random = np.random.RandomState(0)
images = random.rand(64, 8, 8, 1).astype(np.float32)
labels = (images.mean((1, 2, 3)) > 0.5).astype(np.int64)
folder = tempfile.mkdtemp()


def network(inputs, is_training):
    with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(1e-4)):
        with slim.arg_scope([slim.batch_norm], is_training=is_training, decay=0.9):
            net = slim.conv2d(inputs, 8, [3, 3], normalizer_fn=slim.batch_norm, scope='conv')
            net = slim.max_pool2d(net, [2, 2], scope='pool')
            return slim.fully_connected(slim.flatten(net), 2, activation_fn=None, scope='logits')


with tf.Graph().as_default():
    tf.set_random_seed(1)
    logits = network(tf.constant(images), True)
    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    total = tf.losses.get_total_loss()
    tf.summary.scalar('total', total)
    train_op = slim.learning.create_train_op(total, tf.train.AdamOptimizer(0.05))
    loss = slim.learning.train(train_op, folder, number_of_steps=40, log_every_n_steps=100)
    assert loss < 0.5, loss
with tf.Graph().as_default():
    logits = network(tf.constant(images), False)
    values, updates = slim.metrics.aggregate_metric_map(
        {'accuracy': slim.metrics.streaming_accuracy(tf.argmax(logits, 1), labels)}
    )
    result = slim.evaluation.evaluate_once(
        '', tf.train.latest_checkpoint(folder), tempfile.mkdtemp(), num_evals=2,
        eval_op=list(updates.values()), final_op=values,
    )
    assert 0.0 <= result['accuracy'] <= 1.0, result
