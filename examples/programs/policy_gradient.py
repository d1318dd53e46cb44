"""Policy gradients with a baseline: actions are drawn in the graph, returns are fed."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(9)
np.random.seed(9)


class CartLike(object):
    """A pole that falls to one side unless it is pushed."""

    def reset(self):
        self.state = np.random.uniform(-0.05, 0.05, size=4)
        return self.state

    def step(self, action):
        x, v, angle, turn = self.state
        push = 1.0 if action else -1.0
        v, turn = v + 0.02 * push, turn + 0.3 * angle - 0.03 * push
        self.state = np.array([x + 0.1 * v, v, angle + 0.1 * turn, turn])
        return self.state, 1.0, bool(abs(self.state[2]) > 0.2 or abs(self.state[0]) > 2.4)


def discount(rewards, gamma=0.99):
    total, result = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        result.insert(0, total)
    return np.array(result)


observations = tf.placeholder(tf.float32, [None, 4], name="observations")
chosen = tf.placeholder(tf.int32, [None], name="actions")
returns = tf.placeholder(tf.float32, [None], name="returns")

initializer = tf.glorot_uniform_initializer(seed=3)
with tf.variable_scope("policy", initializer=initializer):
    hidden = tf.layers.dense(observations, 16, activation=tf.tanh)
    logits = tf.layers.dense(hidden, 2)
with tf.variable_scope("baseline", initializer=initializer):
    value = tf.squeeze(tf.layers.dense(tf.layers.dense(observations, 16, tf.nn.relu), 1), axis=1)

action = tf.squeeze(tf.multinomial(logits, 1, seed=17), axis=1)
negative_log = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=chosen, logits=logits)
probabilities = tf.nn.softmax(logits)
entropy = -tf.reduce_sum(probabilities * tf.log(probabilities + 1e-8), axis=1)
advantage = returns - tf.stop_gradient(value)
policy_loss = tf.reduce_mean(negative_log * advantage - 0.01 * entropy)
value_loss = tf.losses.mean_squared_error(labels=returns, predictions=value)
train_policy = tf.train.AdamOptimizer(0.02, name="AdamOfPolicy").minimize(
    policy_loss, var_list=tf.trainable_variables("policy")
)
with tf.control_dependencies([train_policy]):  # which reads the baseline before it changes
    train = tf.train.AdamOptimizer(0.02, name="AdamOfBaseline").minimize(
        value_loss, var_list=tf.trainable_variables("baseline")
    )

env = CartLike()
config = tf.ConfigProto(log_device_placement=False)
config.gpu_options.allow_growth = True
with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    for episode in range(20):
        states, actions, rewards, state, done = [], [], [], env.reset(), False
        while not done and len(states) < 60:
            picked = sess.run(action, feed_dict={observations: state.reshape(1, -1)})[0]
            states.append(state)
            actions.append(picked)
            state, reward, done = env.step(picked)
            rewards.append(reward)
        feed_dict = {observations: np.vstack(states), chosen: actions, returns: discount(rewards)}
        _, loss1, loss2 = sess.run([train, policy_loss, value_loss], feed_dict=feed_dict)
        print("step %d loss %.9g %.9g length %d" % (episode, loss1, loss2, len(rewards)))
