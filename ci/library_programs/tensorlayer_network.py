"""tensorlayer: layers, training, saved and restored weights."""
import tempfile

import numpy as np
import tensorflow as tf
import tensorlayer as tl

random = np.random.RandomState(0)
x, y = random.randn(40, 3).astype(np.float32), random.randint(0, 2, 40)
fed, target = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int64, [None])
net = tl.layers.InputLayer(fed, name='input')
net = tl.layers.DenseLayer(net, 16, tf.nn.relu, name='dense')
net = tl.layers.DenseLayer(net, 2, name='output')
cost = tl.cost.cross_entropy(net.outputs, target, name='cost')
step = tf.train.AdamOptimizer(0.05).minimize(cost, var_list=net.all_params)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    feeds = {fed: x, target: y}
    first = session.run(cost, feeds)
    for _ in range(20):
        session.run(step, feeds)
    last = session.run(cost, feeds)
    assert last < first
    path = tempfile.mkdtemp() + '/model.npz'
    tl.files.save_npz_dict(net.all_params, name=path, sess=session)
    session.run(tf.global_variables_initializer())
    tl.files.load_and_assign_npz_dict(name=path, sess=session)
    np.testing.assert_allclose(session.run(cost, feeds), last, rtol=1e-6)
