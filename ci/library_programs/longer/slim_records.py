"""tf-slim: TFRecords by slim.dataset, a residual net by arg_scope, training, evaluation loop."""
import tempfile

import numpy as np
import tensorflow as tf

slim = tf.contrib.slim
tf.logging.set_verbosity(tf.logging.ERROR)
folder = tempfile.mkdtemp()
random = np.random.RandomState(0)
with tf.Session(graph=tf.Graph()) as session:
    source = tf.placeholder(tf.uint8, [8, 8, 3])
    encoded = tf.image.encode_png(source)
    with tf.python_io.TFRecordWriter(folder + '/train.tfrecord') as writer:
        for number in range(60):
            label = number % 2
            image = random.randint(0, 100, (8, 8, 3)).astype(np.uint8)
            image[:, :4] += np.uint8(100 * label)
            data = session.run(encoded, {source: image})
            writer.write(tf.train.Example(features=tf.train.Features(feature={
                'image/encoded': tf.train.Feature(bytes_list=tf.train.BytesList(value=[data])),
                'image/format': tf.train.Feature(bytes_list=tf.train.BytesList(value=[b'png'])),
                'image/class/label': tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            })).SerializeToString())


def split():
    decoder = slim.tfexample_decoder.TFExampleDecoder(
        {'image/encoded': tf.FixedLenFeature((), tf.string, default_value=''),
         'image/format': tf.FixedLenFeature((), tf.string, default_value='png'),
         'image/class/label': tf.FixedLenFeature([], tf.int64, default_value=tf.zeros([], dtype=tf.int64))},
        {'image': slim.tfexample_decoder.Image(shape=[8, 8, 3], channels=3),
         'label': slim.tfexample_decoder.Tensor('image/class/label', shape=[])})
    return slim.dataset.Dataset(
        data_sources=folder + '/train.tfrecord', reader=tf.TFRecordReader, decoder=decoder, num_samples=60,
        items_to_descriptions={'image': 'a picture', 'label': '0 or 1'}, num_classes=2)


def batch():
    provider = slim.dataset_data_provider.DatasetDataProvider(split(), common_queue_capacity=60, common_queue_min=10)
    image, label = provider.get(['image', 'label'])
    return tf.train.batch([tf.to_float(image) / 255.0, label], batch_size=10)


def unit(net, depth, stride, scope):
    with tf.variable_scope(scope, 'unit', [net]) as sc:
        shortcut = slim.conv2d(net, depth, [1, 1], stride=stride, activation_fn=None, scope='shortcut')
        residual = slim.conv2d(net, depth, [3, 3], stride=stride, scope='conv1')
        residual = slim.conv2d(residual, depth, [3, 3], activation_fn=None, normalizer_fn=None, scope='conv2')
        return slim.utils.collect_named_outputs('outputs', sc.name, tf.nn.relu(shortcut + residual))


def network(images, is_training):
    with slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm, weights_regularizer=slim.l2_regularizer(1e-4)):
        with slim.arg_scope([slim.batch_norm], is_training=is_training, decay=0.8):
            net = unit(images, 8, 2, 'block1')
            net = unit(net, 16, 2, 'block2')
            net = tf.reduce_mean(net, [1, 2], name='pool', keep_dims=True)
            return slim.flatten(slim.conv2d(net, 2, [1, 1], activation_fn=None, normalizer_fn=None, scope='logits'))


with tf.Graph().as_default():
    tf.set_random_seed(0)
    images, labels = batch()
    logits = network(images, True)
    slim.losses.softmax_cross_entropy(logits, slim.one_hot_encoding(labels, 2))
    total = slim.losses.get_total_loss()
    rate = tf.train.exponential_decay(0.02, slim.get_or_create_global_step(), 30, 0.9)
    op = slim.learning.create_train_op(total, tf.train.RMSPropOptimizer(rate, momentum=0.5), clip_gradient_norm=4.0)
    tf.summary.scalar('loss', total)
    last = slim.learning.train(op, folder + '/log', number_of_steps=60, log_every_n_steps=20,
                               save_summaries_secs=600, save_interval_secs=600)
    assert last < 0.7, last
with tf.Graph().as_default():
    images, labels = batch()
    predictions = tf.argmax(network(images, False), 1)
    values, updates = slim.metrics.aggregate_metric_map({
        'accuracy': slim.metrics.streaming_accuracy(predictions, labels),
        'recall': slim.metrics.streaming_recall(predictions, labels)})
    found = slim.evaluation.evaluate_once(
        '', tf.train.latest_checkpoint(folder + '/log'), folder + '/eval', num_evals=6,
        eval_op=list(updates.values()), final_op=values)
    assert found['accuracy'] > 0.8, found
    slim.evaluation.evaluation_loop(
        '', folder + '/log', folder + '/eval', num_evals=2, eval_op=list(updates.values()),
        summary_op=tf.summary.merge([tf.summary.scalar(k, v) for k, v in values.items()]),
        max_number_of_evaluations=1, eval_interval_secs=0)
with tf.Graph().as_default(), tf.Session() as session:
    network(tf.zeros([1, 8, 8, 3]), False)
    restored = slim.get_variables_to_restore(exclude=['logits'])
    slim.assign_from_checkpoint_fn(tf.train.latest_checkpoint(folder + '/log'), restored, ignore_missing_vars=True)(session)
