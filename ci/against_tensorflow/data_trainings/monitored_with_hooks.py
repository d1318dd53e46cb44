"""A monitored training on a dataset in the TABLE_INITIALIZERS, with hooks and summaries."""

import os
import tempfile

import numpy as np
import tensorflow as tf

FOLDER = tempfile.mkdtemp()
rng = np.random.RandomState(1)


class IteratorInitializerHook(tf.train.SessionRunHook):
    def __init__(self):
        self.iterator_initializer_func = None

    def after_create_session(self, session, coord):
        self.iterator_initializer_func(session)


class LossPrinter(tf.train.SessionRunHook):
    def before_run(self, run_context):
        return tf.train.SessionRunArgs({"loss": loss, "step": tf.train.get_global_step()})

    def after_run(self, run_context, run_values):
        print("step %d loss %.8g" % (run_values.results["step"], run_values.results["loss"]))


features = tf.placeholder(tf.float32, [None, 3])
hook = IteratorInitializerHook()
dataset = tf.data.Dataset.from_tensor_slices(features)
dataset = dataset.map(lambda row: (row[:2], row[2:])).shuffle(64, seed=6).repeat().batch(8)
iterator = dataset.make_initializable_iterator()
data = rng.rand(64, 3)
hook.iterator_initializer_func = lambda session: session.run(
    iterator.initializer, feed_dict={features: data}
)
x, y = iterator.get_next()
prediction = tf.layers.dense(x, 1, kernel_initializer=tf.zeros_initializer())
loss = tf.losses.mean_squared_error(y, prediction)
tf.summary.scalar("loss", loss)
step = tf.train.get_or_create_global_step()
train_op = tf.train.ProximalGradientDescentOptimizer(0.1).minimize(loss, step)
hooks = [hook, LossPrinter(), tf.train.StopAtStepHook(last_step=15)]
with tf.train.MonitoredTrainingSession(
    checkpoint_dir=FOLDER, hooks=hooks, save_checkpoint_steps=5, log_step_count_steps=10
) as sess:
    while not sess.should_stop():
        sess.run(train_op)
hooks[-1] = tf.train.StopAtStepHook(last_step=25)
with tf.train.MonitoredTrainingSession(checkpoint_dir=FOLDER, hooks=hooks) as sess:
    while not sess.should_stop():
        sess.run(train_op)
print("files loss %d" % len([f for f in os.listdir(FOLDER) if f.endswith(".index")]))
