"""Programs of datasets in which several transformations work together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from recorded_programs import Programs

from life.pipelines import Pipeline, add

PROGRAMS: Programs = {}

_X = np.arange(36, dtype=np.float32).reshape(12, 3)
_WORDS = ["b c a", "a", "", "c c", "d e f g", "a b"]


class _Row(NamedTuple):
    """A row and its label."""

    x: Any
    y: Any


def _split(tf: Any) -> Any:
    return lambda text: tf.string_split([text]).values


def _table(tf: Any) -> Any:
    keys = tf.constant([*"abc"])
    init = tf.lookup.KeyValueTensorInitializer(keys, tf.constant([1, 2, 3], tf.int64))
    return tf.lookup.StaticVocabularyTable(init, 2)


def _of_bits(tf: Any, x: Any) -> Any:
    return tf.while_loop(
        lambda rest, count: rest > 0,
        lambda rest, count: (rest // 2, count + rest % 2),
        [x, tf.constant(0, tf.int64)],
    )[1]


def _python(x: Any, text: Any) -> Any:
    return np.float64(x) / 2, text + b"!" * int(x)


def _normalized(tf: Any, d: Any) -> Any:
    rows = d.from_tensor_slices(_X)
    total = rows.reduce(np.zeros(3, np.float32), lambda s, r: s + r)
    return rows.map(lambda r: r - total / 12.0).batch(5).map(lambda b: tf.reduce_sum(b, 0))


def _sliding(tf: Any, d: Any) -> Any:
    windows = d.range(12).window(4, 2, drop_remainder=True).flat_map(lambda w: w.batch(4))
    pairs = windows.map(lambda w: (w[:-1], w[1:])).shuffle(3, seed=5).repeat(2)
    return pairs.batch(2, drop_remainder=True)


def _curriculum(tf: Any, d: Any) -> Any:
    sizes = d.range(1, 5)
    return sizes.flat_map(lambda n: d.range(n * 3).shuffle(4, seed=2).batch(n).take(2)).map(tf.size)


def _grouped_text(tf: Any, d: Any) -> Any:
    texts = d.from_tensor_slices(_WORDS).map(_split(tf)).filter(lambda t: tf.size(t) > 0)
    return texts.apply(
        tf.data.experimental.group_by_window(
            lambda t: tf.cast(tf.minimum(tf.size(t), 2), tf.int64),
            lambda key, w: w.padded_batch(2, [None], "_"),
            window_size=2,
        )
    )


def _mixed(tf: Any, d: Any) -> Any:
    parts = [
        d.range(5).map(lambda x, k=k: x + 10 * k).shuffle(3, seed=k + 1).repeat() for k in range(3)
    ]
    mixed = tf.data.experimental.sample_from_datasets(parts, [0.5, 0.25, 0.25], seed=4)
    return mixed.take(24).batch(6)


def _nested_windows(tf: Any, d: Any) -> Any:
    return (
        d.range(20)
        .window(6)
        .flat_map(lambda w: w.window(3).flat_map(lambda v: v.batch(3).map(tf.reduce_sum)))
    )


def _unbatched(tf: Any, d: Any) -> Any:
    batches = d.from_tensor_slices({"x": _X, "y": np.arange(12)}).batch(5)
    rows = batches.apply(tf.data.experimental.unbatch()).shuffle(6, seed=8).skip(2).take(6)
    return rows.map(lambda row: (row["y"], tf.reduce_max(row["x"])))


def _scanned(tf: Any, d: Any) -> Any:
    averaged = d.from_tensor_slices(_X[:, 0]).apply(
        tf.data.experimental.scan(
            (0.0, 0.0), lambda s, x: ((s[0] + x, s[1] + 1.0), (s[0] + x) / (s[1] + 1.0))
        )
    )
    return averaged.apply(tf.data.experimental.take_while(lambda m: m < 12.0)).batch(4)


def _stateless(tf: Any, d: Any) -> Any:
    return d.range(6).map(
        lambda x: tf.random.stateless_uniform([2], tf.stack([x, x + 1]), maxval=100, dtype=tf.int32)
    )


def _cond_of_datasets(tf: Any, d: Any) -> Any:
    def of(x: Any) -> Any:
        count = tf.cond(tf.equal(x % 2, 0), lambda: x, lambda: x * 2)
        return d.from_tensors(x).repeat(count)

    return d.range(5).interleave(of, cycle_length=2, block_length=3)


def _case(tf: Any, x: Any) -> Any:
    return tf.case(
        [(tf.less(x, 2), lambda: x * 10), (tf.less(x, 4), lambda: x * 100)], default=lambda: -x
    )


def _sparse_batches(tf: Any, d: Any) -> Any:
    def row(x: Any) -> Any:
        dense = tf.one_hot(tf.stack([x % 4, (x + 1) % 4]), 4, dtype=tf.int64) * x
        return tf.SparseTensor(
            tf.where(dense > 0), tf.gather_nd(dense, tf.where(dense > 0)), [2, 4]
        )

    return d.range(5).map(row).batch(2).map(lambda s: (s, tf.sparse.reduce_sum(s)))


def _multi_hot(tf: Any, d: Any) -> Any:
    table = _table(tf)
    ids = d.from_tensor_slices(_WORDS).map(_split(tf)).map(table.lookup)
    hot = ids.map(lambda i: tf.reduce_sum(tf.one_hot(i, 5), 0))
    return hot.batch(4)


_COMBINED: dict[str, Pipeline] = {
    "normalized": _normalized,
    "sliding": _sliding,
    "curriculum": _curriculum,
    "grouped_text": _grouped_text,
    "mixed": _mixed,
    "nested_windows": _nested_windows,
    "unbatched": _unbatched,
    "scanned": _scanned,
    "stateless": _stateless,
    "cond_of_datasets": _cond_of_datasets,
    "sparse_batches": _sparse_batches,
    "multi_hot": _multi_hot,
    "bits": lambda tf, d: d.range(9).map(lambda x: (x, _of_bits(tf, x)), num_parallel_calls=3),
    "case": lambda tf, d: d.range(6).map(lambda x: _case(tf, x)),
    "python": lambda tf, d: d.zip((d.range(4), d.from_tensor_slices([*"abcd"]))).map(
        lambda x, text: tuple(tf.py_func(_python, [x, text], [tf.float64, tf.string]))
    ),
    "rows": lambda tf, d: (
        d.from_tensor_slices(_Row(_X, np.arange(12)))
        .filter(lambda row: row.y % 2 > 0)
        .map(lambda row: _Row(row.y, {"sum": tf.reduce_sum(row.x)}))
        .batch(4)
    ),
    "deep_structure": lambda tf, d: d.from_tensors(({"a": (1, {"b": 2.0})}, "x")).map(
        lambda first, text: {"t": text, "n": (first["a"][1]["b"], first["a"][0])}
    ),
    "zip_of_lengths": lambda tf, d: (
        d.zip((d.range(5), d.range(3).repeat(2), d.range(9).shuffle(9, seed=1))).skip(1).shard(2, 1)
    ),
    "concatenated": lambda tf, d: (
        d.range(3).batch(2).concatenate(d.range(10, 14).batch(3)).map(lambda b: (b, tf.shape(b)[0]))
    ),
    "enumerated_shuffle": lambda tf, d: (
        d.from_tensor_slices([*"abcdef"]).shuffle(3, seed=9).enumerate(10).repeat(2)
    ),
    "cached_after_random": lambda tf, d: (
        d.range(4).map(lambda x: tf.random.uniform([], seed=2)).cache().repeat(3)
    ),
    "cached_part": lambda tf, d: d.range(6).cache().take(3).repeat(2),
    "shuffled_batches": lambda tf, d: d.range(17).batch(3).shuffle(4, seed=3).repeat(2),
    "repeat_of_filter": lambda tf, d: d.range(9).filter(lambda x: x % 4 < 2).repeat(3).batch(4),
    "flat_map_of_files": lambda tf, d: d.from_tensor_slices([3, 0, 2]).flat_map(
        lambda n: d.from_tensors(n).repeat(tf.cast(n, tf.int64))
    ),
    "interleaved_batches": lambda tf, d: d.range(4).interleave(
        lambda x: d.range(x * 10, x * 10 + 5).batch(2), cycle_length=3, block_length=1
    ),
    "interleave_of_unequal": lambda tf, d: d.range(6).interleave(
        lambda x: d.range(x), cycle_length=4, block_length=2, num_parallel_calls=4
    ),
    "parallel_shuffled": lambda tf, d: d.range(3).interleave(
        lambda x: d.range(x * 5, x * 5 + 5).shuffle(5, seed=7), cycle_length=3
    ),
    "gather": lambda tf, d: d.from_tensor_slices([[0, 2], [1, 1]]).map(
        lambda i: tf.gather(tf.constant(_X), i)
    ),
    "strings": lambda tf, d: d.from_tensor_slices(_WORDS).map(
        lambda t: tf.strings.join([tf.strings.substr(t, 0, 0), tf.as_string(tf.strings.length(t))])
    ),
    "numbers_of_strings": lambda tf, d: (
        d.from_tensor_slices(["1,2.5", "3,4.5"])
        .map(lambda line: tf.decode_csv(line, [[0], [0.0]]))
        .map(lambda a, b: tf.to_float(a) * b)
    ),
    "raw_bytes": lambda tf, d: (
        d.from_tensor_slices([_X[0].tobytes(), _X[1].tobytes()])
        .map(lambda t: tf.decode_raw(t, tf.float32))
        .batch(2)
    ),
    "dtypes": lambda tf, d: d.range(3).map(
        lambda x: [tf.cast(x, t) for t in (tf.bool, tf.uint8, tf.float16, tf.complex64, tf.double)]
    ),
    "empty_batches": lambda tf, d: d.range(3).map(lambda x: tf.zeros([0, 2])).batch(2),
    "padded_structure": lambda tf, d: (
        d.range(1, 6)
        .map(lambda x: {"v": tf.range(x), "m": tf.fill([x, 2], 1.0), "s": tf.as_string(x)})
        .padded_batch(3, {"v": [None], "m": [None, 3], "s": []}, {"v": -1, "m": 0.5, "s": ""})
    ),
    "padded_after_filter": lambda tf, d: (
        d.range(8).filter(lambda x: x % 3 > 0).map(tf.range).padded_batch(2, [8])
    ),
    "take_then_repeat": lambda tf, d: d.range(9).shuffle(9, seed=6).take(3).repeat(3),
    "skip_in_repeat": lambda tf, d: d.range(5).repeat(2).skip(4).shuffle(20, seed=1).prefetch(1),
    "prefetch_twice": lambda tf, d: d.range(9).prefetch(2).shuffle(3, seed=4).prefetch(1).batch(2),
    "reduce_in_map": lambda tf, d: (
        d.range(9)
        .window(3)
        .map(lambda w: w.reduce(np.int64(1), lambda s, x: s * (x + 1)))
        .map(lambda x: x - 1)
    ),
    "random_crops": lambda tf, d: (
        d.range(5).map(lambda x: tf.random_crop(tf.constant(_X), [2, 2], seed=3)).batch(2)
    ),
    "random_flips": lambda tf, d: d.range(6).map(
        lambda x: tf.image.random_flip_left_right(tf.reshape(tf.constant(_X), [3, 4, 3]), seed=5)
    ),
    "normal_noise": lambda tf, d: d.from_tensor_slices(_X).map(
        lambda r: r + tf.random_normal([3], seed=7) + tf.truncated_normal([], seed=8)
    ),
    "shuffled_ids": lambda tf, d: d.range(3).map(
        lambda x: tf.random_shuffle(tf.range(5), seed=2) + tf.cast(x, tf.int32)
    ),
    "tensor_arrays": lambda tf, d: d.range(4).map(
        lambda x: tf.map_fn(lambda i: i * x, tf.range(tf.cast(3, tf.int64)))
    ),
    "top": lambda tf, d: d.from_tensor_slices(_X[:, ::-1]).map(lambda r: tuple(tf.nn.top_k(r, 2))),
    "matrix": lambda tf, d: d.from_tensors(_X).map(
        lambda m: tf.linalg.inv(tf.matmul(m, m, transpose_a=True) + 50.0 * tf.eye(3))
    ),
    "select": lambda tf, d: d.range(6).map(lambda x: tf.where(x > 2, x, -x)),
    "boolean_mask": lambda tf, d: d.from_tensor_slices(_X).map(
        lambda r: tf.boolean_mask(r, tf.equal(tf.cast(r, tf.int32) % 2, 0))
    ),
    "argmax": lambda tf, d: d.from_tensors(_X).repeat(2).map(lambda m: tf.argmax(m, 0)),
    "unique_values": lambda tf, d: d.from_tensors([1, 1, 3, 2, 3]).map(lambda v: tf.unique(v)[0]),
    "hashed": lambda tf, d: d.from_tensor_slices([*"abcd"]).map(
        lambda s: tf.strings.to_hash_bucket_fast(s, 100)
    ),
    "rejected": lambda tf, d: (
        d.range(40)
        .map(lambda x: (x, tf.cast(x % 4 > 2, tf.int32)))
        .apply(
            tf.data.experimental.rejection_resample(
                lambda x, y: y, [0.5, 0.5], initial_dist=[0.75, 0.25], seed=1
            )
        )
        .map(lambda label, element: element[0])
        .take(15)
    ),
    "chosen": lambda tf, d: tf.data.experimental.choose_from_datasets(
        [d.range(4).repeat(), d.range(10, 14).batch(1).apply(tf.data.experimental.unbatch())],
        d.range(2).repeat(4),
    ),
    "map_and_batch_strings": lambda tf, d: (
        d.from_tensor_slices(_WORDS)
        .apply(tf.data.experimental.map_and_batch(lambda t: (t, tf.strings.length(t)), 4))
        .repeat(2)
    ),
    "dense_to_sparse_text": lambda tf, d: (
        d.from_tensor_slices(_WORDS)
        .map(_split(tf))
        .apply(tf.data.experimental.dense_to_sparse_batch(3, [4]))
    ),
    "errors_between": lambda tf, d: (
        d.range(6)
        .map(lambda x: tf.debugging.check_numerics(1.0 / tf.cast(x % 3, tf.float32), "bad"))
        .apply(tf.data.experimental.ignore_errors())
        .batch(3)
    ),
    "generators_zipped": lambda tf, d: d.zip(
        (
            d.from_generator(lambda: ([i] * i for i in range(4)), tf.int32, [None]),
            d.from_generator(lambda: "abcd", tf.string, []),
        )
    ).padded_batch(3, ([None], [])),
    "generator_in_flat_map": lambda tf, d: d.range(3).flat_map(
        lambda x: d.from_generator(lambda n: range(n), tf.int64, [], args=(x,))
    ),
}
add(_COMBINED, "c_", PROGRAMS)
