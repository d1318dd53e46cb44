"""Wide and deep columns on CSV files that make_csv_dataset reads."""

import os
import tempfile

import numpy as np
import tensorflow as tf

FOLDER = tempfile.mkdtemp()


def write_files():
    rng = np.random.RandomState(5)
    for part in range(2):
        with open(os.path.join(FOLDER, "people_%d.csv" % part), "w") as f:
            f.write("age,hours,work,city,income\n")
            for _ in range(60):
                age, hours = rng.randint(18, 70), rng.randint(10, 60)
                work = ["private", "state", "self", ""][rng.randint(4)]
                city = "c%d" % rng.randint(30)
                income = int(age + hours + 20 * (work == "self") + 4 * rng.randn() > 85)
                f.write("%d,%d,%s,%s,%d\n" % (age, hours, work, city, income))


def input_fn():
    dataset = tf.data.experimental.make_csv_dataset(
        os.path.join(FOLDER, "people_*.csv"),
        batch_size=16,
        label_name="income",
        column_defaults=[tf.float32, tf.float32, "unknown", tf.string, tf.int32],
        num_epochs=4,
        shuffle_buffer_size=50,
        shuffle_seed=2,
        num_parallel_reads=1,
    )
    return dataset.make_one_shot_iterator().get_next()


write_files()
fc = tf.feature_column
age, hours = fc.numeric_column("age"), fc.numeric_column("hours")
buckets = fc.bucketized_column(age, [25, 35, 45, 55])
work = fc.categorical_column_with_vocabulary_list("work", ["private", "state", "self", "unknown"])
city = fc.categorical_column_with_hash_bucket("city", 20)
crossed = fc.crossed_column([buckets, "work"], 50)
deep = [
    fc.numeric_column("hours", normalizer_fn=lambda x: (x - 35.0) / 15.0),
    fc.indicator_column(work),
    fc.embedding_column(city, 4, initializer=tf.truncated_normal_initializer(0, 0.3, seed=1)),
]
features, labels = input_fn()
wide_logits = fc.linear_model(dict(features), [buckets, work, crossed])
net = fc.input_layer(dict(features), deep)
net = tf.layers.dense(net, 8, tf.nn.relu, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
logits = tf.layers.dense(net, 1, kernel_initializer=tf.glorot_uniform_initializer(seed=3))
logits = tf.squeeze(logits + wide_logits, 1)
loss = tf.losses.sigmoid_cross_entropy(labels, logits)
train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    try:
        while True:
            print("loss %.8g" % sess.run([loss, train_op])[0])
    except tf.errors.OutOfRangeError:
        pass
