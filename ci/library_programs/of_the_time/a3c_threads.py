"""Actor-critic workers on threads, with a Coordinator."""

import multiprocessing, threading
import tensorflow as tf
import numpy as np

N_WORKERS = 2
GLOBAL_NET_SCOPE = "Global_Net"
UPDATE_GLOBAL_ITER, GAMMA, ENTROPY_BETA = 10, 0.9, 0.01
GLOBAL_RUNNING_R, GLOBAL_EP = [], 0
N_S, N_A, A_BOUND = 3, 1, [np.array([-2.0]), np.array([2.0])]


class ACNet(object):
    def __init__(self, scope, globalAC=None):
        if scope == GLOBAL_NET_SCOPE:
            with tf.variable_scope(scope):
                self.s = tf.placeholder(tf.float32, [None, N_S], "S")
                self.a_params, self.c_params = self._build_net(scope)[-2:]
        else:
            with tf.variable_scope(scope):
                self.s = tf.placeholder(tf.float32, [None, N_S], "S")
                self.a_his = tf.placeholder(tf.float32, [None, N_A], "A")
                self.v_target = tf.placeholder(tf.float32, [None, 1], "Vtarget")
                mu, sigma, self.v, self.a_params, self.c_params = self._build_net(scope)
                td = tf.subtract(self.v_target, self.v, name="TD_error")
                with tf.name_scope("c_loss"):
                    self.c_loss = tf.reduce_mean(tf.square(td))
                with tf.name_scope("wrap_a_out"):
                    mu, sigma = mu * A_BOUND[1], sigma + 1e-4
                normal_dist = tf.contrib.distributions.Normal(mu, sigma)
                with tf.name_scope("a_loss"):
                    log_prob = normal_dist.log_prob(self.a_his)
                    exp_v = log_prob * tf.stop_gradient(td)
                    entropy = normal_dist.entropy()
                    self.exp_v = ENTROPY_BETA * entropy + exp_v
                    self.a_loss = tf.reduce_mean(-self.exp_v)
                with tf.name_scope("choose_a"):
                    self.A = tf.clip_by_value(
                        tf.squeeze(normal_dist.sample(1), axis=0), A_BOUND[0], A_BOUND[1]
                    )
                with tf.name_scope("local_grad"):
                    self.a_grads = tf.gradients(self.a_loss, self.a_params)
                    self.c_grads = tf.gradients(self.c_loss, self.c_params)
            with tf.name_scope("sync"):
                with tf.name_scope("pull"):
                    self.pull_a_params_op = [
                        l_p.assign(g_p) for l_p, g_p in zip(self.a_params, globalAC.a_params)
                    ]
                    self.pull_c_params_op = [
                        l_p.assign(g_p) for l_p, g_p in zip(self.c_params, globalAC.c_params)
                    ]
                with tf.name_scope("push"):
                    self.update_a_op = OPT_A.apply_gradients(zip(self.a_grads, globalAC.a_params))
                    self.update_c_op = OPT_C.apply_gradients(zip(self.c_grads, globalAC.c_params))

    def _build_net(self, scope):
        w_init = tf.random_normal_initializer(0.0, 0.1)
        with tf.variable_scope("actor"):
            l_a = tf.layers.dense(self.s, 50, tf.nn.relu6, kernel_initializer=w_init, name="la")
            mu = tf.layers.dense(l_a, N_A, tf.nn.tanh, kernel_initializer=w_init, name="mu")
            sigma = tf.layers.dense(
                l_a, N_A, tf.nn.softplus, kernel_initializer=w_init, name="sigma"
            )
        with tf.variable_scope("critic"):
            l_c = tf.layers.dense(self.s, 50, tf.nn.relu6, kernel_initializer=w_init, name="lc")
            v = tf.layers.dense(l_c, 1, kernel_initializer=w_init, name="v")
        a_params = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope=scope + "/actor")
        c_params = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope=scope + "/critic")
        return mu, sigma, v, a_params, c_params

    def update_global(self, feed_dict):
        SESS.run([self.update_a_op, self.update_c_op], feed_dict)

    def pull_global(self):
        SESS.run([self.pull_a_params_op, self.pull_c_params_op])

    def choose_action(self, s):
        return SESS.run(self.A, {self.s: s[np.newaxis, :]})[0]


class Worker(object):
    def __init__(self, name, globalAC):
        self.name = name
        self.AC = ACNet(name, globalAC)
        self.rng = np.random.RandomState(len(name))

    def work(self):
        global GLOBAL_RUNNING_R, GLOBAL_EP
        total_step = 1
        while not COORD.should_stop() and GLOBAL_EP < 6:
            s = self.rng.randn(3)
            bs, ba, br = [], [], []
            for t in range(20):
                a = self.AC.choose_action(s)
                s_ = 0.9 * s + 0.1 * float(a[0])
                r = -float((s**2).sum())
                bs.append(s)
                ba.append(a)
                br.append((r + 8) / 8)
                if total_step % UPDATE_GLOBAL_ITER == 0:
                    v_s_ = SESS.run(self.AC.v, {self.AC.s: s_[np.newaxis, :]})[0, 0]
                    tgt = []
                    for r in br[::-1]:
                        v_s_ = r + GAMMA * v_s_
                        tgt.append(v_s_)
                    tgt.reverse()
                    self.AC.update_global(
                        {
                            self.AC.s: np.vstack(bs),
                            self.AC.a_his: np.vstack(ba),
                            self.AC.v_target: np.vstack(tgt),
                        }
                    )
                    bs, ba, br = [], [], []
                    self.AC.pull_global()
                s = s_
                total_step += 1
            GLOBAL_EP += 1
            GLOBAL_RUNNING_R.append(r)


SESS = tf.Session()
with tf.device("/cpu:0"):
    OPT_A = tf.train.RMSPropOptimizer(1e-3, name="RMSPropA")
    OPT_C = tf.train.RMSPropOptimizer(1e-3, name="RMSPropC")
    GLOBAL_AC = ACNet(GLOBAL_NET_SCOPE)
    workers = [Worker("W_%i" % i, GLOBAL_AC) for i in range(N_WORKERS)]
COORD = tf.train.Coordinator()
SESS.run(tf.global_variables_initializer())
threads = []
for worker in workers:
    t = threading.Thread(target=lambda w=worker: w.work())
    t.start()
    threads.append(t)
COORD.join(threads)
print(len(GLOBAL_RUNNING_R), multiprocessing.cpu_count() > 0)
