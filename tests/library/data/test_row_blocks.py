"""Blocks of rows: random pipelines give the elements, errors and positions of single elements."""

from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.datasets.file_stages import Records
from gpugraph.ops.datasets.source_stages import Counted, RandomElements

D = tf.data.Dataset
BAD = 37
"""The number at which some functions fail."""


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("files")
    for part in range(3):
        lines = [f"{part},{row},w{row % 5}" for row in range(11 + 9 * part)]
        (path / f"lines{part}").write_text("\n".join(lines) + "\n" * (part % 2))
    bad = ["1,2,x", "1,zwei,x", '3,"4",y', "5,6", "7,8,z"] * 3
    (path / "bad").write_text("\n".join(bad))
    with tf.io.TFRecordWriter(str(path / "records")) as writer:
        for row in range(40):
            writer.write(b"%d" % row * (row % 7))
    content = (path / "records").read_bytes()
    (path / "cut").write_bytes(content[: len(content) // 2])
    damaged = bytearray(content)
    damaged[len(content) // 3] ^= 1
    (path / "damaged").write_bytes(damaged)
    return path


SOURCES = {
    "range": lambda r, f: D.range(r.choice([0, 1, 50, 130])),
    "slices": lambda r, f: D.from_tensor_slices(np.arange(90).reshape(45, 2)),
    "single": lambda r, f: D.from_tensors(np.int64(3)),
    "random": lambda r, f: tf.data.experimental.RandomDataset(3).take(60),
    "texts": lambda r, f: D.from_tensor_slices([str(n % 9) for n in range(40)]),
    "lines": lambda r, f: tf.data.TextLineDataset([str(f / f"lines{n}") for n in range(3)]),
    "missing": lambda r, f: tf.data.TextLineDataset([str(f / "lines0"), str(f / "none")]),
    "records": lambda r, f: tf.data.TFRecordDataset([str(f / "records"), str(f / "cut")]),
    "damaged": lambda r, f: tf.data.TFRecordDataset([str(f / "damaged"), str(f / "records")]),
    "fixed": lambda r, f: tf.data.FixedLengthRecordDataset([str(f / "records")] * 2, 3, 1, 1),
    "csv": lambda r, f: tf.data.experimental.CsvDataset(
        [str(f / "lines1"), str(f / "bad")], [tf.int64, tf.float32, tf.string]
    ),
    "files": lambda r, f: D.from_tensor_slices(
        [str(f / f"lines{n % 3}") for n in range(5)]
    ).interleave(tf.data.TextLineDataset, r.choice([1, 2, 4]), r.choice([1, 3]),
                 r.choice([None, 2])),
    "generator": lambda r, f: D.from_generator(lambda: iter(range(33)), tf.int64, []),
}  # fmt: skip


def _is_number(dataset):
    is_single = tf.data.get_output_types(dataset) == tf.int64
    return is_single and tf.data.get_output_shapes(dataset).rank is not None


def _is_scalar(dataset):
    return _is_number(dataset) and tf.data.get_output_shapes(dataset).rank == 0


def _failing(x):
    return x % (x - BAD) + x * 2


STEPS = {
    "take": lambda r, d: d.take(r.choice([0, 1, 17, 64])),
    "skip": lambda r, d: d.skip(r.choice([0, 1, 9])),
    "repeat": lambda r, d: d.take(30).repeat(r.choice([0, 2, 3])),
    "shuffle": lambda r, d: d.shuffle(r.choice([1, 5, 64]), seed=r.randrange(1, 9)),
    "shard": lambda r, d: d.shard(3, r.randrange(3)),
    "zip": lambda r, d: D.zip((d, d.skip(1))).map(lambda x, y: y) if _is_scalar(d) else d,
    "zip errors": lambda r, d: (
        D.zip((d.map(_failing), d.skip(2).map(_failing))).map(lambda x, y: x + y)
        if _is_number(d) else d
    ),
    "concatenate": lambda r, d: d.take(20).concatenate(d.skip(3).take(20)),
    "batch": lambda r, d: d.batch(r.choice([2, 7]), r.random() < 0.5),
    "unbatch": lambda r, d: d.batch(r.choice([2, 5])).unbatch(),
    "map": lambda r, d: d.map(lambda x: x * 3 + 1) if _is_number(d) else d,
    "failing": lambda r, d: d.map(_failing, r.choice([None, 2])) if _is_number(d) else d,
    "filter": lambda r, d: d.filter(lambda x: x % 3 > 0) if _is_scalar(d) else d,
    "bad filter": lambda r, d: d.filter(lambda x: x % (x - BAD) < 9) if _is_scalar(d) else d,
    "cache": lambda r, d: d.cache(),
    "cached": lambda r, d: d.apply(tf.data.experimental.ignore_errors()).cache().repeat(2),
    "prefetch": lambda r, d: d.prefetch(r.choice([1, 5])),
    "ignore": lambda r, d: d.apply(tf.data.experimental.ignore_errors()),
    "unique": lambda r, d: d.apply(tf.data.experimental.unique()) if _is_scalar(d) else d,
    "window": lambda r, d: (
        d.window(3, r.choice([1, 3, 4]), r.choice([1, 2]), r.random() < 0.5)
        .flat_map(lambda w: w.batch(2)) if _is_number(d) else d
    ),
    "flat_map": lambda r, d: d.flat_map(lambda *x: D.from_tensors(x).repeat(2)).map(
        lambda *x: x[0] if len(x) == 1 else x),
    "interleave": lambda r, d: (
        d.interleave(lambda x: D.range(x % 7), r.choice([1, 3]), r.choice([1, 2]))
        if _is_scalar(d) else d
    ),
    "sample": lambda r, d: tf.data.experimental.sample_from_datasets(
        [d, d.skip(1).take(20)], [0.6, 0.4], seed=5),
    "count": lambda r, d: d.apply(tf.data.experimental.assert_cardinality(r.choice([5, 40]))),
}  # fmt: skip


def drawn(seed, folder):
    """Return a random pipeline and its text."""
    chance = random.Random(seed)
    name = chance.choice(list(SOURCES))
    dataset, names = SOURCES[name](chance, folder), [name]
    for _ in range(chance.randint(1, 6)):
        name = chance.choice(list(STEPS))
        shapes = tf.nest.flatten(tf.data.get_output_shapes(dataset))
        if name == "unbatch" and None in shapes:
            continue
        if "count" in names and name in ("ignore", "cached"):
            continue  # its error at the end comes again and again
        names.append(name)
        dataset = STEPS[name](chance, dataset)
    return dataset, names


def outcomes(dataset, stops=(), most=60):
    """Return elements and errors; positions are saved and restored at the numbers in `stops`."""
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    stringified = tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)
    restored = tf.raw_ops.DeserializeIterator(
        resource_handle=iterator._iterator_resource, serialized=stringified
    )
    found = []
    with tf.Session() as session:
        session.run(iterator.initializer)
        for number in range(most):
            if number in stops:
                with contextlib.suppress(tf.errors.OpError):  # behind an error that waits
                    session.run(restored)
            try:
                parts = tf.nest.flatten(session.run(following))
                found.append([np.asarray(part).tolist() for part in parts])
            except tf.errors.OutOfRangeError:
                found.append("end")
                if found[-3:] == ["end"] * 3:
                    break
            except tf.errors.OpError as error:
                found.append([type(error).__name__, error.message.partition("\n")[0]])
    return found


def _without_blocks(monkeypatch):
    for source in (Counted, Records, RandomElements):
        monkeypatch.setattr(source, "has_rows", False)
        monkeypatch.setattr(source, "ahead", 1)


def _check(seed, folder, monkeypatch):
    dataset, names = drawn(seed, folder)
    by_blocks = outcomes(dataset)
    # a generator can't go back
    stopped = [] if "generator" in names else outcomes(dataset, stops=(1, 4, 9, 20, 33))
    with monkeypatch.context() as patch:
        _without_blocks(patch)
        expected = outcomes(dataset)
    assert by_blocks == expected, names
    assert stopped in ([], expected), names


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_random_pipelines(first, folder, monkeypatch):
    for seed in range(first, first + 10):
        with tf.Graph().as_default():
            _check(seed, folder, monkeypatch)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(30, 600, 10))
def test_more_random_pipelines(first, folder, monkeypatch):
    for seed in range(first, first + 10):
        with tf.Graph().as_default():
            _check(seed, folder, monkeypatch)
