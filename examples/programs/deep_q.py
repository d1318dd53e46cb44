"""Deep Q-learning: a replay memory, a target network that is copied over, Huber's loss."""

import random
from collections import deque

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

STATES, ACTIONS, GAMMA = 8, 3, 0.95


class Chain(object):
    """A line of places; the last one pays."""

    def reset(self):
        self.place = 0
        return self.observe()

    def observe(self):
        return np.eye(STATES, dtype=np.float32)[self.place]

    def step(self, action):
        self.place = min(max(self.place + action - 1, 0), STATES - 1)
        done = self.place == STATES - 1
        return self.observe(), 1.0 if done else -0.01, done


def network(states, scope):
    with tf.variable_scope(scope):
        init = tf.truncated_normal_initializer(stddev=0.2, seed=13)
        hidden = tf.layers.dense(states, 24, activation=tf.nn.relu, kernel_initializer=init)
        hidden = tf.layers.dense(hidden, 24, activation=tf.nn.relu, kernel_initializer=init)
        return tf.layers.dense(hidden, ACTIONS, kernel_initializer=init)


class DQN(object):
    def __init__(self, sess):
        self.sess = sess
        self.states = tf.placeholder(tf.float32, [None, STATES], name="states")
        self.next_states = tf.placeholder(tf.float32, [None, STATES], name="next_states")
        self.actions = tf.placeholder(tf.int32, [None], name="actions")
        self.rewards = tf.placeholder(tf.float32, [None], name="rewards")
        self.dones = tf.placeholder(tf.float32, [None], name="dones")
        self.q = network(self.states, "q")
        target_q = network(self.next_states, "target")
        best = tf.reduce_max(target_q, axis=1)
        y = tf.stop_gradient(self.rewards + GAMMA * (1.0 - self.dones) * best)
        index = tf.stack([tf.range(tf.shape(self.actions)[0]), self.actions], axis=1)
        self.loss = tf.losses.huber_loss(y, tf.gather_nd(self.q, index))
        q_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="q/")
        target_vars = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="target/")
        self.copy = tf.group(*[t.assign(s) for t, s in zip(target_vars, q_vars)])
        self.train = tf.train.RMSPropOptimizer(0.005).minimize(self.loss, var_list=q_vars)

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(ACTIONS)
        return int(np.argmax(self.sess.run(self.q, {self.states: [state]})[0]))

    def learn(self, batch):
        states, actions, rewards, next_states, dones = map(np.array, zip(*batch))
        feed = {
            self.states: states, self.actions: actions, self.rewards: rewards,
            self.next_states: next_states, self.dones: dones,
        }  # fmt: skip
        return self.sess.run([self.loss, self.train], feed)[0]


random.seed(5)
tf.set_random_seed(5)
env, memory = Chain(), deque(maxlen=500)
with tf.Session() as sess:
    agent = DQN(sess)
    sess.run(tf.global_variables_initializer())
    state, learned = env.reset(), 0
    while learned < 20:
        action = agent.act(state, epsilon=0.9)
        next_state, reward, done = env.step(action)
        memory.append((state, action, reward, next_state, float(done)))
        state = env.reset() if done else next_state
        if len(memory) >= 40:
            if learned % 5 == 0:
                sess.run(agent.copy)
            print("step %d loss %.9g" % (learned, agent.learn(random.sample(memory, 32))))
            learned += 1
