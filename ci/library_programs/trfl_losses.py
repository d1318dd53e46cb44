"""trfl: Q-learning and lambda returns against their formulas."""
import numpy as np
import tensorflow as tf
import trfl

q, a = tf.constant([[1.0, 2.0]]), tf.constant([0])
loss, extra = trfl.qlearning(q, a, tf.constant([1.0]), tf.constant([0.9]), tf.constant([[0.5, 3.0]]))
with tf.Session() as session:
    np.testing.assert_allclose(session.run(extra.td_error), [1.0 + 0.9 * 3.0 - 1.0], rtol=1e-6)
    np.testing.assert_allclose(session.run(loss), [0.5 * 2.7 ** 2], rtol=1e-6)
