"""Clusters by tf.contrib.factorization."""

from __future__ import print_function
import numpy as np, tensorflow as tf, os
from tensorflow.contrib.factorization import KMeans

os.environ["CUDA_VISIBLE_DEVICES"] = ""
rng = np.random.RandomState(0)
full_data_x = np.vstack([rng.randn(60, 8) + 4 * i for i in range(3)]).astype("f")
labels = np.eye(3)[np.repeat(range(3), 60)]
num_steps, k, num_classes, num_features = 10, 6, 3, 8
X = tf.placeholder(tf.float32, shape=[None, num_features])
Y = tf.placeholder(tf.float32, shape=[None, num_classes])
kmeans = KMeans(inputs=X, num_clusters=k, distance_metric="cosine", use_mini_batch=True)
training_graph = kmeans.training_graph()
if len(training_graph) > 6:
    (
        all_scores,
        cluster_idx,
        scores,
        cluster_centers_initialized,
        cluster_centers_var,
        init_op,
        train_op,
    ) = training_graph
else:
    (all_scores, cluster_idx, scores, cluster_centers_initialized, init_op, train_op) = (
        training_graph
    )
cluster_idx = cluster_idx[0]
avg_distance = tf.reduce_mean(scores)
init_vars = tf.global_variables_initializer()
sess = tf.Session()
sess.run(init_vars, feed_dict={X: full_data_x})
sess.run(init_op, feed_dict={X: full_data_x})
for i in range(1, num_steps + 1):
    _, d, idx = sess.run([train_op, avg_distance, cluster_idx], feed_dict={X: full_data_x})
counts = np.zeros(shape=(k, num_classes))
for i in range(len(idx)):
    counts[idx[i]] += labels[i]
labels_map = tf.convert_to_tensor([np.argmax(c) for c in counts])
cluster_label = tf.nn.embedding_lookup(labels_map, cluster_idx)
correct = (
    tf.equal(cluster_label, tf.cast(tf.argmax(Y, 1), tf.int32))
    if False
    else tf.equal(tf.cast(cluster_label, tf.int32), tf.cast(tf.argmax(Y, 1), tf.int32))
)
acc = tf.reduce_mean(tf.cast(correct, tf.float32))
print("Test Accuracy:", sess.run(acc, feed_dict={X: full_data_x, Y: labels}))
