"""A program from before TensorFlow 1.0, when functions had other names."""

import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 4])
left, right = tf.unpack(tf.reshape(x, [2, -1]))
product = tf.mul(left, right)
loss = tf.reduce_sum(tf.neg(tf.sub(tf.pack([product, left]), right)))
tf.scalar_summary("loss", loss)
init = tf.initialize_all_variables()

with tf.Session() as sess:
    sess.run(init)
    print(sess.run(loss, {x: [[1, 2, 3, 4]]}))
