"""tensorflow-estimator: boosted trees, trained, evaluated, explained, exported and restored.

The losses and predictions are those of TensorFlow 1.15.5, to 1e-4.
"""
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
random = np.random.RandomState(0)
x = (random.randint(-20, 21, (300, 2)) / 20).astype(np.float32)  # fewer values than buckets
kinds = random.randint(0, 3, 300)
noise = random.uniform(-0.1, 0.1, 300).astype(np.float32)
classes = (x[:, 0] * x[:, 1] > 0).astype(np.int32)
values = (np.sin(3 * x[:, 0]) + 0.5 * kinds + noise).astype(np.float32)
weights = random.uniform(0.5, 1.5, 300).astype(np.float32)
features = {
    'a': x[:, :1], 'b': x[:, 1:], 'kind': np.array(['x', 'y', 'z'])[kinds][:, None],
    'weight': weights[:, None],
}
edges = list(np.linspace(-0.8, 0.8, 9))
numeric = {name: tf.feature_column.numeric_column(name) for name in ('a', 'b')}
buckets = [tf.feature_column.bucketized_column(column, edges) for column in numeric.values()]
kind = tf.feature_column.indicator_column(
    tf.feature_column.categorical_column_with_vocabulary_list('kind', ['x', 'y', 'z'])
)


def inputs(labels, epochs=None, batch=300):
    def read():
        data = tf.data.Dataset.from_tensor_slices((features, labels[:, None]))
        return data.repeat(epochs).batch(batch)
    return read


def check(name, actual, expected):
    print(name, np.asarray(actual).tolist())
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


# -- a classifier of buckets
classifier = tf.estimator.BoostedTreesClassifier(
    buckets, n_batches_per_layer=1, model_dir=tempfile.mkdtemp(), n_trees=10, max_depth=3,
    learning_rate=0.5, l2_regularization=0.01,
)
classifier.train(inputs(classes), max_steps=100)
scores = classifier.evaluate(inputs(classes, 1))
check('classifier', [scores[key] for key in ('accuracy', 'auc', 'loss')], [0.983333, 0.998331, 0.057452])
rows = list(classifier.predict(inputs(classes, 1)))
check('probabilities', [row['probabilities'][1] for row in rows[:5]], [0.996155, 0.009979, 0.91765, 0.894419, 0.034144])
importances = classifier.experimental_feature_importances(normalize=True)
check('importances', list(importances.values()), [0.799834, 0.200166])
steps = int(classifier.get_variable_value('global_step'))
assert steps == 30, steps
again = tf.estimator.BoostedTreesClassifier(
    buckets, n_batches_per_layer=1, model_dir=classifier.model_dir, n_trees=12, max_depth=3,
    learning_rate=0.5, l2_regularization=0.01,
)
again.train(inputs(classes), max_steps=100)  # goes on from the checkpoint, by two trees
assert int(again.get_variable_value('global_step')) == 36
check('restored', again.evaluate(inputs(classes, 1))['loss'], 0.052447)

# -- a regressor of numbers, whose quantiles are estimated first, with a bias, weights and pruning
regressor = tf.estimator.BoostedTreesRegressor(
    [*numeric.values(), kind], n_batches_per_layer=2, model_dir=tempfile.mkdtemp(), n_trees=6,
    max_depth=4, learning_rate=0.3, center_bias=True, weight_column='weight',
    tree_complexity=0.0001, pruning_mode='post',
)
regressor.train(inputs(values, batch=150), max_steps=200)
scores = regressor.evaluate(inputs(values, 1))
check('regressor', [scores['average_loss'], scores['label/mean']], [0.005812, 0.467663])
rows = list(regressor.predict(inputs(values, 1)))
check('values', [row['predictions'][0] for row in rows[:5]], [-0.172912, -0.103468, 0.059081, 1.164006, 0.495354])
explained = next(iter(regressor.experimental_predict_with_explanations(inputs(values, 1))))
check('bias', explained['bias'], 0.467663)
check('contributions', sorted(explained['dfc'].values()), [-0.337679, -0.322406, 0.01951])

# -- exported and loaded
specification = tf.feature_column.make_parse_example_spec(buckets)
receive = tf.estimator.export.build_parsing_serving_input_receiver_fn(specification)
path = classifier.export_saved_model(tempfile.mkdtemp(), receive)
with tf.Graph().as_default(), tf.Session() as session:
    model = tf.saved_model.loader.load(session, ['serve'], path)
    signature = model.signature_def['predict']
    texts = []
    for row in x[:5]:
        example = tf.train.Example()
        for name, value in zip('ab', row):
            example.features.feature[name].float_list.value.append(value)
        texts.append(example.SerializeToString())
    probabilities = session.run(
        signature.outputs['probabilities'].name, {signature.inputs['examples'].name: texts}
    )
check('exported', probabilities[:, 1], [0.997285, 0.006803, 0.940476, 0.899404, 0.025826])

# -- in memory, with features that are cached
def whole():
    return {name: tf.constant(column) for name, column in features.items()}, tf.constant(classes[:, None])


in_memory = tf.contrib.estimator.boosted_trees_classifier_train_in_memory(
    whole, buckets, n_trees=5, max_depth=3, learning_rate=0.5,
    model_dir=tempfile.mkdtemp(),
)
check('in memory', in_memory.evaluate(inputs(classes, 1))['loss'], 0.075311)
