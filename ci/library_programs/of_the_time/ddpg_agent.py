"""Deterministic policy gradients with tf.contrib.layers."""

import tensorflow as tf
import numpy as np
import tensorflow.contrib.layers as tcl

S, A = 4, 2


class Actor:
    def __init__(self, sess, tau=0.01):
        self.sess = sess
        self.inputs, self.out = self.net()
        self.params = tf.trainable_variables()
        self.t_inputs, self.t_out = self.net()
        self.t_params = tf.trainable_variables()[len(self.params) :]
        self.update_target = [
            self.t_params[i].assign(
                tf.multiply(self.params[i], tau) + tf.multiply(self.t_params[i], 1.0 - tau)
            )
            for i in range(len(self.t_params))
        ]
        self.action_gradient = tf.placeholder(tf.float32, [None, A])
        un = tf.gradients(self.out, self.params, -self.action_gradient)
        self.grads = list(map(lambda x: tf.div(x, 16), un))
        self.optimize = tf.train.AdamOptimizer(1e-3).apply_gradients(zip(self.grads, self.params))
        self.n = len(self.params) + len(self.t_params)

    def net(self):
        x = tf.placeholder(tf.float32, [None, S])
        net = tcl.fully_connected(
            x,
            40,
            activation_fn=None,
            weights_initializer=tcl.variance_scaling_initializer(
                factor=1.0, mode="FAN_IN", uniform=True
            ),
        )
        net = tcl.layer_norm(net, center=True, scale=True, activation_fn=tf.nn.relu)
        net = tcl.fully_connected(
            net,
            30,
            activation_fn=tf.nn.elu,
            normalizer_fn=tcl.batch_norm,
            normalizer_params={"is_training": True, "updates_collections": None},
        )
        out = tcl.fully_connected(
            net,
            A,
            activation_fn=tf.tanh,
            weights_initializer=tf.random_uniform_initializer(-0.003, 0.003),
        )
        return x, tf.multiply(out, 2.0)


class Critic:
    def __init__(self, sess, n_actor):
        self.sess = sess
        self.x, self.a, self.out = self.net()
        self.params = tf.trainable_variables()[n_actor:]
        self.q = tf.placeholder(tf.float32, [None, 1])
        self.loss = tf.losses.mean_squared_error(self.q, self.out) + tcl.apply_regularization(
            tcl.l2_regularizer(1e-2),
            [p for p in self.params if "weights" in p.name or "kernel" in p.name],
        )
        self.opt = tcl.optimize_loss(
            self.loss,
            None,
            learning_rate=1e-2,
            optimizer="Adam",
            clip_gradients=5.0,
            variables=self.params,
            summaries=["loss", "gradient_norm"],
        )
        self.action_grads = tf.gradients(self.out, self.a)

    def net(self):
        x = tf.placeholder(tf.float32, [None, S])
        a = tf.placeholder(tf.float32, [None, A])
        h1 = tf.layers.dense(x, 40, tf.nn.relu)
        with tf.variable_scope("combine"):
            w1 = tf.get_variable("w1", [40, 30])
            w2 = tf.get_variable("w2", [A, 30])
            b = tf.get_variable("b", [30], initializer=tf.constant_initializer(0.1))
        net = tf.nn.relu(tf.nn.xw_plus_b(h1, w1, b) + tf.matmul(a, w2))
        return (
            x,
            a,
            tf.layers.dense(net, 1, kernel_initializer=tf.initializers.random_uniform(-3e-3, 3e-3)),
        )


def build_summaries():
    episode_reward = tf.Variable(0.0)
    tf.summary.scalar("Reward", episode_reward)
    return tf.summary.merge_all(), [episode_reward]


with tf.Session() as sess:
    np.random.seed(1)
    tf.set_random_seed(1)
    actor = Actor(sess)
    critic = Critic(sess, actor.n)
    summ, [er] = build_summaries()
    sess.run(tf.global_variables_initializer())
    for i in range(30):
        s = np.random.randn(16, S)
        a = sess.run(actor.out, {actor.inputs: s})
        q, _ = sess.run(
            [critic.out, critic.opt],
            {critic.x: s, critic.a: a, critic.q: -np.sum((a - s[:, :A]) ** 2, 1, keepdims=True)},
        )
        g = sess.run(critic.action_grads, {critic.x: s, critic.a: a})
        sess.run(actor.optimize, {actor.inputs: s, actor.action_gradient: g[0]})
        sess.run(actor.update_target)
    print(np.amax(q), len(sess.run(summ, {er: 1.0, critic.x: s, critic.a: a, critic.q: q})) > 10)
