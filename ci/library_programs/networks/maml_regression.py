"""Meta-learning: gradients of gradients in tf.map_fn."""

import tensorflow as tf, numpy as np
from tensorflow.python.platform import flags
from tensorflow.contrib.layers.python import layers as tf_layers

FLAGS = flags.FLAGS
flags.DEFINE_integer("meta_batch_size", 4, "tasks")
flags.DEFINE_float("update_lr", 1e-2, "a")
flags.DEFINE_integer("num_updates", 2, "n")
flags.DEFINE_bool("stop_grad", False, "s")
flags.DEFINE_string("norm", "None", "n")


def mse(pred, label):
    pred = tf.reshape(pred, [-1])
    label = tf.reshape(label, [-1])
    return tf.reduce_mean(tf.square(pred - label))


def normalize(inp, activation, reuse, scope):
    if FLAGS.norm == "batch_norm":
        return tf_layers.batch_norm(inp, activation_fn=activation, reuse=reuse, scope=scope)
    elif FLAGS.norm == "layer_norm":
        return tf_layers.layer_norm(inp, activation_fn=activation, reuse=reuse, scope=scope)
    return activation(inp) if activation is not None else inp


class MAML:
    def __init__(self):
        self.dim_hidden = [20, 20]
        self.meta_lr = tf.placeholder_with_default(1e-3, ())

    def construct_weights(self):
        w = {}
        w["w1"] = tf.Variable(tf.truncated_normal([1, 20], stddev=0.01))
        w["b1"] = tf.Variable(tf.zeros([20]))
        w["w2"] = tf.Variable(tf.truncated_normal([20, 20], stddev=0.1))
        w["b2"] = tf.Variable(tf.zeros([20]))
        w["w3"] = tf.Variable(tf.truncated_normal([20, 1], stddev=0.1))
        w["b3"] = tf.Variable(tf.zeros([1]))
        return w

    def forward(self, inp, w, reuse=False):
        h = normalize(tf.matmul(inp, w["w1"]) + w["b1"], tf.nn.relu, reuse, "0")
        h = normalize(tf.matmul(h, w["w2"]) + w["b2"], tf.nn.relu, reuse, "1")
        return tf.matmul(h, w["w3"]) + w["b3"]

    def construct(self, inputs):
        self.inputa, self.inputb, self.labela, self.labelb = inputs
        with tf.variable_scope("model", reuse=None) as training_scope:
            if "weights" in dir(self):
                training_scope.reuse_variables()
                weights = self.weights
            else:
                self.weights = weights = self.construct_weights()

            def task_metalearn(inp, reuse=True):
                inputa, inputb, labela, labelb = inp
                outb, lossb = [], []
                outa = self.forward(inputa, weights, reuse=reuse)
                lossa = mse(outa, labela)
                grads = tf.gradients(lossa, list(weights.values()))
                if FLAGS.stop_grad:
                    grads = [tf.stop_gradient(g) for g in grads]
                gradients = dict(zip(weights.keys(), grads))
                fast = dict(
                    zip(
                        weights.keys(),
                        [weights[k] - FLAGS.update_lr * gradients[k] for k in weights.keys()],
                    )
                )
                o = self.forward(inputb, fast, reuse=True)
                outb.append(o)
                lossb.append(mse(o, labelb))
                for j in range(FLAGS.num_updates - 1):
                    loss = mse(self.forward(inputa, fast, reuse=True), labela)
                    grads = tf.gradients(loss, list(fast.values()))
                    gradients = dict(zip(fast.keys(), grads))
                    fast = dict(
                        zip(
                            fast.keys(),
                            [fast[k] - FLAGS.update_lr * gradients[k] for k in fast.keys()],
                        )
                    )
                    o = self.forward(inputb, fast, reuse=True)
                    outb.append(o)
                    lossb.append(mse(o, labelb))
                return [outa, outb, lossa, lossb]

            if FLAGS.norm is not "None":
                unused = task_metalearn(
                    (self.inputa[0], self.inputb[0], self.labela[0], self.labelb[0]), False
                )
            out_dtype = [
                tf.float32,
                [tf.float32] * FLAGS.num_updates,
                tf.float32,
                [tf.float32] * FLAGS.num_updates,
            ]
            result = tf.map_fn(
                task_metalearn,
                elems=(self.inputa, self.inputb, self.labela, self.labelb),
                dtype=out_dtype,
                parallel_iterations=FLAGS.meta_batch_size,
            )
            outas, outbs, lossesa, lossesb = result
        self.total_loss1 = tf.reduce_sum(lossesa) / tf.to_float(FLAGS.meta_batch_size)
        self.total_losses2 = [
            tf.reduce_sum(lossesb[j]) / tf.to_float(FLAGS.meta_batch_size)
            for j in range(FLAGS.num_updates)
        ]
        self.pretrain_op = tf.train.AdamOptimizer(self.meta_lr).minimize(self.total_loss1)
        optimizer = tf.train.AdamOptimizer(self.meta_lr)
        self.gvs = optimizer.compute_gradients(self.total_losses2[FLAGS.num_updates - 1])
        self.metatrain_op = optimizer.apply_gradients(self.gvs)
        tf.summary.scalar("pre", self.total_loss1)
        for j in range(FLAGS.num_updates):
            tf.summary.scalar("post %d" % (j + 1), self.total_losses2[j])


def main():
    ph = [tf.placeholder(tf.float32, [4, 10, 1]) for _ in range(4)]
    m = MAML()
    m.construct(ph)
    summ = tf.summary.merge_all()
    saver = tf.train.Saver(tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES), max_to_keep=10)
    sess = tf.InteractiveSession()
    tf.global_variables_initializer().run()
    tf.train.start_queue_runners()
    np.random.seed(0)
    for it in range(20):
        amp = np.random.uniform(0.1, 5, (4, 1, 1))
        ph_ = np.random.uniform(0, np.pi, (4, 1, 1))
        xa, xb = np.random.uniform(-5, 5, (2, 4, 10, 1))
        r = sess.run(
            [m.metatrain_op, summ, m.total_loss1, m.total_losses2],
            {
                ph[0]: xa,
                ph[1]: xb,
                ph[2]: amp * np.sin(xa - ph_),
                ph[3]: amp * np.sin(xb - ph_),
                m.meta_lr: 0.001,
            },
        )
    print(r[2], r[3])


if __name__ == "__main__":
    main()
