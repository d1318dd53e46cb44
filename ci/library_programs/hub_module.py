"""tensorflow-hub: a module with a variable and a signature, exported and used in another graph."""
import tempfile

import numpy as np
import tensorflow as tf
import tensorflow_hub as hub


def module_fn():
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.get_variable('w', [3, 2], initializer=tf.ones_initializer())
    hub.add_signature(inputs=x, outputs=tf.matmul(x, w))


folder = tempfile.mkdtemp() + '/module'
with tf.Graph().as_default():
    module = hub.Module(hub.create_module_spec(module_fn))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        module.export(folder, session)
with tf.Graph().as_default():
    module = hub.Module(folder, trainable=True)
    output = module(tf.constant([[1.0, 2.0, 3.0]]))
    step = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_sum(tf.square(output)))
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        np.testing.assert_allclose(session.run(output), [[6.0, 6.0]])
        session.run(step)
        assert (session.run(output) < 6.0).all()
