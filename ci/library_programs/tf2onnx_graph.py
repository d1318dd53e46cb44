"""tf2onnx: graphs become ONNX, whose answers by onnxruntime are equal."""
import numpy as np
import onnxruntime
import tensorflow as tf
import tf2onnx

random = np.random.RandomState(0)


def convolution(x):
    net = tf.layers.conv2d(x, 4, 3, padding='same', activation=tf.nn.relu)
    net = tf.layers.max_pooling2d(net, 2, 2)
    return tf.nn.softmax(tf.layers.dense(tf.layers.flatten(net), 3))


GRAPHS = {
    'dense': ((5, 4), lambda x: tf.layers.dense(x, 3, tf.tanh)),
    'convolution': ((2, 8, 8, 1), convolution),
    'reduction': ((3, 4), lambda x: tf.reduce_mean(tf.exp(x), 1, keepdims=True) - tf.reduce_max(x)),
    'slices': ((4, 6), lambda x: tf.concat([x[:, 1:3], tf.transpose(x[1:3, :4])[:4, :]], 1)),
    'gather': ((4, 6), lambda x: tf.gather(x, [3, 0], axis=1) * tf.cast(x[:, :2] > 0, tf.float32)),
    'normalization': ((6, 4), lambda x: tf.nn.l2_normalize(x - tf.reduce_mean(x, 0), 1)),
    'pad': ((2, 3), lambda x: tf.pad(tf.sigmoid(x), [[1, 1], [0, 2]])),
    'batch_matmul': ((2, 3, 3), lambda x: tf.matmul(x, x, transpose_b=True)),
    'where': ((3, 3), lambda x: tf.where(x > 0.5, x, tf.zeros_like(x))),
    'depth': ((1, 4, 4, 4), lambda x: tf.depth_to_space(x, 2)),
}
for name, (shape, build) in GRAPHS.items():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, shape, name='x')
        tf.identity(build(x), name='y')
        session.run(tf.global_variables_initializer())
        data = random.rand(*shape).astype(np.float32)
        expected = session.run('y:0', {x: data})
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ['y'])
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(frozen, name='')
        with tf.Session(graph=graph):
            onnx_graph = tf2onnx.tfonnx.process_tf_graph(
                graph, input_names=['x:0'], output_names=['y:0'], opset=11
            )
        model = tf2onnx.optimizer.optimize_graph(onnx_graph).make_model('test')
    runtime = onnxruntime.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider'])
    (answer,) = runtime.run(['y:0'], {'x:0': data})
    np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-5, err_msg=name)
