"""tensorflow-estimator: each canned estimator trained, evaluated, asked for predictions, exported and loaded."""
import tempfile

import gpugraph
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
random = np.random.RandomState(0)
age = random.uniform(0, 10, 400).astype(np.float32)
job = random.choice(['cook', 'pilot', 'nurse'], 400)
label = ((age > 5) ^ (job == 'cook')).astype(np.int32)
value = (2.0 * age + (job == 'pilot') * 5.0).astype(np.float32)
numeric = tf.feature_column.numeric_column('age')
buckets = tf.feature_column.bucketized_column(numeric, [2.0, 4.0, 5.0, 6.0, 8.0])
words = tf.feature_column.categorical_column_with_vocabulary_list('job', ['cook', 'pilot', 'nurse'])
crossed = tf.feature_column.crossed_column([buckets, words], 50)
embedded = tf.feature_column.embedding_column(words, 4)
indicated = tf.feature_column.indicator_column(words)


def inputs(target, repeat=True):
    return tf.estimator.inputs.numpy_input_fn(
        {'age': age, 'job': job}, target, batch_size=50, num_epochs=None if repeat else 1, shuffle=repeat
    )



def serve(estimator, wanted):
    spec = tf.feature_column.make_parse_example_spec([numeric, words])
    receive = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path = estimator.export_saved_model(tempfile.mkdtemp(), receive)
    example = tf.train.Example()
    example.features.feature['age'].float_list.value.append(age[0])
    example.features.feature['job'].bytes_list.value.append(job[0].encode())
    predict = gpugraph.saved_model.load_function(path.decode(), 'predict')
    served = predict({'examples': np.array([example.SerializeToString()], object)})
    np.testing.assert_allclose(served[wanted][0], next(estimator.predict(inputs(None, repeat=False)))[wanted], rtol=1e-5)


wide, deep = [buckets, words, crossed], [numeric, embedded, indicated]
classifiers = {
    'linear': tf.estimator.LinearClassifier(wide, tempfile.mkdtemp()),
    'dnn': tf.estimator.DNNClassifier([16, 8], deep, tempfile.mkdtemp(), optimizer='Adam'),
    'both': tf.estimator.DNNLinearCombinedClassifier(
        tempfile.mkdtemp(), linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[16],
        dnn_optimizer=tf.train.AdamOptimizer(0.02)
    ),
    'baseline': tf.estimator.BaselineClassifier(tempfile.mkdtemp()),
}
for name, classifier in classifiers.items():
    classifier.train(inputs(label), steps=200)
    scores = classifier.evaluate(inputs(label, repeat=False))
    assert scores['global_step'] == 200
    first = next(classifier.predict(inputs(None, repeat=False)))
    assert abs(first['probabilities'].sum() - 1) < 1e-5 and first['class_ids'].shape == (1,)
    if name == 'baseline':
        assert abs(scores['prediction/mean'] - scores['label/mean']) < 0.2, scores
    else:
        assert scores['accuracy'] > 0.8 and scores['auc'] > 0.9, (name, scores)
    print(name, scores['average_loss'])
    serve(classifier, 'probabilities')
regressors = {
    'linear': tf.estimator.LinearRegressor([numeric, words], tempfile.mkdtemp()),
    'dnn': tf.estimator.DNNRegressor(
        [16], deep, tempfile.mkdtemp(), optimizer=lambda: tf.train.AdamOptimizer(0.05)
    ),
    'both': tf.estimator.DNNLinearCombinedRegressor(
        tempfile.mkdtemp(), linear_feature_columns=[numeric, words], dnn_feature_columns=deep,
        dnn_hidden_units=[8],
        dnn_optimizer=tf.train.AdamOptimizer(0.05), linear_optimizer=tf.train.AdamOptimizer(0.2),
    ),
    'baseline': tf.estimator.BaselineRegressor(tempfile.mkdtemp()),
}
for name, regressor in regressors.items():
    regressor.train(inputs(value), steps=300)
    scores = regressor.evaluate(inputs(value, repeat=False))
    limit = 60.0 if name == 'baseline' else 3.0
    assert scores['average_loss'] < limit, (name, scores)
    print(name, scores['average_loss'])
    serve(regressor, 'predictions')
