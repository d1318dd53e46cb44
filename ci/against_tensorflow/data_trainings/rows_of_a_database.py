"""Rows of an SQLite database, standardized by a first pass over them."""

import os
import sqlite3
import tempfile

import numpy as np
import tensorflow as tf

PATH = os.path.join(tempfile.mkdtemp(), "rows.sqlite")


def write_rows():
    rng = np.random.RandomState(2)
    connection = sqlite3.connect(PATH)
    connection.execute(
        "CREATE TABLE houses (id INTEGER PRIMARY KEY, rooms INT, area REAL, price REAL)"
    )
    for number in range(120):
        rooms, area = int(rng.randint(1, 7)), float(rng.uniform(30, 200))
        price = 20 * rooms + 3 * area + 10 * rng.randn()
        connection.execute("INSERT INTO houses VALUES (?, ?, ?, ?)", (number, rooms, area, price))
    connection.commit()
    connection.close()


write_rows()
rows = tf.data.experimental.SqlDataset(
    "sqlite",
    PATH,
    "SELECT rooms, area, price FROM houses ORDER BY id",
    (tf.int32, tf.float64, tf.float64),
)
rows = rows.map(lambda rooms, area, price: (tf.stack([tf.to_double(rooms), area]), price))
total, count = rows.reduce(
    (np.zeros(2), np.int64(0)), lambda state, row: (state[0] + row[0], state[1] + 1)
)
mean = total / tf.to_double(count)
batches = rows.shuffle(120, seed=1).repeat(4).batch(20)
x, y = batches.make_one_shot_iterator().get_next()
w = tf.get_variable("w", [2, 1], tf.float64, tf.zeros_initializer())
b = tf.get_variable("b", [], tf.float64, tf.zeros_initializer())
standardized = (x - mean) / [[1.7, 50.0]]
prediction = tf.squeeze(tf.matmul(standardized, w), 1) + b
loss = tf.reduce_mean(tf.squared_difference(prediction, y / 100))
train_op = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    while True:
        try:
            print("loss %.8g" % sess.run([loss, train_op])[0])
        except tf.errors.OutOfRangeError:
            break
