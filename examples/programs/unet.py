"""A U-Net: down and up with skips, batch normalization, Dice's loss."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

BATCH, SIZE = 4, 32


def conv_bn_relu(x, filters, is_training, seed):
    x = tf.layers.conv2d(
        x,
        filters,
        3,
        padding="same",
        use_bias=False,
        kernel_initializer=tf.variance_scaling_initializer(scale=2.0, seed=seed),
        kernel_regularizer=lambda w: 1e-4 * tf.nn.l2_loss(w),
    )
    x = tf.layers.batch_normalization(x, training=is_training, momentum=0.9)
    return tf.nn.relu(x)


def unet(x, is_training, filters=(8, 16, 32)):
    skips, seed = [], 0
    for depth, n in enumerate(filters):
        with tf.variable_scope("down%d" % depth):
            for _ in range(2):
                seed += 1
                x = conv_bn_relu(x, n, is_training, seed)
            if depth < len(filters) - 1:
                skips.append(x)
                x = tf.layers.max_pooling2d(x, 2, 2)
    for depth, n in reversed(list(enumerate(filters[:-1]))):
        with tf.variable_scope("up%d" % depth):
            seed += 1
            init = tf.variance_scaling_initializer(seed=seed)
            x = tf.layers.conv2d_transpose(x, n, 2, strides=2, kernel_initializer=init)
            x = tf.concat([skips[depth], x], axis=-1)
            for _ in range(2):
                seed += 1
                x = conv_bn_relu(x, n, is_training, seed)
    init = tf.variance_scaling_initializer(seed=99)
    return tf.layers.conv2d(x, 1, 1, kernel_initializer=init, name="logits")


def dice_loss(logits, masks, smooth=1.0):
    probabilities = tf.sigmoid(logits)
    axes = [1, 2, 3]
    intersection = tf.reduce_sum(probabilities * masks, axis=axes)
    union = tf.reduce_sum(probabilities, axis=axes) + tf.reduce_sum(masks, axis=axes)
    return 1.0 - tf.reduce_mean((2.0 * intersection + smooth) / (union + smooth))


images = tf.placeholder(tf.float32, [None, SIZE, SIZE, 1])
masks = tf.placeholder(tf.float32, [None, SIZE, SIZE, 1])
is_training = tf.placeholder(tf.bool)
logits = unet(images, is_training)
crossent = tf.losses.sigmoid_cross_entropy(masks, logits)
regularization = tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
loss = crossent + dice_loss(logits, masks) + regularization
global_step = tf.train.get_or_create_global_step()
learning_rate = tf.train.polynomial_decay(0.02, global_step, 100, power=0.9)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    optimizer = tf.train.MomentumOptimizer(learning_rate, 0.9)
    train_op = optimizer.minimize(loss, global_step=global_step)

random = np.random.RandomState(8)
rows, columns = np.mgrid[:SIZE, :SIZE]
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    for step in range(20):
        centers = random.uniform(8, 24, (BATCH, 2, 1, 1))
        distance = (rows - centers[:, 0]) ** 2 + (columns - centers[:, 1]) ** 2
        disks = (distance < 40).astype(np.float32)[..., None]
        noisy = disks + 0.5 * random.randn(*disks.shape)
        feed_dict = {images: noisy, masks: disks, is_training: True}
        _, loss_value = sess.run([train_op, loss], feed_dict)
        print("step %d loss %.9g" % (step, loss_value))
    held_out = sess.run(loss, {images: noisy, masks: disks, is_training: False})
    print("held out loss %.9g" % held_out)
