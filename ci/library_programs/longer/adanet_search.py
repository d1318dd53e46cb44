"""adanet: an ensemble grown from subnetworks, by its estimator."""
import tempfile

import adanet
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
random = np.random.RandomState(0)
x = random.randn(64, 2).astype(np.float32)
y = (x[:, :1] * x[:, 1:]).astype(np.float32)


class Builder(adanet.subnetwork.Builder):
    def __init__(self, layers):
        self._layers = layers

    def build_subnetwork(self, features, logits_dimension, training, iteration_step, summary, previous_ensemble=None):
        net = features['x']
        for _ in range(self._layers):
            net = tf.layers.dense(net, 8, tf.nn.relu)
        logits = tf.layers.dense(net, logits_dimension)
        summary.scalar('layers', tf.constant(float(self._layers)))
        return adanet.Subnetwork(net, logits, complexity=tf.sqrt(float(self._layers)), persisted_tensors={}, shared={'layers': self._layers})

    def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels, iteration_step, summary, previous_ensemble):
        return tf.train.AdamOptimizer(0.02).minimize(loss, var_list=var_list)

    def build_mixture_weights_train_op(self, loss, var_list, logits, labels, iteration_step, summary):
        return tf.no_op('mixture')

    @property
    def name(self):
        return '%d_layer' % self._layers


class Generator(adanet.subnetwork.Generator):
    def generate_candidates(self, previous_ensemble, iteration_number, previous_ensemble_reports, all_reports):
        return [Builder(1), Builder(2)]


def inputs():
    return tf.data.Dataset.from_tensor_slices(({'x': x}, y)).repeat().batch(32)


estimator = adanet.Estimator(
    head=tf.contrib.estimator.regression_head(loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE),
    subnetwork_generator=Generator(), max_iteration_steps=30, adanet_lambda=0.01,
    evaluator=adanet.Evaluator(inputs, steps=2), config=tf.estimator.RunConfig(tempfile.mkdtemp(), tf_random_seed=1))
estimator.train(inputs, max_steps=60)
scores = estimator.evaluate(inputs, steps=2)
assert scores['average_loss'] < 1.0 and scores['global_step'] == 60, scores
