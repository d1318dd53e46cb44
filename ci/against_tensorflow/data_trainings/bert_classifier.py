"""BERT's input functions as they stand, on small records, with a small model of its modeling.py.

The sources of BERT (`bert`, of the package bert-tensorflow) must be importable.
"""

import collections
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf
from bert import modeling, run_classifier

PATH = os.path.join(tempfile.mkdtemp(), "train.tf_record")
LENGTH = 12
rng = np.random.RandomState(4)


def make_features():
    found = []
    for _ in range(60):
        label = rng.randint(2)
        size = rng.randint(4, LENGTH + 1)
        ids = rng.randint(3, 20, size) + 20 * label
        pad = [0] * (LENGTH - size)
        found.append(
            run_classifier.InputFeatures(
                input_ids=[*map(int, ids)] + pad,
                input_mask=[1] * size + pad,
                segment_ids=[0] * LENGTH,
                label_id=int(label),
                is_real_example=True,
            )
        )
    return found


def write(features):
    writer = tf.python_io.TFRecordWriter(PATH)
    for feature in features:
        ints = lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=list(v)))  # noqa: E731
        record = collections.OrderedDict()
        record["input_ids"] = ints(feature.input_ids)
        record["input_mask"] = ints(feature.input_mask)
        record["segment_ids"] = ints(feature.segment_ids)
        record["label_ids"] = ints([feature.label_id])
        record["is_real_example"] = ints([int(feature.is_real_example)])
        example = tf.train.Example(features=tf.train.Features(feature=record))
        writer.write(example.SerializeToString())
    writer.close()


def shuffle_with_a_seed(self, buffer_size, seed=3, **options):
    return shuffle(self, buffer_size, seed, **options)


# BERT shuffles without a seed: this program needs the same order in each run.
shuffle = tf.data.Dataset.shuffle
tf.data.Dataset.shuffle = shuffle_with_a_seed
features = make_features()
write(features)
tf.set_random_seed(12)
from_file = run_classifier.file_based_input_fn_builder(PATH, LENGTH, True, True)({"batch_size": 8})
in_memory = run_classifier.input_fn_builder(features, LENGTH, False, False)({"batch_size": 20})
handle = tf.placeholder(tf.string, [])
keys = ["input_ids", "input_mask", "segment_ids", "label_ids"]
batches = from_file.map(lambda batch: {key: batch[key] for key in keys})
train_iterator = batches.make_initializable_iterator()
eval_iterator = in_memory.make_initializable_iterator()
iterator = tf.data.Iterator.from_string_handle(
    handle, in_memory.output_types, in_memory.output_shapes
)
batch = iterator.get_next()

config = modeling.BertConfig(
    vocab_size=40,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    max_position_embeddings=16,
)
loss, per_example_loss, logits, probabilities = run_classifier.create_model(
    config,
    False,
    batch["input_ids"],
    batch["input_mask"],
    batch["segment_ids"],
    batch["label_ids"],
    2,
    False,
)
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    weights = np.random.RandomState(7)
    for variable in tf.trainable_variables():
        shape = variable.shape.as_list()
        if "gamma" not in variable.op.name:
            variable.load((weights.normal(size=shape) * 0.05).astype(np.float32), sess)
    train_handle, eval_handle = sess.run(
        [train_iterator.string_handle(), eval_iterator.string_handle()]
    )
    sess.run(train_iterator.initializer)
    for step in range(20):
        loss_value, _ = sess.run([loss, train_op], {handle: train_handle})
        print("step %d loss %.8g" % (step, loss_value))
    sess.run(eval_iterator.initializer)
    while True:
        try:
            print("eval loss %.8g" % sess.run(loss, {handle: eval_handle}))
        except tf.errors.OutOfRangeError:
            break
