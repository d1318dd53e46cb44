"""TFRecord files read by queues, bucketed and padded."""

import tensorflow as tf, numpy as np, os, tempfile, io

d = tempfile.mkdtemp()
fn = os.path.join(d, "train.tfrecords")


def _int64_feature(v):
    return tf.train.Feature(
        int64_list=tf.train.Int64List(value=[v] if not isinstance(v, (list, np.ndarray)) else v)
    )


def _bytes_feature(v):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[v]))


opts = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
with tf.python_io.TFRecordWriter(fn, options=opts) as writer:
    for i in range(30):
        im = np.random.RandomState(i).randint(0, 255, (10, 12, 3)).astype(np.uint8)
        writer.write(
            tf.train.Example(
                features=tf.train.Features(
                    feature={
                        "height": _int64_feature(10),
                        "label": _int64_feature(i % 3),
                        "image_raw": _bytes_feature(im.tostring()),
                        "bbox": tf.train.Feature(
                            float_list=tf.train.FloatList(value=[0.1 * j for j in range(i % 4)])
                        ),
                        "name": _bytes_feature(("img%d" % i).encode()),
                    }
                )
            ).SerializeToString()
        )
seqfn = os.path.join(d, "seq.tfrecords")
w = tf.python_io.TFRecordWriter(seqfn)
for i in range(8):
    ex = tf.train.SequenceExample()
    ex.context.feature["length"].int64_list.value.append(i + 1)
    fl = ex.feature_lists.feature_list["tokens"]
    for t in range(i + 1):
        fl.feature.add().int64_list.value.append(t * i)
    w.write(ex.SerializeToString())
w.close()


def read_and_decode(q):
    reader = tf.TFRecordReader(options=opts)
    key, s = reader.read(q)
    f = tf.parse_single_example(
        s,
        features={
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
            "height": tf.FixedLenFeature((), tf.int64, default_value=0),
            "bbox": tf.VarLenFeature(tf.float32),
            "name": tf.FixedLenFeature([], tf.string, ""),
        },
    )
    im = tf.decode_raw(f["image_raw"], tf.uint8)
    im.set_shape([360])
    im = tf.reshape(im, [10, 12, 3])
    im = tf.cast(im, tf.float32) * (1.0 / 255) - 0.5
    return im, tf.cast(f["label"], tf.int32), f["bbox"], f["name"], key


q = tf.train.string_input_producer([fn], num_epochs=2, name="input")
im, lab, bbox, name, key = read_and_decode(q)
with tf.name_scope("batch"):
    ims, labs, bb, names = tf.train.shuffle_batch(
        [im, lab, bbox, name],
        batch_size=8,
        num_threads=2,
        capacity=40,
        min_after_dequeue=10,
        allow_smaller_final_batch=True,
    )
    _, bucketed = tf.contrib.training.bucket_by_sequence_length(
        tf.cast(lab, tf.int32) + 1,
        [lab, tf.range(lab + 1)],
        batch_size=4,
        bucket_boundaries=[2, 3],
        dynamic_pad=True,
        allow_smaller_final_batch=True,
    )
hist = tf.histogram_fixed_width(ims, [-0.5, 0.5], nbins=4)
ctx, seqs = tf.parse_single_sequence_example(
    tf.train.string_input_producer([seqfn], shuffle=False)
    and tf.TFRecordReader().read(tf.train.string_input_producer([seqfn], shuffle=False))[1],
    context_features={"length": tf.FixedLenFeature([], dtype=tf.int64)},
    sequence_features={"tokens": tf.FixedLenSequenceFeature([], dtype=tf.int64)},
)
padded = tf.train.batch([ctx["length"], seqs["tokens"]], 4, dynamic_pad=True, name="pad")
with tf.Session() as sess:
    sess.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    n = 0
    try:
        print(sess.run(padded)[1], sess.run(bucketed)[1].shape[1] in (1, 2, 3))
        while not coord.should_stop():
            a, l, b, nm, h = sess.run([ims, labs, bb, names, hist])
            n += len(l)
            assert b.dense_shape[0] == len(l), (b.dense_shape, len(l))
            assert h.sum() == a.size
    except tf.errors.OutOfRangeError:
        print("Done training for %d epochs, %d steps." % (2, n))
    finally:
        coord.request_stop()
    coord.join(threads, stop_grace_period_secs=5)
it = tf.python_io.tf_record_iterator(path=fn, options=opts)
e = tf.train.Example()
e.ParseFromString(next(it))
print(
    e.features.feature["label"].int64_list.value[0],
    sum(1 for _ in it),
    e.features.feature["name"].bytes_list.value,
)
