"""tensor2tensor: a small Transformer, 20 steps on one batch."""
import numpy as np
import tensorflow as tf
from tensor2tensor.data_generators import problem_hparams
from tensor2tensor.models import transformer

hparams = transformer.transformer_small()
hparams.hidden_size, hparams.filter_size, hparams.num_heads = 16, 32, 2
hparams.num_hidden_layers, hparams.dropout, hparams.layer_prepostprocess_dropout = 1, 0.0, 0.0
p_hparams = problem_hparams.test_problem_hparams(9, 9, hparams)
hparams.problem_hparams = p_hparams
random = np.random.RandomState(0)
inputs = tf.constant(random.randint(1, 9, (3, 6, 1, 1)), tf.int32)
targets = tf.constant(random.randint(1, 9, (3, 5, 1, 1)), tf.int32)
model = transformer.Transformer(hparams, tf.estimator.ModeKeys.TRAIN, p_hparams)
logits, _ = model({'inputs': inputs, 'targets': targets, 'target_space_id': tf.constant(1, tf.int32)})
loss = tf.reduce_mean(
    tf.nn.sparse_softmax_cross_entropy_with_logits(
        logits=tf.reshape(logits, [-1, 9]), labels=tf.reshape(targets, [-1])
    )
)
step = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    first = session.run(loss)
    for _ in range(20):
        session.run(step)
    assert session.run(loss) < first
