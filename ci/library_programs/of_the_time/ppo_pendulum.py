"""Proximal policy optimization with tf.distributions."""

import tempfile
import tensorflow as tf
import numpy as np

EP_MAX, EP_LEN, GAMMA, A_LR, C_LR, BATCH = 4, 40, 0.9, 0.0001, 0.0002, 16
A_UPDATE_STEPS = C_UPDATE_STEPS = 5
S_DIM, A_DIM = 3, 1
METHOD = [dict(name="kl_pen", kl_target=0.01, lam=0.5), dict(name="clip", epsilon=0.2)][1]


class PPO(object):
    def __init__(self):
        self.sess = tf.Session()
        self.tfs = tf.placeholder(tf.float32, [None, S_DIM], "state")
        with tf.variable_scope("critic"):
            l1 = tf.layers.dense(self.tfs, 100, tf.nn.relu)
            self.v = tf.layers.dense(l1, 1)
            self.tfdc_r = tf.placeholder(tf.float32, [None, 1], "discounted_r")
            self.advantage = self.tfdc_r - self.v
            self.closs = tf.reduce_mean(tf.square(self.advantage))
            self.ctrain_op = tf.train.AdamOptimizer(C_LR).minimize(self.closs)
        pi, pi_params = self._build_anet("pi", trainable=True)
        oldpi, oldpi_params = self._build_anet("oldpi", trainable=False)
        with tf.variable_scope("sample_action"):
            self.sample_op = tf.squeeze(pi.sample(1), axis=0)
        with tf.variable_scope("update_oldpi"):
            self.update_oldpi_op = [oldp.assign(p) for p, oldp in zip(pi_params, oldpi_params)]
        self.tfa = tf.placeholder(tf.float32, [None, A_DIM], "action")
        self.tfadv = tf.placeholder(tf.float32, [None, 1], "advantage")
        with tf.variable_scope("loss"):
            with tf.variable_scope("surrogate"):
                ratio = pi.prob(self.tfa) / oldpi.prob(self.tfa)
                surr = ratio * self.tfadv
            if METHOD["name"] == "kl_pen":
                self.tflam = tf.placeholder(tf.float32, None, "lambda")
                kl = tf.distributions.kl_divergence(oldpi, pi)
                self.kl_mean = tf.reduce_mean(kl)
                self.aloss = -(tf.reduce_mean(surr - self.tflam * kl))
            else:
                self.aloss = -tf.reduce_mean(
                    tf.minimum(
                        surr,
                        tf.clip_by_value(ratio, 1.0 - METHOD["epsilon"], 1.0 + METHOD["epsilon"])
                        * self.tfadv,
                    )
                )
        with tf.variable_scope("atrain"):
            self.atrain_op = tf.train.AdamOptimizer(A_LR).minimize(self.aloss)
        tf.summary.FileWriter(tempfile.mkdtemp(), self.sess.graph)
        self.sess.run(tf.global_variables_initializer())

    def update(self, s, a, r):
        self.sess.run(self.update_oldpi_op)
        adv = self.sess.run(self.advantage, {self.tfs: s, self.tfdc_r: r})
        [
            self.sess.run(self.atrain_op, {self.tfs: s, self.tfa: a, self.tfadv: adv})
            for _ in range(A_UPDATE_STEPS)
        ]
        [
            self.sess.run(self.ctrain_op, {self.tfs: s, self.tfdc_r: r})
            for _ in range(C_UPDATE_STEPS)
        ]

    def _build_anet(self, name, trainable):
        with tf.variable_scope(name):
            l1 = tf.layers.dense(self.tfs, 100, tf.nn.relu, trainable=trainable)
            mu = 2 * tf.layers.dense(l1, A_DIM, tf.nn.tanh, trainable=trainable)
            sigma = tf.layers.dense(l1, A_DIM, tf.nn.softplus, trainable=trainable)
            norm_dist = tf.distributions.Normal(loc=mu, scale=sigma)
        params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope=name)
        return norm_dist, params

    def choose_action(self, s):
        s = s[np.newaxis, :]
        a = self.sess.run(self.sample_op, {self.tfs: s})[0]
        return np.clip(a, -2, 2)

    def get_v(self, s):
        if s.ndim < 2:
            s = s[np.newaxis, :]
        return self.sess.run(self.v, {self.tfs: s})[0, 0]


class Env:
    def reset(self):
        self.t = np.random.uniform(-np.pi, np.pi)
        self.w = 0.0
        return self._o()

    def _o(self):
        return np.array([np.cos(self.t), np.sin(self.t), self.w])

    def step(self, a):
        c = self.t**2 + 0.1 * self.w**2 + 0.001 * float(a[0]) ** 2
        self.w = np.clip(self.w + (-15 * np.sin(self.t + np.pi) + 3 * float(a[0])) * 0.05, -8, 8)
        self.t = (self.t + self.w * 0.05 + np.pi) % (2 * np.pi) - np.pi
        return self._o(), -c, False, {}


env = Env()
ppo = PPO()
all_ep_r = []
for ep in range(EP_MAX):
    s = env.reset()
    buffer_s, buffer_a, buffer_r = [], [], []
    ep_r = 0
    for t in range(EP_LEN):
        a = ppo.choose_action(s)
        s_, r, done, _ = env.step(a)
        buffer_s.append(s)
        buffer_a.append(a)
        buffer_r.append((r + 8) / 8)
        s = s_
        ep_r += r
        if (t + 1) % BATCH == 0 or t == EP_LEN - 1:
            v_s_ = ppo.get_v(s_)
            discounted_r = []
            for r in buffer_r[::-1]:
                v_s_ = r + GAMMA * v_s_
                discounted_r.append(v_s_)
            discounted_r.reverse()
            bs, ba, br = (
                np.vstack(buffer_s),
                np.vstack(buffer_a),
                np.array(discounted_r)[:, np.newaxis],
            )
            buffer_s, buffer_a, buffer_r = [], [], []
            ppo.update(bs, ba, br)
    print(
        "Ep: %i" % ep,
        "|Ep_r: %i" % ep_r,
        ("|Lam: %.4f" % METHOD["lam"]) if METHOD["name"] == "kl_pen" else "",
    )
