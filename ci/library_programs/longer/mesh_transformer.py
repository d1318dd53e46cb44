"""mesh-tensorflow: a network over named dimensions, lowered to a placement mesh, with its optimizer."""
import mesh_tensorflow as mtf
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
random = np.random.RandomState(0)
features = tf.constant(random.randn(16, 8), tf.float32)
labels = tf.constant(random.randint(0, 4, 16), tf.int32)
graph = mtf.Graph()
mesh = mtf.Mesh(graph, 'my_mesh')
batch, io = mtf.Dimension('batch', 16), mtf.Dimension('io', 8)
hidden, classes = mtf.Dimension('hidden', 32), mtf.Dimension('classes', 4)
x = mtf.import_tf_tensor(mesh, features, shape=[batch, io])
y = mtf.import_tf_tensor(mesh, labels, shape=[batch])
h = mtf.layers.dense(x, hidden, activation=mtf.relu, name='hidden')
h = mtf.layers.layer_norm(h, hidden)
logits = mtf.layers.dense(h, classes, name='logits')
loss = mtf.reduce_mean(mtf.layers.softmax_cross_entropy_with_logits(
    logits, mtf.one_hot(y, classes, dtype=tf.float32), classes))
gradients = mtf.gradients([loss], [v.outputs[0] for v in graph.trainable_variables])
updates = mtf.optimize.AdafactorOptimizer(learning_rate=0.05).apply_grads(gradients, graph.trainable_variables)
devices = ['cpu:0'] * 2
implementation = mtf.placement_mesh_impl.PlacementMeshImpl(
    mtf.convert_to_shape('all:2'), mtf.convert_to_layout_rules('batch:all'), devices)
lowering = mtf.Lowering(graph, {mesh: implementation})
tf_loss = lowering.export_to_tf_tensor(loss)
step = tf.group([lowering.lowered_operation(update) for update in updates])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(lowering.copy_masters_to_slices())
    first = session.run(tf_loss)
    for _ in range(20):
        session.run(step)
    assert session.run(tf_loss) < first, first
