"""tensorflow-estimator: a DNNClassifier over feature columns, fed by tf.data."""
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
random = np.random.RandomState(0)
numbers = random.randn(400, 2).astype(np.float32)
colors = random.choice(['red', 'green', 'blue'], 400)
labels = ((numbers.sum(1) > 0) ^ (colors == 'red')).astype(np.int32)
columns = [
    tf.feature_column.numeric_column('numbers', shape=[2]),
    tf.feature_column.indicator_column(
        tf.feature_column.categorical_column_with_vocabulary_list('color', ['red', 'green', 'blue'])
    ),
]


def input_fn(epochs):
    data = tf.data.Dataset.from_tensor_slices(({'numbers': numbers, 'color': colors}, labels))
    return data.shuffle(400, seed=1).repeat(epochs).batch(50)


classifier = tf.estimator.DNNClassifier(
    [16, 16], columns, model_dir=tempfile.mkdtemp(), optimizer=tf.train.AdamOptimizer(0.02),
    config=tf.estimator.RunConfig(tf_random_seed=1),
)
classifier.train(lambda: input_fn(None), steps=200)
result = classifier.evaluate(lambda: input_fn(1))
assert result['accuracy'] > 0.9, result
linear = tf.estimator.LinearClassifier(columns, model_dir=tempfile.mkdtemp())
linear.train(lambda: input_fn(None), steps=20)
assert linear.evaluate(lambda: input_fn(1))['global_step'] == 20
spec = tf.feature_column.make_parse_example_spec(columns)
serving = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
path = classifier.export_saved_model(tempfile.mkdtemp(), serving)
example = tf.train.Example()
example.features.feature['numbers'].float_list.value.extend([1.0, 1.0])
example.features.feature['color'].bytes_list.value.append(b'blue')
with tf.Session(graph=tf.Graph()) as session:
    meta = tf.saved_model.loader.load(session, ['serve'], path)
    signature = meta.signature_def['serving_default']
    feeds = {signature.inputs['inputs'].name: [example.SerializeToString()]}
    scores = session.run(signature.outputs['scores'].name, feeds)
assert scores[0, 1] > 0.5, scores
