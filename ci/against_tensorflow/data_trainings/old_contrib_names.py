"""tf.contrib.data in the names of 1.5 to 1.12."""

import numpy as np
import tensorflow as tf

cd = tf.contrib.data
rng = np.random.RandomState(0)
x = rng.randn(90, 4).astype(np.float32)
labels = (x.sum(1) > 0.8).astype(np.int32)

dataset = tf.data.Dataset.from_tensor_slices((x, labels))
dataset = dataset.apply(cd.shuffle_and_repeat(1, count=2, seed=4))
dataset = dataset.apply(cd.rejection_resample(lambda x, y: y, [0.5, 0.5], seed=2))
dataset = dataset.map(lambda label, element: element).take(100)
dataset = dataset.apply(cd.map_and_batch(lambda x, y: (x * 0.5, y), 10, drop_remainder=True))
dataset = dataset.apply(cd.ignore_errors())
dataset = dataset.apply(cd.unbatch())
dataset = dataset.apply(cd.batch_and_drop_remainder(7))
counted = tf.data.Dataset.zip((cd.Counter(start=1, step=2), dataset))
scanned = counted.apply(cd.scan(np.int64(0), lambda s, e: (s + e[0], (s, e[1]))))
other = tf.data.Dataset.from_tensors((np.int64(5), (x[:7], labels[:7]))).repeat(4)
sampled = cd.sample_from_datasets([scanned, other], [0.7, 0.3], seed=6)
enumerated = sampled.apply(cd.enumerate_dataset(start=3))
prefetched = enumerated.apply(cd.prefetch_to_device("/cpu:0"))
iterator = prefetched.make_initializable_iterator()
number, (total, (features, classes)) = iterator.get_next()
w = tf.get_variable("w", [4, 2], initializer=tf.zeros_initializer())
logits = tf.matmul(features, w)
scale = 1 + 0.01 * tf.to_float(number) + 0.001 * tf.to_float(total)
loss = scale * tf.losses.sparse_softmax_cross_entropy(classes, logits)
train_op = tf.train.FtrlOptimizer(0.3).minimize(loss)
with tf.Session() as sess:
    for _ in range(3):
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        try:
            while True:
                print("loss %.8g" % sess.run([loss, train_op])[0])
        except tf.errors.OutOfRangeError:
            pass
