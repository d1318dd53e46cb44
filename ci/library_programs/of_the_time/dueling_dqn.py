"""A dueling double deep Q network."""

import numpy as np, tensorflow as tf

np.random.seed(1)
tf.set_random_seed(1)


class DuelingDoubleDQN:
    def __init__(
        self, n_actions=3, n_features=4, lr=0.01, gamma=0.9, replace=20, memory=60, batch=16
    ):
        self.n_actions, self.n_features, self.gamma, self.replace, self.msize, self.batch = (
            n_actions,
            n_features,
            gamma,
            replace,
            memory,
            batch,
        )
        self.epsilon = 0
        self.learn_step = 0
        self.memory = np.zeros((memory, n_features * 2 + 2))
        self._build(lr)
        t = tf.get_collection("target_net_params")
        e = tf.get_collection("eval_net_params")
        self.replace_op = [tf.assign(t, e) for t, e in zip(t, e)]
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())
        self.cost_his = []

    def _net(self, s, c_names, w_i, b_i):
        with tf.variable_scope("l1"):
            w1 = tf.get_variable("w1", [self.n_features, 20], initializer=w_i, collections=c_names)
            b1 = tf.get_variable("b1", [1, 20], initializer=b_i, collections=c_names)
            l1 = tf.nn.relu(tf.matmul(s, w1) + b1)
        with tf.variable_scope("Value"):
            V = tf.matmul(
                l1, tf.get_variable("w2", [20, 1], initializer=w_i, collections=c_names)
            ) + tf.get_variable("b2", [1, 1], initializer=b_i, collections=c_names)
        with tf.variable_scope("Advantage"):
            A = tf.matmul(
                l1,
                tf.get_variable("w2", [20, self.n_actions], initializer=w_i, collections=c_names),
            ) + tf.get_variable("b2", [1, self.n_actions], initializer=b_i, collections=c_names)
        with tf.variable_scope("Q"):
            return V + (A - tf.reduce_mean(A, axis=1, keep_dims=True))

    def _build(self, lr):
        w_i, b_i = tf.random_normal_initializer(0.0, 0.3), tf.constant_initializer(0.1)
        self.s = tf.placeholder(tf.float32, [None, self.n_features], name="s")
        self.q_target = tf.placeholder(tf.float32, [None, self.n_actions], name="Q_target")
        self.isw = tf.placeholder(tf.float32, [None, 1])
        with tf.variable_scope("eval_net"):
            self.q_eval = self._net(
                self.s, ["eval_net_params", tf.GraphKeys.GLOBAL_VARIABLES], w_i, b_i
            )
        with tf.variable_scope("loss"):
            self.abs_errors = tf.reduce_sum(tf.abs(self.q_target - self.q_eval), axis=1)
            self.loss = tf.reduce_mean(self.isw * tf.squared_difference(self.q_target, self.q_eval))
            self.huber = tf.losses.huber_loss(
                self.q_target,
                self.q_eval,
                weights=self.isw,
                delta=1.0,
                reduction=tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS,
            )
        with tf.variable_scope("train"):
            self._train = tf.train.RMSPropOptimizer(lr).minimize(
                self.loss + self.huber, var_list=tf.get_collection("eval_net_params")
            )
        self.s_ = tf.placeholder(tf.float32, [None, self.n_features], name="s_")
        with tf.variable_scope("target_net"):
            self.q_next = self._net(
                self.s_, ["target_net_params", tf.GraphKeys.GLOBAL_VARIABLES], w_i, b_i
            )

    def learn(self):
        if self.learn_step % self.replace == 0:
            self.sess.run(self.replace_op)
        b = self.memory[np.random.choice(self.msize, self.batch), :]
        F = self.n_features
        qn, q4 = self.sess.run(
            [self.q_next, self.q_eval], feed_dict={self.s_: b[:, -F:], self.s: b[:, -F:]}
        )
        q = self.sess.run(self.q_eval, {self.s: b[:, :F]})
        t = q.copy()
        ix = np.arange(self.batch)
        a = b[:, F].astype(int)
        r = b[:, F + 1]
        t[ix, a] = r + self.gamma * qn[ix, np.argmax(q4, axis=1)]
        _, ae, c = self.sess.run(
            [self._train, self.abs_errors, self.loss],
            {self.s: b[:, :F], self.q_target: t, self.isw: np.ones((self.batch, 1))},
        )
        self.cost_his.append(c)
        self.learn_step += 1


d = DuelingDoubleDQN()
s = np.random.randn(4)
for i in range(120):
    a = np.random.randint(3)
    s_ = s * 0.9 + 0.1 * np.random.randn(4)
    d.memory[i % 60] = np.hstack((s, [a, -abs(s_[a])], s_))
    s = s_
    if i >= 60:
        d.learn()
print(d.cost_his[0], d.cost_his[-1])
