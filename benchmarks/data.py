"""Pipelines of tf.data: gpugraph beside TensorFlow's v1 API.

    python benchmarks/data.py [--rows ROW ...] [--rounds N] [--json FILE] [--check]

The time is that of one element or example, while a session reads a pipeline to its end; --check
compares the last element. Both libraries encode and decode JPEG files themselves, so that row
differs by a few levels. `data_sample.py` draws random pipelines. See benchmarks/peers.py for the
search for peers and the measurements.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from peers import Once, Rows, main, tensorflow

EXAMPLES, SCALARS, LINES, GENERATED, IMAGES = 4000, 1_000_000, 40_000, 20_000, 200
FLOATS, BATCH, PASSES = 784, 100, 3


def own() -> Any:
    return importlib.import_module("gpugraph")


@functools.cache
def folder() -> Path:
    """Return a folder for the files of this process."""
    return Path(tempfile.mkdtemp(prefix="benchmark_data_"))


def read(library: Callable[[], Any], pipeline: Callable[[Any], Any], count: int) -> Once:
    """Return the seconds for one of `count` elements of a pipeline, and its last batch."""
    tf = library()
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = pipeline(tf).make_initializable_iterator()
        following = iterator.get_next()
        session.run(tf.tables_initializer())
        best = float("inf")
        for number in range(PASSES + 1):  # the first pass compiles
            session.run(iterator.initializer)
            start, last = time.perf_counter(), None
            try:
                while True:
                    last = session.run(following)
            except tf.errors.OutOfRangeError:
                seconds = time.perf_counter() - start
            best = min(best, seconds) if number else best
    return Once(best / count, last)


def record_file(tf: Any) -> str:
    path = folder() / "examples"
    rows = np.random.default_rng(0).normal(size=[EXAMPLES, FLOATS]).astype(np.float32)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for number, row in enumerate(rows):
            features = {
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=row)),
                "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
            }
            message = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(message.SerializeToString())
    return str(path)


def records(tf: Any) -> Any:
    spec = {
        "x": tf.io.FixedLenFeature([FLOATS], tf.float32),
        "y": tf.io.FixedLenFeature([], tf.int64),
    }
    texts = tf.data.TFRecordDataset(record_file(tf)).shuffle(1000, seed=1).batch(BATCH)
    return texts.map(lambda batch: tf.io.parse_example(batch, spec), 2).prefetch(2)


def lines(tf: Any) -> Any:
    path = folder() / "lines.txt"
    path.write_text("\n".join(f"w{n % 97} w{n % 89} w{n % 83}" for n in range(LINES)))
    keys = tf.constant([f"w{n}" for n in range(97)])
    values = tf.constant(np.arange(97))
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(keys, values), np.int64(-1)
    )
    batches = tf.data.TextLineDataset(str(path)).batch(BATCH)
    return batches.map(lambda texts: table.lookup(tf.string_split(texts).values)).prefetch(2)


def scalars(tf: Any) -> Any:
    return tf.data.Dataset.range(SCALARS).map(lambda x: x * 2 + 1).batch(1000)


def generated(tf: Any) -> Any:
    numbers = partial(itertools.islice, itertools.count(), GENERATED)
    return tf.data.Dataset.from_generator(numbers, tf.int64, []).batch(BATCH)


def interleaved(tf: Any) -> Any:
    names = []
    for number in range(16):
        path = folder() / f"part{number}.txt"
        path.write_text("\n".join(f"{number} {row}" for row in range(LINES // 16)))
        names.append(str(path))
    dataset = tf.data.Dataset.from_tensor_slices(names)
    return dataset.interleave(tf.data.TextLineDataset, 16, 1, 2).batch(BATCH)


def stepped(tf: Any) -> Any:
    rows = np.random.default_rng(0).normal(size=[EXAMPLES, FLOATS]).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(rows).shuffle(1000, seed=1).batch(BATCH)
    weights = tf.random.normal([FLOATS, 256], seed=1)
    return dataset.prefetch(2).map(lambda x: tf.reduce_sum(tf.nn.relu(tf.matmul(x, weights))))


def images(tf: Any) -> Any:
    path = folder() / "images"
    rows = np.random.default_rng(0).integers(0, 255, [IMAGES, 16, 16, 3]).astype(np.uint8)
    with tf.Session() as session, tf.io.TFRecordWriter(str(path)) as writer:
        pixels = tf.placeholder(tf.uint8, [None, None, 3])
        text = tf.io.encode_jpeg(pixels)
        for row in rows:
            large = np.kron(row, np.ones([16, 16, 1], np.uint8))
            writer.write(session.run(text, {pixels: large}))

    def decoded(text: Any) -> Any:
        image = tf.image.random_flip_left_right(tf.io.decode_jpeg(text, channels=3), seed=1)
        return tf.image.random_crop(image, [224, 224, 3], seed=2)

    return tf.data.TFRecordDataset(str(path)).map(decoded, 2).batch(20).prefetch(2)


def trained(library: Callable[[], Any]) -> Once:
    """Return the seconds for an example of a training fed by `prefetch`, and the last loss."""
    tf = library()
    rows = np.random.default_rng(0).normal(size=[EXAMPLES, FLOATS]).astype(np.float32)
    pair = rows, (rows[:, 0] > 0).astype(np.int64)
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.from_tensor_slices(pair).shuffle(1000, seed=1).repeat(4)
        dataset = dataset.map(lambda x, y: (x * 0.5 - 1, y)).batch(BATCH).prefetch(2)
        iterator = dataset.make_initializable_iterator()
        x, y = iterator.get_next()
        weights = tf.Variable(np.full([FLOATS, 256], 0.01, np.float32))
        more = tf.Variable(np.random.default_rng(1).normal(size=[256, 2]).astype(np.float32))
        scores = tf.matmul(tf.nn.relu(tf.matmul(x, weights)), more)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores)
        )
        train = tf.train.GradientDescentOptimizer(0.001).minimize(loss)
        session.run(tf.global_variables_initializer())
        best = float("inf")
        for number in range(PASSES + 1):  # the first pass compiles
            session.run(iterator.initializer)
            start, last = time.perf_counter(), None
            try:
                while True:
                    last = session.run([train, loss])
            except tf.errors.OutOfRangeError:
                seconds = time.perf_counter() - start
            best = min(best, seconds) if number else best
    return Once(best / (4 * EXAMPLES), last)


PIPELINES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "records shuffled, batched, parsed": (records, EXAMPLES),
    "lines split and looked up": (lines, LINES),
    "a function of scalars": (scalars, SCALARS),
    "a Python generator": (generated, GENERATED),
    "16 files side by side": (interleaved, LINES),
    "slices, shuffled, and a product": (stepped, EXAMPLES),
    "JPEG images decoded, flipped, cropped": (images, IMAGES),
}


def rows() -> Rows:
    """Return all rows."""
    steps = {"gpugraph": partial(trained, own), "tensorflow": partial(trained, tensorflow)}
    return {
        **{
            name: {
                "gpugraph": partial(read, own, pipeline, count),
                "tensorflow": partial(read, tensorflow, pipeline, count),
            }
            for name, (pipeline, count) in PIPELINES.items()
        },
        "a training step fed by prefetch": steps,
    }


if __name__ == "__main__":
    main(rows(), __file__)
