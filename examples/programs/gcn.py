"""A graph convolutional network: sparse features, sparse adjacency, dropout on sparse tensors."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

flags = tf.app.flags
FLAGS = flags.FLAGS
flags.DEFINE_float("learning_rate", 0.01, "Initial learning rate.")
flags.DEFINE_integer("hidden1", 16, "Number of units in hidden layer 1.")
flags.DEFINE_float("dropout", 0.5, "Dropout rate (1 - keep probability).")
flags.DEFINE_float("weight_decay", 5e-4, "Weight for L2 loss on embedding matrix.")

NODES, FEATURES, CLASSES = 60, 40, 4
_LAYER_UIDS = {}


def glorot(shape, seed, name=None):
    init_range = np.sqrt(6.0 / (shape[0] + shape[1]))
    initial = tf.random_uniform(
        shape, minval=-init_range, maxval=init_range, dtype=tf.float32, seed=seed
    )
    return tf.Variable(initial, name=name)


def sparse_dropout(x, keep_prob, noise_shape, seed):
    random_tensor = keep_prob
    random_tensor += tf.random_uniform(noise_shape, seed=seed)
    dropout_mask = tf.cast(tf.floor(random_tensor), dtype=tf.bool)
    pre_out = tf.sparse_retain(x, dropout_mask)
    return pre_out * (1.0 / keep_prob)


class GraphConvolution(object):
    def __init__(self, input_dim, output_dim, placeholders, seed, act, sparse_inputs=False):
        _LAYER_UIDS["layer"] = _LAYER_UIDS.get("layer", 0) + 1
        self.placeholders, self.seed, self.act = placeholders, seed, act
        self.sparse_inputs = sparse_inputs
        with tf.variable_scope("graphconvolution_%d_vars" % _LAYER_UIDS["layer"]):
            self.weights = glorot([input_dim, output_dim], seed, name="weights_0")

    def __call__(self, inputs):
        keep = 1 - self.placeholders["dropout"]
        if self.sparse_inputs:
            nonzero = self.placeholders["num_features_nonzero"]
            x = sparse_dropout(inputs, keep, nonzero, self.seed)
            pre_sup = tf.sparse_tensor_dense_matmul(x, self.weights)
        else:
            pre_sup = tf.matmul(tf.nn.dropout(inputs, keep, seed=self.seed), self.weights)
        return self.act(tf.sparse_tensor_dense_matmul(self.placeholders["support"], pre_sup))


def sparse_to_tuple(matrix):
    rows, columns = np.nonzero(matrix)
    return np.stack([rows, columns], 1), matrix[rows, columns].astype(np.float32), matrix.shape


def main(argv):
    random = np.random.RandomState(123)
    tf.set_random_seed(123)
    kinds = random.randint(CLASSES, size=NODES)
    chance = np.where(kinds[:, None] == kinds[None], 0.2, 0.02)
    adjacency = np.triu(random.rand(NODES, NODES) < chance, 1)
    adjacency = (adjacency + adjacency.T).astype(np.float64) + np.eye(NODES)
    scale = np.diag(adjacency.sum(1) ** -0.5)
    features = (random.rand(NODES, FEATURES) < 0.1) + np.eye(NODES, FEATURES)
    features = features / np.maximum(features.sum(1, keepdims=True), 1.0)
    placeholders = {
        "support": tf.sparse_placeholder(tf.float32),
        "features": tf.sparse_placeholder(tf.float32, shape=(NODES, FEATURES)),
        "labels": tf.placeholder(tf.float32, shape=(None, CLASSES)),
        "labels_mask": tf.placeholder(tf.int32),
        "dropout": tf.placeholder_with_default(0.0, shape=()),
        "num_features_nonzero": tf.placeholder(tf.int32, shape=(1,)),
    }
    first = GraphConvolution(FEATURES, FLAGS.hidden1, placeholders, 31, tf.nn.relu, True)
    second = GraphConvolution(FLAGS.hidden1, CLASSES, placeholders, 32, lambda x: x)
    outputs = second(first(placeholders["features"]))
    loss = FLAGS.weight_decay * tf.nn.l2_loss(first.weights)
    crossent = tf.nn.softmax_cross_entropy_with_logits(
        logits=outputs, labels=placeholders["labels"]
    )
    mask = tf.cast(placeholders["labels_mask"], dtype=tf.float32)
    mask /= tf.reduce_mean(mask)
    loss += tf.reduce_mean(crossent * mask)
    opt_op = tf.train.AdamOptimizer(learning_rate=FLAGS.learning_rate).minimize(loss)
    indices, values, shape = sparse_to_tuple(features)
    feed_dict = {
        placeholders["support"]: sparse_to_tuple(scale.dot(adjacency).dot(scale)),
        placeholders["features"]: (indices, values, shape),
        placeholders["labels"]: np.eye(CLASSES)[kinds],
        placeholders["labels_mask"]: np.arange(NODES) % 3 == 0,
        placeholders["num_features_nonzero"]: [len(values)],
        placeholders["dropout"]: FLAGS.dropout,
    }
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    for epoch in range(20):
        outs = sess.run([opt_op, loss], feed_dict=feed_dict)
        print("step %d loss %.9g" % (epoch, outs[1]))
    sess.close()


if __name__ == "__main__":
    tf.app.run()
