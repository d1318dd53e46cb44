"""dm-sonnet: custom modules, custom cores, residual and deep RNNs, conv nets, VQ-VAE, custom getters."""
import tempfile

import numpy as np
import sonnet as snt
import tensorflow as tf


class Gated(snt.AbstractModule):
    def __init__(self, size, name='gated'):
        super(Gated, self).__init__(name=name)
        self._size = size
        with self._enter_variable_scope():
            self._gate = snt.Linear(size, name='gate', initializers={'w': tf.truncated_normal_initializer(0, 0.3)},
                                    regularizers={'w': tf.contrib.layers.l2_regularizer(1e-4)})

    def _build(self, inputs):
        out = snt.Linear(self._size, name='out')(inputs)
        return tf.sigmoid(self._gate(inputs)) * out


class Accumulator(snt.RNNCore):
    def __init__(self, name='accumulator'):
        super(Accumulator, self).__init__(name=name)

    def _build(self, inputs, state):
        decay = tf.get_variable('decay', shape=[], initializer=tf.constant_initializer(0.5))
        state = decay * state + tf.reduce_sum(inputs, 1, keepdims=True)
        return state, state

    @property
    def state_size(self):
        return tf.TensorShape([1])

    @property
    def output_size(self):
        return tf.TensorShape([1])


random = np.random.RandomState(0)
sequence = tf.constant(random.randn(6, 4, 3), tf.float32)
core = snt.DeepRNN([snt.LSTM(8), Gated(5), snt.GRU(4)], skip_connections=False, name='deep')
out, _ = tf.nn.dynamic_rnn(core, sequence, initial_state=core.initial_state(4, trainable=True), time_major=True)
counted, _ = tf.nn.dynamic_rnn(Accumulator(), sequence, initial_state=tf.zeros([4, 1]), time_major=True)
residual, _ = tf.nn.dynamic_rnn(snt.ResidualCore(snt.VanillaRNN(3)), sequence, dtype=tf.float32, time_major=True)
attention = snt.RelationalMemory(mem_slots=2, head_size=4, num_heads=1)
memory, _ = tf.nn.dynamic_rnn(
    attention, sequence, initial_state=attention.initial_state(4), time_major=True, dtype=tf.float32)
images = tf.constant(random.rand(4, 8, 8, 3), tf.float32)
net = snt.nets.ConvNet2D([8, 16], [3], [2], [snt.SAME], use_batch_norm=True)
features = net(images, is_training=True)
back = net.transpose()(features, is_training=True)
quantizer = snt.nets.VectorQuantizer(embedding_dim=16, num_embeddings=10, commitment_cost=0.25)
coded = quantizer(features, is_training=True)
ema = snt.nets.VectorQuantizerEMA(16, 10, 0.25, 0.9)(features, is_training=True)
norm = snt.LayerNorm()(snt.BatchFlatten()(features))
embedded = snt.Embed(10, 4)(tf.constant([1, 2, 3]))
logits = snt.Sequential([snt.BatchFlatten(), snt.Linear(10), tf.nn.relu, snt.Linear(2)])(images)
warped = snt.AffineGridWarper((8, 8), (8, 8))(tf.constant([[1.0, 0, 0, 0, 1, 0]]))
flat = snt.BatchApply(snt.Linear(2))(sequence)
loss = (
    tf.reduce_mean(tf.square(out[-1])) + tf.reduce_mean(tf.square(back - images)) + coded['loss'] + ema['loss']
    + tf.reduce_mean(tf.square(memory)) + tf.reduce_mean(tf.square(counted - 1.0)) + tf.reduce_mean(tf.square(residual))
    + tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=[0, 1, 0, 1]))
    + tf.reduce_mean(tf.square(flat)) + 0.0 * tf.reduce_mean(norm)
    + tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    step = tf.train.AdamOptimizer(0.01).minimize(loss)
clipped = snt.clip_gradient(loss, -1.0, 1.0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    first = session.run(loss)
    for _ in range(40):
        session.run(step)
    last = session.run(loss)
    assert last < first, (first, last)
    assert session.run(warped).shape == (1, 8, 8, 2) and session.run(embedded).shape == (3, 4)
    saver = tf.train.Saver(snt.get_variables_in_module(net))
    saver.save(session, tempfile.mkdtemp() + '/net')
    print(snt.format_variables(core.get_variables())[:60])
