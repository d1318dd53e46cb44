"""Random pipelines of tf.data: sources, functions and transformations, drawn by seeds.

    pipeline = drawn(tf, seed, folder)     the same pipeline in each library: only the seed counts
    pipeline.dataset, pipeline.text

The files that the sources read lie in `folder`; `write_files` writes them.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from random_functions import FUNCTIONS, INT, SMALL, Kind

ROWS, FILES = 4000, 4
MOST_BATCHES = 3


TEXT, RECORD = Kind("text"), Kind("record")


class Pipeline:
    """A pipeline while it is drawn: the dataset, and the kinds of the components of an element.

    batches: how often its elements were batched. rows: how many there are, roughly.
    """

    def __init__(self, tf: Any, seed: int, folder: Path) -> None:
        self.tf, self.folder = tf, folder
        self.random = random.Random(seed)
        self.parts: list[str] = []
        self.batches, self.rows = 0, float(ROWS)
        self.dataset, self.kinds = self.random.choice(SOURCES)(self)
        for _ in range(self.random.randint(2, 6)):
            self.step()
        if not self.batches and self.random.random() < 0.9:
            batch(self)
        if self.random.random() < 0.4:
            self.apply("prefetch", self.dataset.prefetch(self.random.choice([1, 2, -1])))

    @property
    def text(self) -> str:
        """The names of the source and of the transformations."""
        return ".".join(self.parts)

    @property
    def is_scalar(self) -> bool:
        """Whether the element is one scalar."""
        return len(self.kinds) == 1 and not self.kinds[0].shape

    @property
    def is_fixed(self) -> bool:
        """Whether all elements have one shape."""
        return all(None not in kind.shape for kind in self.kinds)

    def apply(self, name: str, dataset: Any, kinds: list[Kind] | None = None) -> None:
        """Continue with a dataset that a transformation returned."""
        self.parts.append(name)
        self.dataset = dataset
        if kinds is not None:
            self.kinds = kinds

    def step(self) -> None:
        """Append a random transformation that suits the elements."""
        while True:
            suits, add = self.random.choice(STEPS)
            if suits(self):
                add(self)
                return

    def number(self, *numbers: int) -> int:
        """Return one of the numbers."""
        return self.random.choice(numbers)


def drawn(tf: Any, seed: int, folder: Path) -> Pipeline:
    """Return the pipeline of a seed."""
    return Pipeline(tf, seed, folder)


# -- sources


def write_files(tf: Any, folder: Path) -> None:
    """Write the files that sources read."""
    random_numbers = np.random.default_rng(0)
    with tf.io.TFRecordWriter(str(folder / "records")) as writer:
        for number in range(ROWS):
            writer.write(_example(tf, number, random_numbers.normal(size=SMALL)))
    for part in range(FILES):
        texts = [f"{part} line {row} of {row * 7919 % 1000}" for row in range(ROWS // FILES)]
        (folder / f"lines{part}").write_text("\n".join(texts) + "\n")
    rows = [f"{row},{row / 7:.5f},name{row % 50}" for row in range(ROWS)]
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    (folder / "fixed").write_bytes(random_numbers.bytes(8 * ROWS))


def _example(tf: Any, number: int, floats: Any) -> bytes:
    count = number % 4
    feature = tf.train.Feature
    features = {
        "x": feature(float_list=tf.train.FloatList(value=floats)),
        "y": feature(int64_list=tf.train.Int64List(value=[number])),
        "n": feature(bytes_list=tf.train.BytesList(value=[b"name%d" % (number % 50)])),
        "v": feature(int64_list=tf.train.Int64List(value=range(count))),
    }
    message = tf.train.Example(features=tf.train.Features(feature=features))
    result: bytes = message.SerializeToString()
    return result


Started = tuple[Any, list[Kind]]


def _range(p: Pipeline) -> Started:
    p.parts.append("range")
    return p.tf.data.Dataset.range(ROWS), [INT]


def _slices(p: Pipeline) -> Started:
    p.parts.append("slices")
    rows = np.random.default_rng(1).normal(size=[ROWS, SMALL]).astype(np.float32)
    pair = rows, np.arange(ROWS) % 10
    return p.tf.data.Dataset.from_tensor_slices(pair), [Kind("float", (SMALL,)), INT]


def _texts(p: Pipeline) -> Started:
    p.parts.append("texts")
    return p.tf.data.Dataset.from_tensor_slices([f"text {n % 97}" for n in range(ROWS)]), [TEXT]


def _lines(p: Pipeline) -> Started:
    p.parts.append("lines")
    names = [str(p.folder / f"lines{part}") for part in range(FILES)]
    return p.tf.data.TextLineDataset(names), [TEXT]


def _records(p: Pipeline) -> Started:
    p.parts.append("records")
    return p.tf.data.TFRecordDataset(str(p.folder / "records")), [RECORD]


def _fixed(p: Pipeline) -> Started:
    p.parts.append("fixed")
    return p.tf.data.FixedLengthRecordDataset(str(p.folder / "fixed"), 8), [TEXT]


def _csv(p: Pipeline) -> Started:
    p.parts.append("csv")
    types = [p.tf.int64, p.tf.float32, p.tf.string]
    table = p.tf.data.experimental.CsvDataset(str(p.folder / "table.csv"), types)
    return table, [INT, Kind("float"), TEXT]


def _generated(p: Pipeline) -> Started:
    p.parts.append("generator")

    def numbers() -> Any:
        return iter(range(ROWS // 4))

    p.rows /= 4
    return p.tf.data.Dataset.from_generator(numbers, p.tf.int64, []), [INT]


def _interleaved(p: Pipeline) -> Started:
    names = [str(p.folder / f"lines{part}") for part in range(FILES)]
    files, cycle, block = (
        p.tf.data.Dataset.from_tensor_slices(names),
        p.number(2, 4),
        p.number(1, 5),
    )
    calls = p.number(0, 2) or None
    p.parts.append(f"interleave({cycle}, {block}, {calls})")
    return files.interleave(p.tf.data.TextLineDataset, cycle, block, calls), [TEXT]


SOURCES: list[Callable[[Pipeline], Started]] = [
    _range, _range, _slices, _slices, _texts, _lines, _records, _records, _fixed, _csv, _generated,
    _interleaved,
]  # fmt: skip


# -- functions of an element


def _each(p: Pipeline, name: str, function: Callable[..., Any], kinds: list[Kind]) -> None:
    calls = p.random.choice([None, None, 2, -1])
    p.apply(f"map {name}" + (f" {calls}" if calls else ""), p.dataset.map(function, calls), kinds)


def of_component(p: Pipeline) -> None:
    """Map a function of one component; the others stay."""
    at = p.random.randrange(len(p.kinds))
    choices = FUNCTIONS[p.kinds[at].dtype]
    name, function, changed = p.random.choice(choices(p.kinds[at]))
    tf, single = p.tf, len(p.kinds) == 1

    def mapped(*element: Any) -> Any:
        parts = list(element)
        parts[at] = function(tf, parts[at])
        return parts[0] if single else tuple(parts)

    _each(p, name, mapped, [*p.kinds[:at], changed, *p.kinds[at + 1 :]])


def parse(p: Pipeline) -> None:
    """Parse examples: single ones, or a batch."""
    tf, shape = p.tf, p.kinds[0].shape
    spec = {
        "x": tf.io.FixedLenFeature([SMALL], tf.float32),
        "y": tf.io.FixedLenFeature([], tf.int64),
        "n": tf.io.FixedLenFeature([], tf.string),
        "v": tf.io.VarLenFeature(tf.int64),
    }
    one = tf.io.parse_single_example if not shape else tf.io.parse_example
    names = p.random.choice([("x", "y"), ("x", "y", "n"), ("y", "v")])

    def parsed(record: Any) -> Any:
        found = one(record, {name: spec[name] for name in names})
        return tuple(found[n] if n != "v" else tf.sparse.to_dense(found[n]) for n in names)

    own = {"x": ("float", (SMALL,)), "y": ("int", ()), "n": ("text", ()), "v": ("int", (None,))}
    kinds = [Kind(own[name][0], (*shape, *own[name][1])) for name in names]
    _each(p, "parse", parsed, kinds)


# -- transformations


def batch(p: Pipeline) -> None:
    """Batch elements, padded if their shapes vary."""
    size, drop = p.number(4, 16, 64), p.random.random() < 0.3
    kinds = [Kind(k.dtype, (size if drop else None, *k.shape)) for k in p.kinds]
    name = f"batch({size})"
    p.batches, p.rows = p.batches + 1, p.rows / size
    if p.is_fixed and p.random.random() < 0.8:
        p.apply(name, p.dataset.batch(size, drop), kinds)
        return
    shapes = tuple([None] * len(k.shape) for k in p.kinds)
    p.apply(
        f"padded_{name}",
        p.dataset.padded_batch(size, shapes if len(shapes) > 1 else shapes[0], None, drop),
        kinds,
    )


def _shuffle(p: Pipeline) -> None:
    size = p.number(10, 100, 1000)
    p.apply(f"shuffle({size})", p.dataset.shuffle(size, seed=p.number(1, 2, 3)))


def _repeat(p: Pipeline) -> None:
    p.rows *= 2
    p.apply("repeat(2)", p.dataset.repeat(2))


def _take(p: Pipeline) -> None:
    p.apply("take", p.dataset.take(max(1, int(p.rows * 0.8))))


def _skip(p: Pipeline) -> None:
    p.apply("skip", p.dataset.skip(p.number(1, 5)))


def _shard(p: Pipeline) -> None:
    p.rows /= 2
    p.apply("shard", p.dataset.shard(2, 1))


def _filter(p: Pipeline) -> None:
    tf = p.tf
    p.rows *= 0.7
    if p.kinds[-1].dtype == "int":
        p.apply("filter", p.dataset.filter(lambda *e: tf.not_equal(e[-1] % 3, 1)))
    else:
        p.apply("filter", p.dataset.filter(lambda *e: e[-1] > -0.5))


def _zip(p: Pipeline) -> None:
    numbers = p.tf.data.Dataset.range(10**6)
    single = len(p.kinds) == 1
    both = p.tf.data.Dataset.zip((p.dataset, numbers))
    if not single:
        both = both.map(lambda e, n: (*e, n))
    p.apply("zip", both, [*p.kinds, INT])


def _enumerate(p: Pipeline) -> None:
    single = len(p.kinds) == 1
    numbered = p.dataset.enumerate()
    if not single:
        numbered = numbered.map(lambda n, e: (n, *e))
    p.apply("enumerate", numbered, [INT, *p.kinds])


def _concatenate(p: Pipeline) -> None:
    p.rows *= 1.5
    p.apply("concatenate", p.dataset.concatenate(p.dataset.take(max(1, int(p.rows / 3)))))


def _unbatch(p: Pipeline) -> None:
    p.batches, p.rows = p.batches - 1, p.rows * 16
    p.apply("unbatch", p.dataset.unbatch(), [Kind(k.dtype, k.shape[1:]) for k in p.kinds])


def _window(p: Pipeline) -> None:
    size = p.number(3, 8)
    windows = p.dataset.window(size, p.number(2, size), 1, True)
    tf = p.tf

    def joined(*parts: Any) -> Any:
        batches = tuple(part.batch(size) for part in parts)
        return batches[0] if len(batches) == 1 else tf.data.Dataset.zip(batches)

    p.batches += 1
    p.rows /= 3
    p.apply(
        f"window({size})",
        windows.flat_map(joined),
        [Kind(k.dtype, (None, *k.shape)) for k in p.kinds],
    )


def _cache(p: Pipeline) -> None:
    p.apply("cache", p.dataset.cache())


def _prefetch(p: Pipeline) -> None:
    p.apply("prefetch", p.dataset.prefetch(p.number(1, 8, 64)))


def _scan(p: Pipeline) -> None:
    tf = p.tf
    sums = tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, s + x))
    p.apply("scan", p.dataset.apply(sums))


def _unique(p: Pipeline) -> None:
    p.apply("unique", p.dataset.apply(p.tf.data.experimental.unique()))


def _ignore_errors(p: Pipeline) -> None:
    p.apply("ignore_errors", p.dataset.apply(p.tf.data.experimental.ignore_errors()))


def _flat_map(p: Pipeline) -> None:
    p.rows *= 2
    tf = p.tf
    p.apply("flat_map", p.dataset.flat_map(lambda *e: _datasets(tf, e).repeat(2)))


def _datasets(tf: Any, element: Any) -> Any:
    return tf.data.Dataset.from_tensors(element[0] if len(element) == 1 else element)


def _group(p: Pipeline) -> None:
    tf, size = p.tf, p.number(5, 20)
    groups = tf.data.experimental.group_by_window(
        lambda *e: e[-1] % 4, lambda key, rows: rows.batch(size), size
    )
    p.batches, p.rows = p.batches + 1, p.rows / size
    kinds = [Kind(k.dtype, (None, *k.shape)) for k in p.kinds]
    p.apply("group_by_window", p.dataset.apply(groups), kinds)


def _bucket(p: Pipeline) -> None:
    tf = p.tf
    buckets = tf.data.experimental.bucket_by_sequence_length(
        lambda *e: tf.shape(e[-1])[0], [2, 4], [8, 8, 8]
    )
    p.batches, p.rows = p.batches + 1, p.rows / 8
    kinds = [Kind(k.dtype, (None, *k.shape)) for k in p.kinds]
    p.apply("bucket_by_sequence_length", p.dataset.apply(buckets), kinds)


def _sample(p: Pipeline) -> None:
    parts = [p.dataset, p.dataset.skip(1)]
    p.rows *= 2
    mixed = p.tf.data.experimental.sample_from_datasets(parts, [0.5, 0.5], seed=5)
    p.apply("sample_from_datasets", mixed)


def _map_and_batch(p: Pipeline) -> None:
    size = p.number(4, 32)
    tf = p.tf
    both = tf.data.experimental.map_and_batch(
        lambda *e: e[0] if len(e) == 1 else e, size, num_parallel_calls=2
    )
    p.batches, p.rows = p.batches + 1, p.rows / size
    kinds = [Kind(k.dtype, (None, *k.shape)) for k in p.kinds]
    p.apply(f"map_and_batch({size})", p.dataset.apply(both), kinds)


def _always(p: Pipeline) -> bool:
    return True


def _may_batch(p: Pipeline) -> bool:
    return p.batches < MOST_BATCHES and p.rows >= SMALL


def _is_whole(p: Pipeline) -> bool:
    return _may_batch(p) and p.is_fixed


def _is_few(p: Pipeline) -> bool:
    return p.rows < 3 * ROWS


def _last(p: Pipeline, *dtypes: str) -> bool:
    return p.kinds[-1].dtype in dtypes and not p.kinds[-1].shape


Step = tuple[Callable[[Pipeline], bool], Callable[[Pipeline], None]]

STEPS: list[Step] = [
    *[(lambda p: p.kinds[0].dtype != "record", of_component)] * 6,
    *[(lambda p: p.kinds[0].dtype == "record" and len(p.kinds[0].shape) < 2
       and len(p.kinds) == 1, parse)] * 9,
    *[(_may_batch, batch)] * 4,
    *[(_always, _shuffle)] * 2,
    (_is_few, _repeat), (_always, _take), (_always, _skip), (_is_few, _shard),
    *[(lambda p: _last(p, "int", "float"), _filter)] * 2,
    (_always, _zip), (_always, _enumerate), (_is_few, _concatenate),
    (lambda p: p.batches > 0 and all(k.shape for k in p.kinds) and _is_few(p), _unbatch),
    (_is_whole, _window), (_always, _cache), (_always, _prefetch),
    (lambda p: len(p.kinds) == 1 and _last(p, "int"), _scan),
    (lambda p: len(p.kinds) == 1 and _last(p, "int", "text"), _unique),
    (_always, _ignore_errors),
    (_is_few, _flat_map),
    (lambda p: _is_whole(p) and _last(p, "int"), _group),
    (lambda p: _may_batch(p) and p.kinds[-1].shape == (None,)
       and p.kinds[-1].dtype != "record" , _bucket),
    (_is_few, _sample),
    (_is_whole, _map_and_batch),
]  # fmt: skip


def checksum(element: Any) -> float:
    """Return a number for the values of an element."""
    if isinstance(element, dict):
        element = tuple(element[name] for name in sorted(element))
    if isinstance(element, tuple):
        return sum(map(checksum, element))
    array = np.asarray(element)
    total = 0.001 * array.size
    if array.dtype.kind in "OSU":
        joined = b"|".join(map(bytes, array.ravel().tolist()))
        return total + zlib.crc32(struct.pack("<q", len(joined)) + joined) % 10007
    return total + float(np.sum(array, dtype=np.float64)) + float(array.ravel()[-1:].sum())
