"""Programs of datasets: a table of pipelines, each read to its end, and its static structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from recorded_programs import Programs, Record

PROGRAMS: Programs = {}

Pipeline = Callable[[Any, Any], Any]
"""(tf, tf.data.Dataset) -> a dataset."""


def elements(tf: Any, record: Record, key: str, dataset: Any, most: int = 60) -> list[Any]:
    """Record the elements of a dataset, or the error behind some of them."""
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    found: list[Any] = []
    with tf.Session() as session:

        def read() -> None:
            session.run(iterator.initializer)
            for _ in range(most):
                found.append(session.run(following))

        record.error(f"end of {key}", read)
    record(key, found)
    return found


def shape_texts(structure: Any) -> Any:
    """Return the shapes of a structure as lists of sizes."""
    if isinstance(structure, dict):
        return {key: shape_texts(part) for key, part in structure.items()}
    if isinstance(structure, tuple):
        return [shape_texts(part) for part in structure]
    if hasattr(structure, "as_list"):
        return "unknown" if structure.ndims is None else structure.as_list()
    return type(structure).__name__


def _program(pipeline: Pipeline) -> Callable[[Any, Record], None]:
    def run(tf: Any, record: Record) -> None:
        dataset = pipeline(tf, tf.data.Dataset)
        record("types", str(dataset.output_types))
        record("shapes", shape_texts(dataset.output_shapes))
        elements(tf, record, "elements", dataset)

    return run


def add(pipelines: dict[str, Pipeline], prefix: str = "", to: Programs | None = None) -> None:
    """Add a program for each pipeline to those of this module, or to others."""
    for name, pipeline in pipelines.items():
        (PROGRAMS if to is None else to)[f"{prefix}{name}"] = _program(pipeline)


class _Pair(NamedTuple):
    """Two components."""

    first: Any
    second: Any


_ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)

add(
    {
        "range": lambda tf, d: d.range(5),
        "range_from": lambda tf, d: d.range(2, 9, 3),
        "range_down": lambda tf, d: d.range(5, -5, -3),
        "range_empty": lambda tf, d: d.range(3, 1),
        "range_step_0": lambda tf, d: d.range(0, 3, 0),
        "tensors": lambda tf, d: d.from_tensors((1, [2.0, 3.0], "x")),
        "tensors_dict": lambda tf, d: d.from_tensors({"b": 1, "a": (2, [3])}),
        "slices": lambda tf, d: d.from_tensor_slices(_ROWS),
        "slices_of_dict": lambda tf, d: d.from_tensor_slices({"x": _ROWS, "y": [*"abcdef"]}),
        "slices_of_list": lambda tf, d: d.from_tensor_slices([1, 2, 3]),
        "slices_none": lambda tf, d: d.from_tensor_slices(np.zeros([0, 3])),
        "sparse_slices": lambda tf, d: d.from_sparse_tensor_slices(
            tf.SparseTensor([[0, 1], [2, 0], [2, 3]], [1, 2, 3], [4, 4])
        ),
        "sparse_element": lambda tf, d: d.from_tensors(
            tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 4])
        ),
        "slices_of_sparse": lambda tf, d: d.from_tensor_slices(
            tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 4])
        ),
        "generator": lambda tf, d: d.from_generator(lambda: iter([1, 2, 3]), tf.int32),
        "generator_shapes": lambda tf, d: d.from_generator(
            lambda: ((i, [1.0] * i) for i in range(4)), (tf.int64, tf.float32), ([], [None])
        ),
        "generator_args": lambda tf, d: d.from_generator(
            lambda n, s: (s * i for i in range(n)), tf.int64, [], args=(4, np.int64(3))
        ),
        "generator_dict": lambda tf, d: d.from_generator(
            lambda: ({"a": i, "b": str(i)} for i in range(3)), {"a": tf.int32, "b": tf.string}
        ),
        "generator_repeats": lambda tf, d: (
            d.from_generator(lambda: range(3), tf.int64, []).repeat(2).batch(4)
        ),
        "generator_wrong_shape": lambda tf, d: d.from_generator(
            lambda: iter([[1], [1, 2]]), tf.int64, [1]
        ),
        "generator_wrong_type": lambda tf, d: d.from_generator(
            lambda: iter([1, "a"]), tf.int64, []
        ),
        "generator_raises": lambda tf, d: d.from_generator(
            lambda: (1 // (2 - i) for i in range(4)), tf.int64, []
        ),
        "generator_structure": lambda tf, d: d.from_generator(
            lambda: iter([(1, 2), 3]), (tf.int64, tf.int64)
        ),
        "zip": lambda tf, d: d.zip((d.range(3), d.range(5, 10))),
        "zip_dict": lambda tf, d: d.zip({"a": d.range(3), "b": (d.range(2), d.range(4))}),
        "concatenate": lambda tf, d: d.range(3).concatenate(d.range(5, 7)),
        "take": lambda tf, d: d.range(9).take(4),
        "take_all": lambda tf, d: d.range(3).take(-1),
        "take_0": lambda tf, d: d.range(3).take(0),
        "skip": lambda tf, d: d.range(9).skip(4),
        "skip_all": lambda tf, d: d.range(3).skip(-1),
        "skip_more": lambda tf, d: d.range(3).skip(7),
        "repeat": lambda tf, d: d.range(3).repeat(3),
        "repeat_0": lambda tf, d: d.range(3).repeat(0),
        "repeat_on": lambda tf, d: d.range(3).repeat(),
        "repeat_nothing": lambda tf, d: d.range(0).repeat(),
        "shard": lambda tf, d: d.range(10).shard(3, 1),
        "shard_wrong": lambda tf, d: d.range(10).shard(3, tf.constant(3, tf.int64) + 0),
        "enumerate": lambda tf, d: d.from_tensor_slices([*"abc"]).enumerate(5),
        "cache": lambda tf, d: d.range(4).map(lambda x: x * 2).cache().repeat(3),
        "prefetch": lambda tf, d: d.range(20).prefetch(3).map(lambda x: x + 1).prefetch(1),
        "prefetch_autotune": lambda tf, d: d.range(5).prefetch(-1),
        "prefetch_wrong": lambda tf, d: d.range(5).prefetch(-3),
        "batch": lambda tf, d: d.range(10).batch(4),
        "batch_drop": lambda tf, d: d.range(10).batch(4, drop_remainder=True),
        "batch_dict": lambda tf, d: d.from_tensor_slices({"x": _ROWS, "y": [*"abcdef"]}).batch(4),
        "batch_of_batches": lambda tf, d: d.range(12).batch(2).batch(3),
        "batch_unequal": lambda tf, d: d.range(5).map(lambda x: tf.fill([x], x)).batch(2),
        "batch_0": lambda tf, d: d.range(5).batch(tf.constant(0, tf.int64) + 0),
        "batch_sparse": lambda tf, d: (
            d.range(4).map(lambda x: tf.SparseTensor([[x]], [x * 2], [4])).batch(3)
        ),
        "padded_batch": lambda tf, d: (
            d.range(1, 6).map(lambda x: tf.fill([x], x)).padded_batch(2, [None])
        ),
        "padded_batch_sizes": lambda tf, d: (
            d.range(1, 4)
            .map(lambda x: (tf.fill([x], x), tf.fill([x, 2], "s")))
            .padded_batch(2, ([5], [None, 3]), (np.int64(-1), "p"))
        ),
        "padded_batch_small": lambda tf, d: (
            d.range(1, 6).map(lambda x: tf.fill([x], x)).padded_batch(2, [3])
        ),
        "padded_batch_drop": lambda tf, d: (
            d.range(1, 6).map(lambda x: tf.fill([x], x)).padded_batch(2, [-1], drop_remainder=True)
        ),
        "unbatch": lambda tf, d: d.range(10).batch(4).apply(tf.data.experimental.unbatch()),
        "unbatch_structure": lambda tf, d: d.from_tensors({"x": _ROWS, "y": [*"abcdef"]}).apply(
            tf.data.experimental.unbatch()
        ),
        "unbatch_unequal": lambda tf, d: (
            d.range(3)
            .map(lambda x: (tf.fill([x], 1), tf.fill([2], 2)))
            .apply(tf.data.experimental.unbatch())
        ),
        "window": lambda tf, d: d.range(7).window(3).flat_map(lambda w: w.batch(5)),
        "window_shift": lambda tf, d: d.range(8).window(3, 1, 2).flat_map(lambda w: w.batch(5)),
        "window_drop": lambda tf, d: (
            d.range(8).window(3, 2, drop_remainder=True).flat_map(lambda w: w.batch(5))
        ),
        "window_far": lambda tf, d: d.range(20).window(2, 7).flat_map(lambda w: w.batch(5)),
        "window_dict": lambda tf, d: (
            d.from_tensor_slices({"x": [1, 2, 3, 4, 5], "y": [*"abcde"]})
            .window(2)
            .flat_map(lambda w: d.zip((w["x"], w["y"])).batch(3))
        ),
        "map": lambda tf, d: d.range(6).map(lambda x: x * x),
        "map_tuple": lambda tf, d: d.range(4).map(lambda x: (x, tf.cast(x, tf.float32) / 2)),
        "map_of_two": lambda tf, d: d.zip((d.range(3), d.range(3))).map(lambda x, y: x * y),
        "map_list": lambda tf, d: d.range(3).map(lambda x: [x, x + 1]),
        "map_constant": lambda tf, d: d.range(3).map(lambda x: 7),
        "map_swaps": lambda tf, d: d.zip((d.range(3), d.range(5, 8))).map(lambda x, y: (y, x)),
        "map_string": lambda tf, d: d.from_tensor_slices(["a b", "c"]).map(
            lambda s: tf.string_split([s]).values
        ),
        "map_captures": lambda tf, d: (lambda c: d.range(3).map(lambda x: x + c))(
            tf.random.uniform([], 5, 6, tf.int64)
        ),
        "map_parallel": lambda tf, d: d.range(30).map(lambda x: x * 2, num_parallel_calls=3),
        "map_autotune": lambda tf, d: d.range(30).map(lambda x: x * 2, num_parallel_calls=-1),
        "map_calls_0": lambda tf, d: d.range(3).map(lambda x: x, num_parallel_calls=0),
        "map_fails": lambda tf, d: d.range(4).map(
            lambda x: tf.debugging.check_numerics(1.0 / (2.0 - tf.cast(x, tf.float32)), "bad")
        ),
        "map_py_func": lambda tf, d: d.range(4).map(
            lambda x: tf.py_func(lambda v: v * 3, [x], tf.int64)
        ),
        "map_stop": lambda tf, d: d.range(4).map(lambda x: tf.py_func(_stop, [x], tf.int64)),
        "map_sparse": lambda tf, d: (
            d.range(3)
            .map(lambda x: tf.SparseTensor([[x]], [x], [3]))
            .map(lambda s: tf.sparse.to_dense(s))
        ),
        "map_tensor_array": lambda tf, d: (
            d.range(1, 4)
            .map(lambda x: tf.TensorArray(tf.int64, 2).unstack([x, x * 2]))
            .map(lambda a: a.stack())
        ),
        "map_cond": lambda tf, d: d.range(5).map(
            lambda x: tf.cond(tf.equal(x % 2, 0), lambda: x, lambda: -x)
        ),
        "map_while": lambda tf, d: d.range(5).map(
            lambda x: tf.while_loop(lambda i: i < 10, lambda i: i + 3, [x])
        ),
        "map_nested_dataset": lambda tf, d: d.range(4).map(
            lambda x: d.range(x).reduce(np.int64(0), lambda s, y: s + y)
        ),
        "map_random": lambda tf, d: (
            d.range(5).map(lambda x: tf.random.uniform([], seed=3)).repeat(2)
        ),
        "flat_map": lambda tf, d: d.range(5).flat_map(lambda x: d.range(x)),
        "flat_map_slices": lambda tf, d: d.from_tensor_slices(_ROWS).flat_map(
            lambda r: d.from_tensor_slices(r)
        ),
        "flat_map_deep": lambda tf, d: d.range(4).flat_map(
            lambda x: d.range(x).flat_map(lambda y: d.from_tensors((x, y)))
        ),
        "flat_map_no_dataset": lambda tf, d: d.range(5).flat_map(lambda x: x),
        "interleave": lambda tf, d: d.range(1, 6).interleave(
            lambda x: d.from_tensors(x).repeat(x), cycle_length=2, block_length=2
        ),
        "interleave_wide": lambda tf, d: d.range(1, 4).interleave(
            lambda x: d.from_tensors(x).repeat(4), cycle_length=5, block_length=1
        ),
        "interleave_parallel": lambda tf, d: d.range(1, 6).interleave(
            lambda x: d.from_tensors(x).repeat(x), cycle_length=3, num_parallel_calls=2
        ),
        "interleave_0": lambda tf, d: d.range(1, 4).interleave(
            lambda x: d.from_tensors(x), cycle_length=tf.constant(0, tf.int64) + 0
        ),
        "filter": lambda tf, d: d.range(10).filter(lambda x: tf.equal(x % 3, 0)),
        "filter_none": lambda tf, d: d.range(10).filter(lambda x: x > 100),
        "filter_two": lambda tf, d: d.zip((d.range(5), d.range(5))).filter(lambda x, y: x + y > 4),
        "filter_no_bool": lambda tf, d: d.range(3).filter(lambda x: x),
        "namedtuple": lambda tf, d: d.from_tensors(_Pair(1, 2)).map(
            lambda p: _Pair(p.second, p.first)
        ),
        "options": lambda tf, d: _with_options(tf, d.range(3)),
    },
    "d_",
)


def _stop(value: Any) -> Any:
    if value == 2:
        raise StopIteration
    return value


def _read_twice(shuffled: Any, d: Any) -> Any:
    return d.zip((shuffled.repeat(2), shuffled.map(lambda x: x * x).repeat(2)))


def _with_options(tf: Any, dataset: Any) -> Any:
    options = tf.data.Options()
    options.experimental_deterministic = False
    return dataset.with_options(options)


_SHUFFLES: dict[str, Pipeline] = {
    "seed": lambda tf, d: d.range(20).shuffle(5, seed=7),
    "seed_0": lambda tf, d: d.range(20).shuffle(5, seed=0),
    "whole": lambda tf, d: d.range(20).shuffle(100, seed=1),
    "one": lambda tf, d: d.range(9).shuffle(1, seed=1),
    "repeat": lambda tf, d: d.range(6).shuffle(4, seed=11).repeat(4),
    "repeat_fixed": lambda tf, d: (
        d.range(6).shuffle(4, seed=11, reshuffle_each_iteration=False).repeat(4)
    ),
    "read_twice": lambda tf, d: _read_twice(d.range(6).shuffle(6, seed=11), d),
    "random_map": lambda tf, d: d.range(5).map(
        lambda x: x * 0 + tf.random.uniform([], 0, 1 << 40, tf.int64, seed=4)
    ),
    "repeat_first": lambda tf, d: d.range(6).repeat(3).shuffle(4, seed=2),
    "empty": lambda tf, d: d.range(0).shuffle(4, seed=2),
    "twice": lambda tf, d: d.range(12).shuffle(4, seed=2).shuffle(3, seed=5),
    "batch": lambda tf, d: d.range(12).shuffle(4, seed=2).batch(5).repeat(2),
    "and_repeat": lambda tf, d: d.range(7).apply(
        tf.data.experimental.shuffle_and_repeat(5, 3, seed=3)
    ),
    "and_repeat_on": lambda tf, d: d.range(7).apply(
        tf.data.experimental.shuffle_and_repeat(10, seed=3)
    ),
    "size_0": lambda tf, d: d.range(7).shuffle(tf.constant(0, tf.int64) + 0, seed=1),
    "in_flat_map": lambda tf, d: d.range(3).flat_map(lambda x: d.range(4).shuffle(4, seed=5)),
    "cache": lambda tf, d: d.range(6).shuffle(4, seed=3).cache().repeat(2),
}
add(_SHUFFLES, "shuffle_")


def _graph_seeded(pipeline: Pipeline) -> Pipeline:
    def made(tf: Any, dataset: Any) -> Any:
        tf.set_random_seed(42)
        return pipeline(tf, dataset)

    return made


add(
    {
        name: _graph_seeded(pipeline)
        for name, pipeline in {
            "seed": _SHUFFLES["seed"],
            "no_seed": lambda tf, d: d.range(20).shuffle(5),
            "repeat": lambda tf, d: d.range(6).shuffle(4).repeat(3),
            "map": lambda tf, d: d.range(6).map(lambda x: tf.random.uniform([2])),
            "map_normal": lambda tf, d: d.range(3).map(lambda x: (x, tf.random.normal([2]))),
            "random": lambda tf, d: tf.data.experimental.RandomDataset().take(4),
            "map_shuffle": lambda tf, d: d.range(2).map(
                lambda x: tf.random_shuffle(tf.range(6), seed=4)
            ),
        }.items()
    },
    "graph_seed_",
)
