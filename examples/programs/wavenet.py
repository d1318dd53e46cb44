"""A small WaveNet: dilated causal convolutions, gated units, residuals and skips, mu-law."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

QUANTIZATION, RESIDUAL, SKIP, DILATIONS = 32, 16, 16, [1, 2, 4, 8]


def create_variable(name, shape, seed):
    initializer = tf.glorot_uniform_initializer(seed=seed)
    return tf.Variable(initializer(shape=shape), name=name)


def mu_law_encode(audio, quantization_channels):
    with tf.name_scope("encode"):
        mu = tf.to_float(quantization_channels - 1)
        safe_audio_abs = tf.minimum(tf.abs(audio), 1.0)
        magnitude = tf.log1p(mu * safe_audio_abs) / tf.log1p(mu)
        signal = tf.sign(audio) * magnitude
        return tf.to_int32((signal + 1) / 2 * mu + 0.5)


def causal_conv(value, filter_, dilation, name="causal_conv"):
    with tf.name_scope(name):
        filter_width = tf.shape(filter_)[0]
        padding = [[0, 0], [dilation * 1, 0], [0, 0]]
        padded = tf.pad(value, padding)
        with tf.control_dependencies([tf.assert_equal(filter_width, 2)]):
            return tf.nn.convolution(padded, filter_, "VALID", dilation_rate=[dilation])


def residual_block(current, index, dilation):
    seed = 10 * index
    weights_filter = create_variable("filter", [2, RESIDUAL, RESIDUAL], seed + 1)
    weights_gate = create_variable("gate", [2, RESIDUAL, RESIDUAL], seed + 2)
    conv_filter = causal_conv(current, weights_filter, dilation)
    conv_gate = causal_conv(current, weights_gate, dilation)
    out = tf.tanh(conv_filter) * tf.sigmoid(conv_gate)
    dense = create_variable("dense", [1, RESIDUAL, RESIDUAL], seed + 3)
    skip = create_variable("skip", [1, RESIDUAL, SKIP], seed + 4)
    transformed = tf.nn.conv1d(out, dense, stride=1, padding="SAME", name="dense")
    contribution = tf.nn.conv1d(out, skip, stride=1, padding="SAME", name="skip")
    return contribution, current + transformed


tf.set_random_seed(4)
audio = tf.placeholder(tf.float32, [None, None], name="audio")
encoded = mu_law_encode(audio, QUANTIZATION)
network_input = tf.one_hot(encoded, depth=QUANTIZATION, dtype=tf.float32)
current = causal_conv(network_input, create_variable("causal", [2, QUANTIZATION, RESIDUAL], 1), 1)
contributions = []
for number, rate in enumerate(DILATIONS, 1):
    with tf.name_scope("layer%d" % number):
        contribution, current = residual_block(current, number, rate)
        contributions.append(contribution)
total = tf.nn.relu(sum(contributions))
hidden = tf.nn.conv1d(total, create_variable("postprocess1", [1, SKIP, SKIP], 2), 1, "SAME")
output = tf.nn.conv1d(
    tf.nn.relu(hidden), create_variable("postprocess2", [1, SKIP, QUANTIZATION], 3), 1, "SAME"
)
prediction = tf.reshape(output[:, :-1], [-1, QUANTIZATION])
target = tf.reshape(tf.slice(network_input, [0, 1, 0], [-1, -1, -1]), [-1, QUANTIZATION])
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=prediction, labels=target))
l2_loss = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "bias" not in v.name])
total_loss = loss + 1e-4 * l2_loss
optimizer = tf.train.AdamOptimizer(learning_rate=0.01, epsilon=1e-4)
optim = optimizer.minimize(total_loss, var_list=tf.trainable_variables())

random = np.random.RandomState(7)
time = np.arange(64) / 8.0
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(20):
        phases = random.uniform(0, 2 * np.pi, (6, 1))
        waves = 0.8 * np.sin(time + phases) + 0.05 * random.randn(6, 64)
        summary_value, _ = sess.run([total_loss, optim], {audio: waves})
        print("step %d loss %.9g" % (step, summary_value))
