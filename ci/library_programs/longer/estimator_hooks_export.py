"""tensorflow-estimator: hooks, exporters, summaries, parsing receivers, and load_function's file."""
import glob
import os
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
random = np.random.RandomState(1)
x = random.randn(200, 3).astype(np.float32)
y = np.argmax(x, 1)
column = tf.feature_column.numeric_column('x', shape=[3])


def train_fn():
    data = tf.data.Dataset.from_tensor_slices(({'x': x}, y))
    return data.shuffle(200).repeat().batch(40)


def test_fn():
    return tf.data.Dataset.from_tensor_slices(({'x': x}, y)).batch(40)


class Counter(tf.train.SessionRunHook):
    def begin(self):
        self.steps, self.losses = 0, []
        self.loss = tf.get_default_graph().get_collection(tf.GraphKeys.LOSSES)

    def after_create_session(self, session, coord):
        self.session_made = True

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(tf.train.get_global_step())

    def after_run(self, run_context, run_values):
        self.steps += 1
        self.last = run_values.results

    def end(self, session):
        self.ended = True


folder = tempfile.mkdtemp()
config = tf.estimator.RunConfig(
    folder, tf_random_seed=1, save_summary_steps=10, save_checkpoints_steps=40, keep_checkpoint_max=2,
    log_step_count_steps=20, session_config=tf.ConfigProto(allow_soft_placement=True),
)
estimator = tf.estimator.DNNClassifier([12], [column], config=config, n_classes=3, optimizer='Adagrad')
estimator = tf.contrib.estimator.add_metrics(
    estimator, lambda labels, predictions: {'hits': tf.metrics.mean(
        tf.cast(tf.equal(labels, predictions['class_ids'][:, 0]), tf.float32))}
)
counter = Counter()
best = tf.estimator.BestExporter(
    'best', tf.estimator.export.build_parsing_serving_input_receiver_fn(
        tf.feature_column.make_parse_example_spec([column])), exports_to_keep=2
)
final = tf.estimator.FinalExporter(
    'final', tf.estimator.export.build_parsing_serving_input_receiver_fn({'x': tf.FixedLenFeature([3], tf.float32)})
)
latest = tf.estimator.LatestExporter('latest', tf.estimator.export.build_parsing_serving_input_receiver_fn({'x': tf.FixedLenFeature([3], tf.float32)}))
stop = tf.estimator.experimental.stop_if_no_decrease_hook(estimator, 'loss', 10 ** 6)
result, exported = tf.estimator.train_and_evaluate(
    estimator,
    tf.estimator.TrainSpec(train_fn, max_steps=120, hooks=[counter, stop]),
    tf.estimator.EvalSpec(test_fn, steps=None, exporters=[best, final, latest], throttle_secs=0),
)
assert counter.steps >= 120 and counter.last == 120 and counter.ended
assert result['global_step'] == 120 and 0 < result['hits'] <= 1
assert len(glob.glob(folder + '/model.ckpt-*.index')) == 2
for name in ('best', 'final', 'latest'):
    assert os.listdir(folder + '/export/' + name), name
events = glob.glob(folder + '/events.out.*')
tags = {v.tag for f in events for e in tf.train.summary_iterator(f) for v in e.summary.value}
assert 'loss' in tags and 'global_step/sec' in tags, tags
example = tf.train.Example()
example.features.feature['x'].float_list.value.extend(x[0])
predict = tf.contrib.predictor.from_saved_model(
    folder + '/export/final/' + os.listdir(folder + '/export/final')[0], signature_def_key='predict'
)
served = predict({'examples': [example.SerializeToString()]})
direct = next(estimator.predict(tf.estimator.inputs.numpy_input_fn({'x': x[:1]}, shuffle=False)))
np.testing.assert_allclose(served['probabilities'][0], direct['probabilities'], rtol=1e-5)
older = tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths[0]
assert estimator.evaluate(test_fn, checkpoint_path=older)['global_step'] < 120
names = estimator.get_variable_names()
assert 'dnn/hiddenlayer_0/kernel' in names and 'global_step' in names, names
