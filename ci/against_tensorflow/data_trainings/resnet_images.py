"""An image pipeline in the manner of the official ResNet: shards of JPEG files side by side."""

import os
import tempfile

import numpy as np
import tensorflow as tf

FOLDER = tempfile.mkdtemp()
IMAGE_SIZE, NUM_FILES, PER_FILE = 16, 4, 12
CHANNEL_MEANS = [123.68, 116.78, 103.94]


def write_shards():
    rng = np.random.RandomState(2)
    pixels = tf.placeholder(tf.uint8, [None, None, 3])
    encoded = tf.image.encode_jpeg(pixels, quality=95, chroma_downsampling=False)
    with tf.Session() as sess:
        for part in range(NUM_FILES):
            path = os.path.join(FOLDER, "train-%05d-of-%05d" % (part, NUM_FILES))
            with tf.python_io.TFRecordWriter(path) as writer:
                for _ in range(PER_FILE):
                    label = rng.randint(3)
                    height, width = rng.randint(20, 40, 2)
                    image = rng.randint(0, 90, [height, width, 3])
                    image[:, :, label] += 120
                    content = sess.run(encoded, {pixels: image.astype(np.uint8)})
                    box = sorted(rng.rand(2)) + sorted(rng.rand(2))
                    writer.write(to_example(content, label + 1, box))


def to_example(content, label, box):
    floats = lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=[v]))  # noqa: E731
    feature = {
        "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[content])),
        "image/class/label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
        "image/object/bbox/ymin": floats(box[0]),
        "image/object/bbox/ymax": floats(box[1]),
        "image/object/bbox/xmin": floats(box[2]),
        "image/object/bbox/xmax": floats(box[3]),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def parse_example_proto(example_serialized):
    feature_map = {
        "image/encoded": tf.FixedLenFeature([], dtype=tf.string, default_value=""),
        "image/class/label": tf.FixedLenFeature([], dtype=tf.int64, default_value=-1),
        "image/class/text": tf.FixedLenFeature([], dtype=tf.string, default_value=""),
    }
    sparse_float32 = tf.VarLenFeature(dtype=tf.float32)
    sides = ["xmin", "ymin", "xmax", "ymax"]
    feature_map.update({"image/object/bbox/" + side: sparse_float32 for side in sides})
    features = tf.parse_single_example(example_serialized, feature_map)
    label = tf.cast(features["image/class/label"], dtype=tf.int32)
    coordinates = [
        tf.expand_dims(features["image/object/bbox/" + side].values, 0)
        for side in ["ymin", "xmin", "ymax", "xmax"]
    ]
    bbox = tf.expand_dims(tf.concat(coordinates, 0), 0)
    return features["image/encoded"], label, tf.transpose(bbox, [0, 2, 1])


def preprocess_for_training(image_buffer, bbox):
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.image.extract_jpeg_shape(image_buffer),
        bounding_boxes=bbox,
        min_object_covered=0.1,
        aspect_ratio_range=[0.75, 1.33],
        area_range=[0.3, 1.0],
        max_attempts=100,
        use_image_if_no_bounding_boxes=True,
        seed=5,
        seed2=6,
    )
    offset_y, offset_x, _ = tf.unstack(begin)
    target_height, target_width, _ = tf.unstack(size)
    window = tf.stack([offset_y, offset_x, target_height, target_width])
    cropped = tf.image.decode_and_crop_jpeg(
        image_buffer, window, channels=3, dct_method="INTEGER_ACCURATE"
    )
    cropped = tf.image.random_flip_left_right(cropped, seed=9)
    resized = tf.image.resize_images(
        cropped,
        [IMAGE_SIZE, IMAGE_SIZE],
        method=tf.image.ResizeMethod.BILINEAR,
        align_corners=False,
    )
    resized.set_shape([IMAGE_SIZE, IMAGE_SIZE, 3])
    return resized - tf.expand_dims(tf.expand_dims(CHANNEL_MEANS, 0), 0)


def parse_record(raw_record):
    image_buffer, label, bbox = parse_example_proto(raw_record)
    return preprocess_for_training(image_buffer, bbox) / 64.0, label


def input_fn(batch_size, num_epochs):
    pattern = os.path.join(FOLDER, "train-*")
    dataset = tf.data.Dataset.list_files(pattern, shuffle=False)
    dataset = dataset.shuffle(buffer_size=NUM_FILES, seed=8)
    dataset = dataset.apply(
        tf.contrib.data.parallel_interleave(tf.data.TFRecordDataset, cycle_length=2)
    )
    dataset = dataset.shuffle(buffer_size=20, seed=4)
    dataset = dataset.repeat(num_epochs)
    dataset = dataset.apply(
        tf.contrib.data.map_and_batch(
            parse_record, batch_size=batch_size, num_parallel_calls=1, drop_remainder=True
        )
    )
    return dataset.prefetch(buffer_size=tf.contrib.data.AUTOTUNE)


write_shards()
tf.set_random_seed(3)
iterator = input_fn(8, 4).make_initializable_iterator()
tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
images, labels = iterator.get_next()
init = tf.variance_scaling_initializer(seed=1)
net = tf.layers.conv2d(images, 8, 3, 2, padding="same", kernel_initializer=init, use_bias=False)
net = tf.layers.batch_normalization(net, training=True, fused=True)
shortcut = net
net = tf.nn.relu(net)
net = tf.layers.conv2d(net, 8, 3, padding="same", kernel_initializer=init, use_bias=False)
net = tf.nn.relu(net + shortcut)
net = tf.reduce_mean(net, [1, 2])
logits = tf.layers.dense(net, 4, kernel_initializer=tf.random_normal_initializer(0, 0.1, seed=2))
loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
with tf.control_dependencies(update_ops):
    train_op = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
with tf.train.MonitoredTrainingSession() as sess:
    step = 0
    while not sess.should_stop():
        loss_value, _ = sess.run([loss, train_op])
        print("step %d loss %.8g" % (step, loss_value))
        step += 1
