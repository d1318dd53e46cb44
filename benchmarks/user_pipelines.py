"""Pipelines as programs of users have them, with random numbers, functions and orders of stages.

    pipeline = drawn(tf, seed, folder)     the same pipeline in each library: only the seed counts
    pipeline.dataset, pipeline.text

The files that the sources read lie in `folder`; `write_files` writes them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PICTURES, ROWS, FILES, WORDS = 96, 3000, 4, 500


class Pipeline(NamedTuple):
    """A dataset, and the names of its source and transformations."""

    dataset: Any
    text: str


class Draw:
    """Random choices of a pipeline, which note their names."""

    def __init__(self, tf: Any, seed: int, folder: Path) -> None:
        self.tf, self.folder, self.random = tf, folder, random.Random(seed)
        self.parts: list[str] = []

    def of(self, *choices: Any) -> Any:
        """Return one of the choices, and note a number or a text."""
        choice = self.random.choice(choices)
        if isinstance(choice, (int, float, str)) or choice is None:
            self.parts.append(str(choice))
        return choice

    def whether(self, name: str, likely: float = 0.5) -> bool:
        """Return a random truth value, and note the name if it is True."""
        is_true = self.random.random() < likely
        if is_true:
            self.parts.append(name)
        return is_true

    def path(self, name: str) -> str:
        """Return the path of a file."""
        return str(self.folder / name)

    def paths(self, name: str) -> list[str]:
        """Return the paths of all parts of a file."""
        return [self.path(f"{name}{part}") for part in range(FILES)]


def drawn(tf: Any, seed: int, folder: Path) -> Pipeline:
    """Return the pipeline of a seed."""
    draw = Draw(tf, seed, folder)
    make = KINDS[seed % len(KINDS)]
    draw.parts.append(make.__name__.strip("_"))
    dataset = make(draw)
    if draw.whether("prefetch", 0.7):
        dataset = dataset.prefetch(draw.of(1, 2, -1))
    return Pipeline(dataset, " ".join(draw.parts))


# -- files


def write_files(tf: Any, folder: Path) -> None:
    """Write the files that sources read."""
    numbers = np.random.default_rng(0)
    words = [f"word{number}" for number in range(WORDS)]
    _write_pictures(tf, folder, numbers)
    for part in range(FILES):
        rows = range(part, ROWS, FILES)
        texts = [" ".join(numbers.choice(words, 2 + row % 17)) for row in rows]
        (folder / f"sentences{part}").write_text("\n".join(texts) + "\n")
        table = ["a,b,c,label", *(f"{row},{row / 7:.4f},name{row % 50},{row % 2}" for row in rows)]
        (folder / f"table{part}").write_text("\n".join(table) + "\n")
        for name, make in (("examples", _example), ("sequences", _sequence)):
            _write_records(tf, folder / f"{name}{part}", [make(tf, numbers, row) for row in rows])
        zipped = [_example(tf, numbers, row) for row in rows]
        _write_records(tf, folder / f"zipped{part}", zipped, "GZIP")
    (folder / "vocabulary").write_text("\n".join(words[: WORDS - 20]) + "\n")


def _write_records(tf: Any, path: Path, records: list[bytes], compression: str = "") -> None:
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for record in records:
            writer.write(record)


def _write_pictures(tf: Any, folder: Path, numbers: Any) -> None:
    """Write photographs of different sizes and small pictures, each as JPEG and PNG records."""
    with tf.Graph().as_default(), tf.Session() as session:
        pixels = tf.placeholder(tf.uint8, [None, None, 3])
        formats = {"jpeg": tf.io.encode_jpeg(pixels, quality=90), "png": tf.io.encode_png(pixels)}
        for name, text in formats.items():
            records = []
            for number in range(PICTURES):
                rows = 8 + number % 5, 10 + number % 3, 3
                large = np.kron(numbers.integers(0, 255, rows), np.ones([24, 24, 1]))
                noisy = np.clip(large + numbers.integers(0, 12, large.shape), 0, 255)
                contents = session.run(text, {pixels: noisy.astype(np.uint8)})
                records.append(_labelled(tf, contents, number))
            _write_records(tf, folder / f"{name}_records", records)
            records = []
            for number in range(10 * PICTURES):
                small = np.kron(numbers.integers(0, 255, [4, 4, 3]), np.ones([8, 8, 1]))
                contents = session.run(text, {pixels: small.astype(np.uint8)})
                records.append(_labelled(tf, contents, number))
            _write_records(tf, folder / f"small_{name}_records", records)


def _labelled(tf: Any, contents: bytes, number: int) -> bytes:
    features = {"image": _bytes(tf, [contents]), "label": _ints(tf, [number % 10])}
    message = tf.train.Example(features=tf.train.Features(feature=features))
    result: bytes = message.SerializeToString()
    return result


def _bytes(tf: Any, values: Any) -> Any:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def _ints(tf: Any, values: Any) -> Any:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def _floats(tf: Any, values: Any) -> Any:
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def _example(tf: Any, numbers: Any, row: int) -> bytes:
    features = {
        "x": _floats(tf, numbers.normal(size=40)),
        "ids": _ints(tf, numbers.integers(0, WORDS, row % 9)),
        "weights": _floats(tf, numbers.normal(size=row % 9)),
        "raw": _bytes(tf, [numbers.integers(0, 255, 64).astype(np.uint8).tobytes()]),
        "words": _bytes(tf, [b"word%d" % n for n in range(row % 4)]),
        "y": _ints(tf, [row % 10]),
    }
    message = tf.train.Example(features=tf.train.Features(feature=features))
    result: bytes = message.SerializeToString()
    return result


def _sequence(tf: Any, numbers: Any, row: int) -> bytes:
    steps = 1 + row % 12
    lists = {
        "tokens": [_ints(tf, [number]) for number in numbers.integers(0, WORDS, steps)],
        "frames": [_floats(tf, numbers.normal(size=8)) for _ in range(steps)],
    }
    message = tf.train.SequenceExample(
        context=tf.train.Features(feature={"y": _ints(tf, [row % 10])}),
        feature_lists=tf.train.FeatureLists(
            feature_list={
                name: tf.train.FeatureList(feature=parts) for name, parts in lists.items()
            }
        ),
    )
    result: bytes = message.SerializeToString()
    return result


# -- common parts


def _records(draw: Draw, name: str, compression: str = "") -> Any:
    """Return a dataset of the records of several files, read in one of the usual ways."""
    tf = draw.tf
    way = draw.of("files", "interleave", "parallel_interleave", "flat_map")
    paths = draw.paths(name)
    read = lambda path: tf.data.TFRecordDataset(path, compression)  # noqa: E731
    names = tf.data.Dataset.from_tensor_slices(paths)
    if way == "files":
        return read(paths)
    if way == "flat_map":
        return names.flat_map(read)
    if way == "interleave":
        return names.interleave(read, draw.of(2, 4), draw.of(1, 8), draw.of(None, 2, -1))
    return names.apply(tf.data.experimental.parallel_interleave(read, draw.of(2, 4)))


def _mixed(draw: Draw, dataset: Any) -> Any:
    """Return a dataset that is shuffled, repeated, or both."""
    if draw.whether("shuffle", 0.6):
        dataset = dataset.shuffle(draw.of(64, 1000), seed=draw.of(1, 2))
    if draw.whether("repeat", 0.3):
        dataset = dataset.repeat(2)
    return dataset


def _calls(draw: Draw) -> Any:
    return draw.of(None, 2, 4, -1)


def _batched(draw: Draw, dataset: Any, *sizes: int) -> Any:
    size, drop = draw.of(*sizes), draw.whether("drop")
    return dataset.batch(size, drop)


# -- images


def _pictures(draw: Draw) -> Any:
    tf = draw.tf
    form = draw.of("jpeg", "jpeg", "png")
    small = draw.whether("small", 0.3)
    name = f"small_{form}_records" if small else f"{form}_records"
    spec = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    decode = {
        "jpeg": lambda text: tf.image.decode_jpeg(text, 3),
        "png": lambda text: tf.image.decode_png(text, 3),
    }[form]
    size = 32 if small else draw.of(96, 160)
    change = _augmentation(draw, size)

    def parsed(record: Any) -> Any:
        found = tf.io.parse_single_example(record, spec)
        return change(decode(found["image"])), found["label"]

    dataset = _mixed(draw, tf.data.TFRecordDataset(draw.path(name)))
    calls = _calls(draw)
    if draw.whether("map_and_batch", 0.25):
        both = tf.data.experimental.map_and_batch(parsed, 16, num_parallel_calls=2)
        return dataset.apply(both)
    return _batched(draw, dataset.map(parsed, calls), 8, 16, 32)


def _augmentation(draw: Draw, size: int) -> Callable[[Any], Any]:
    """Return a function from pixels of any size to floats of one size."""
    tf = draw.tf
    resize = draw.of("resize", "crop", "pad")
    steps = [name for name in _CHANGES if draw.whether(name, 0.3)]
    is_scaled_first = draw.whether("floats first")

    def changed(pixels: Any) -> Any:
        if is_scaled_first:
            pixels = tf.image.convert_image_dtype(pixels, tf.float32)
        if resize == "resize":
            pixels = tf.image.resize_images(pixels, [size, size])
        elif resize == "crop":
            pixels = tf.image.resize_image_with_crop_or_pad(pixels, size + 8, size + 8)
            pixels = tf.image.random_crop(pixels, [size, size, 3], seed=4)
        else:
            pixels = tf.image.resize_image_with_crop_or_pad(pixels, size, size)
        pixels = tf.cast(pixels, tf.float32)
        pixels = pixels if is_scaled_first else pixels / 255.0
        for name in steps:
            pixels = _CHANGES[name](tf, pixels)
        return pixels

    return changed


_CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "flip": lambda tf, x: tf.image.random_flip_left_right(x, seed=1),
    "brightness": lambda tf, x: tf.image.random_brightness(x, 0.2, seed=2),
    "contrast": lambda tf, x: tf.image.random_contrast(x, 0.8, 1.2, seed=3),
    "standard": lambda tf, x: tf.image.per_image_standardization(x),
    "centre": lambda tf, x: (x - 0.5) * 2.0,
    "mean": lambda tf, x: x - tf.constant([0.48, 0.45, 0.41]),
}


def _arrays_of_images(draw: Draw) -> Any:
    """Small images in memory, as MNIST and CIFAR are used."""
    tf = draw.tf
    numbers = np.random.default_rng(1)
    images = numbers.integers(0, 255, [2000, 32, 32, 3]).astype(np.uint8)
    labels = (np.arange(2000) % 10).astype(np.int32)
    flips = draw.whether("flip")

    def scaled(image: Any, label: Any) -> Any:
        image = tf.cast(image, tf.float32) / 255.0
        if flips:
            image = tf.image.random_flip_left_right(image, seed=1)
        return image, tf.one_hot(label, 10)

    dataset = _mixed(draw, tf.data.Dataset.from_tensor_slices((images, labels)))
    if draw.whether("cache"):
        dataset = dataset.cache()
    return _batched(draw, dataset.map(scaled, _calls(draw)), 32, 100)


# -- texts


def _table(draw: Draw) -> Any:
    lookup = draw.tf.lookup
    path = draw.path("vocabulary")
    kind, line = lookup.TextFileIndex.WHOLE_LINE, lookup.TextFileIndex.LINE_NUMBER
    texts = lookup.TextFileInitializer(path, draw.tf.string, kind, draw.tf.int64, line)
    if draw.whether("buckets"):
        return lookup.StaticVocabularyTable(texts, 5)
    return lookup.StaticHashTable(texts, -1)


def _sentences(draw: Draw) -> Any:
    tf, table = draw.tf, _table(draw)
    lines = tf.data.TextLineDataset(draw.paths("sentences"))
    calls = _calls(draw)
    words = lines.map(lambda line: tf.string_split([line]).values, calls)
    if draw.whether("cut"):
        words = words.map(lambda parts: parts[:10], calls)
    ids = words.map(table.lookup, calls)
    if draw.whether("filter"):
        ids = ids.filter(lambda x: tf.size(x) > 3)
    if draw.whether("shuffle"):
        ids = ids.shuffle(draw.of(100, 1000), seed=1)
    way = draw.of("padded", "bucket", "pairs")
    if way == "padded":
        return ids.padded_batch(draw.of(16, 32, 64), [None])
    if way == "bucket":
        bucket = tf.data.experimental.bucket_by_sequence_length
        return ids.apply(bucket(tf.size, [5, 10, 15], [32, 32, 16, 16]))
    pairs = ids.map(lambda x: {"ids": x, "length": tf.size(x), "next": x[1:]}, calls)
    return pairs.padded_batch(32, {"ids": [None], "length": [], "next": [None]})


def _lines_of_fields(draw: Draw) -> Any:
    tf = draw.tf
    defaults = [[0], [0.0], [""], [0]]

    def parsed(line: Any) -> Any:
        a, b, c, label = tf.io.decode_csv(line, defaults)
        return {"a": a, "b": b, "c": c}, label

    names = tf.data.Dataset.from_tensor_slices(draw.paths("table"))
    lines = names.flat_map(lambda path: tf.data.TextLineDataset(path).skip(1))
    if draw.whether("batch first"):
        return _batched(draw, _mixed(draw, lines), 32, 128).map(parsed, _calls(draw))
    return _batched(draw, _mixed(draw, lines.map(parsed, _calls(draw))), 32, 128)


def _csv_files(draw: Draw) -> Any:
    tf = draw.tf
    return tf.data.experimental.make_csv_dataset(
        draw.paths("table"), draw.of(16, 64), label_name="label", num_epochs=1,
        shuffle=draw.whether("shuffle"), shuffle_seed=1, num_parallel_reads=draw.of(1, 2),
        column_defaults=[tf.int32, tf.float32, tf.string, tf.int32],
    )  # fmt: skip


# -- records


def _parsed_examples(draw: Draw) -> Any:
    tf = draw.tf
    zipped = draw.whether("gzip")
    records = _records(draw, *(("zipped", "GZIP") if zipped else ("examples",)))
    spec = {
        "x": tf.io.FixedLenFeature([40], tf.float32),
        "ids": tf.io.VarLenFeature(tf.int64),
        "raw": tf.io.FixedLenFeature([], tf.string),
        "y": tf.io.FixedLenFeature([], tf.int64),
        "words": tf.io.VarLenFeature(tf.string),
    }
    chosen = ["y", *(name for name in ("x", "ids", "raw", "words") if draw.whether(name, 0.6))]
    spec = {name: spec[name] for name in chosen}

    def finished(found: Any) -> Any:
        result = dict(found)
        for name in ("ids", "words"):
            if name in result:
                default = 0 if name == "ids" else ""
                result[name] = tf.sparse.to_dense(result[name], default)
        if "raw" in result:
            result["raw"] = tf.cast(tf.io.decode_raw(result["raw"], tf.uint8), tf.float32) / 255.0
        return result

    records, calls = _mixed(draw, records), _calls(draw)
    size = draw.of(16, 64)
    if draw.whether("batch first"):
        batches = records.batch(size)
        return batches.map(lambda texts: finished(tf.io.parse_example(texts, spec)), calls)
    parsed = records.map(lambda text: finished(tf.io.parse_single_example(text, spec)), calls)
    if "ids" in chosen or "words" in chosen:
        return parsed.padded_batch(size, tf.data.get_output_shapes(parsed))
    return parsed.batch(size)


def _sequences(draw: Draw) -> Any:
    tf = draw.tf
    context = {"y": tf.io.FixedLenFeature([], tf.int64)}
    lists = {
        "tokens": tf.io.FixedLenSequenceFeature([], tf.int64),
        "frames": tf.io.FixedLenSequenceFeature([8], tf.float32),
    }
    if draw.whether("tokens alone"):
        del lists["frames"]

    def parsed(text: Any) -> Any:
        found, steps = tf.io.parse_single_sequence_example(text, context, lists)
        return {**steps, "length": tf.shape(steps["tokens"])[0]}, found["y"]

    examples = _mixed(draw, _records(draw, "sequences")).map(parsed, _calls(draw))
    if draw.whether("bucket"):
        bucket = tf.data.experimental.bucket_by_sequence_length
        return examples.apply(bucket(lambda x, y: x["length"], [4, 8], [32, 32, 32]))
    return examples.padded_batch(draw.of(16, 32), tf.data.get_output_shapes(examples))


# -- others


def _generator(draw: Draw) -> Any:
    tf = draw.tf

    def rows() -> Any:
        for number in range(1000):
            yield {"x": np.full(8, number, np.float32), "n": number, "s": b"text %d" % number}

    types = {"x": tf.float32, "n": tf.int64, "s": tf.string}
    shapes = {"x": [8], "n": [], "s": []}
    dataset = tf.data.Dataset.from_generator(rows, types, shapes)
    if draw.whether("map"):
        dataset = dataset.map(lambda row: (row["x"] * 2.0, row["n"] + 1), _calls(draw))
    return _batched(draw, _mixed(draw, dataset), 10, 50)


def _series(draw: Draw) -> Any:
    """Windows of a series, as inputs and labels."""
    tf, size = draw.tf, draw.of(10, 30)
    series = np.sin(np.arange(3000) / 10).astype(np.float32)
    windows = tf.data.Dataset.from_tensor_slices(series).window(size + 1, draw.of(1, 3), 1, True)
    rows = windows.flat_map(lambda part: part.batch(size + 1))
    rows = _mixed(draw, rows).map(lambda row: (row[:-1], row[-1]), _calls(draw))
    return _batched(draw, rows, 32, 64)


def _several(draw: Draw) -> Any:
    """Several datasets zipped, sampled or chosen from."""
    tf = draw.tf
    numbers = np.random.default_rng(2).normal(size=[3000, 20]).astype(np.float32)
    first = tf.data.Dataset.from_tensor_slices((numbers, np.arange(3000) % 5))
    second = first.map(lambda x, y: (x * 0.5 + 1.0, y + 5), _calls(draw))
    way = draw.of("sample", "choose", "zip", "concatenate")
    if way == "sample":
        dataset = tf.data.experimental.sample_from_datasets([first, second], [0.3, 0.7], seed=1)
    elif way == "choose":
        choices = tf.data.Dataset.range(2).repeat(2000)
        dataset = tf.data.experimental.choose_from_datasets([first, second], choices)
    elif way == "zip":
        both = tf.data.Dataset.zip((first, second))
        dataset = both.map(lambda a, b: (tf.concat([a[0], b[0]], 0), a[1] * b[1]), _calls(draw))
    else:
        dataset = first.concatenate(second)
    return _batched(draw, _mixed(draw, dataset), 32, 100)


def _python(draw: Draw) -> Any:
    """A function of NumPy in the middle."""
    tf = draw.tf
    numbers = np.random.default_rng(3).normal(size=[1000, 50]).astype(np.float32)

    def changed(row: Any) -> Any:
        (result,) = tf.py_func(lambda x: [np.cumsum(x, dtype=np.float32)], [row], [tf.float32])
        result.set_shape([50])
        return result

    dataset = _mixed(draw, tf.data.Dataset.from_tensor_slices(numbers))
    return _batched(draw, dataset.map(changed, _calls(draw)), 20, 64)


KINDS: list[Callable[[Draw], Any]] = [
    _pictures, _sentences, _parsed_examples, _sequences, _pictures, _lines_of_fields, _csv_files,
    _parsed_examples, _generator, _series, _several, _arrays_of_images, _sentences, _python,
]  # fmt: skip
