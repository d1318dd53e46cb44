"""One network on two devices: the lower layers on the first, the upper ones on the second.

    gpugraph report -o step.html examples/two_devices.py

Without GPUs the devices are two CPUs, whose memory is apart as that of GPUs is.
"""

import numpy as np
import tensorflow as tf

BATCH, STEPS = 128, 20


def network(images):
    """Scores for 10 classes: float32 [batch, 10]."""
    with tf.device("/cpu:0"), tf.variable_scope("lower"):
        hidden = tf.layers.dense(images, 256, tf.nn.relu, name="first")
        hidden = tf.layers.dense(hidden, 128, tf.nn.relu, name="second")
    with tf.device("/cpu:1"), tf.variable_scope("upper"):
        hidden = tf.layers.dense(hidden, 64, tf.tanh, name="third")
        return tf.layers.dense(hidden, 10, name="scores")


def main():
    tf.set_random_seed(1)
    images = tf.placeholder(tf.float32, [BATCH, 784], name="images")
    labels = tf.placeholder(tf.int32, [BATCH], name="labels")
    scores = network(images)
    with tf.device("/cpu:1"), tf.name_scope("loss"):
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
        loss = tf.reduce_mean(each, name="mean")
    train = tf.train.AdamOptimizer(1e-3).minimize(loss, name="train")

    random = np.random.RandomState(1)
    pixels = random.rand(BATCH, 784).astype(np.float32)
    feeds = {images: pixels, labels: pixels[:, :10].argmax(axis=1)}
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            _, value = session.run([train, loss], feeds)
    print(f"loss after {STEPS} steps: {value:.4f}")


if __name__ == "__main__":
    main()
