"""tensorflow-privacy's DP optimizers, tensorflow-ranking's losses, neural-structured-learning's regularizers."""
import neural_structured_learning as nsl
import numpy as np
import tensorflow as tf
import tensorflow_ranking as tfr
from tensorflow_privacy.privacy.analysis.rdp_accountant import compute_rdp, get_privacy_spent
from tensorflow_privacy.privacy.optimizers.dp_optimizer import DPAdamGaussianOptimizer, DPGradientDescentGaussianOptimizer

random = np.random.RandomState(0)
x = tf.constant(random.randn(32, 4), tf.float32)
y = tf.constant(random.randint(0, 2, 32))
logits = tf.layers.dense(x, 2, name='net')
losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
private = DPGradientDescentGaussianOptimizer(l2_norm_clip=1.0, noise_multiplier=0.1, num_microbatches=8, learning_rate=0.5)
step = private.minimize(losses, global_step=tf.train.get_or_create_global_step())
adam = DPAdamGaussianOptimizer(l2_norm_clip=1.0, noise_multiplier=0.1, num_microbatches=8, learning_rate=0.05)
step_2 = adam.minimize(losses)
scores = tf.layers.dense(tf.constant(random.randn(5, 6, 3), tf.float32), 1, name='rank')[:, :, 0]
relevance = tf.constant(random.randint(0, 3, (5, 6)), tf.float32)
loss_fn = tfr.losses.make_loss_fn(tfr.losses.RankingLossKey.PAIRWISE_LOGISTIC_LOSS)
ranking = loss_fn(relevance, scores, {})
rank_step = tf.train.AdamOptimizer(0.05).minimize(ranking)
ndcg, update = tfr.metrics.normalized_discounted_cumulative_gain(relevance, scores, topn=3)
neighbor = nsl.lib.pairwise_distance_wrapper(logits, logits + 1.0, distance_config=nsl.configs.DistanceConfig('l2'))
with tf.Session() as session:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    first, first_rank = session.run([tf.reduce_mean(losses), ranking])
    for _ in range(20):
        session.run([step, rank_step])
        session.run(step_2)
    last, last_rank = session.run([tf.reduce_mean(losses), ranking])
    assert last < first and last_rank < first_rank
    assert 0 < session.run(update) <= 1
    np.testing.assert_allclose(session.run(neighbor), 1.0, rtol=1e-5)
rdp = compute_rdp(0.01, 1.1, 1000, [2, 4, 8, 16, 32])
assert get_privacy_spent([2, 4, 8, 16, 32], rdp, target_delta=1e-5)[0] > 0
base = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(4,), activation='softmax')])
