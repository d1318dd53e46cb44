"""Sparse tensors whose number of elements a kernel decides in a run, one op after the other: one
program runs any sizes, with the results of a new session.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.analysis.counted_rows import INFERRED, counts_rows
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.op_index import load_all

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

ROWS, WIDTH = 7, 9


@pytest.fixture(autouse=True)
def _native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")


def _positions(random: Random) -> list[list[int]]:
    chosen = random.sample(range(ROWS * WIDTH), random.randint(1, 30))
    return [[place // WIDTH, place % WIDTH] for place in sorted(chosen)]


def _sparse(dtype: Any = tf.float32) -> tuple[Any, Callable[[Random], dict[Any, Any]]]:
    """Return a sparse placeholder, and a function that draws what it is fed."""
    x = tf.sparse_placeholder(dtype, [ROWS, WIDTH])

    def draw(random: Random) -> dict[Any, Any]:
        positions = _positions(random)
        numbers = [random.randint(1, 9) for _ in positions]
        return {x: (positions, np.array(numbers, dtype.as_numpy_dtype), [ROWS, WIDTH])}

    return x, draw


def _texts() -> tuple[Any, Callable[[Random], dict[Any, Any]]]:
    x = tf.placeholder(tf.string, [None])
    words = ["one", "two", "three"]

    def draw(random: Random) -> dict[Any, Any]:
        lines = range(random.randint(1, 8))
        return {x: [" ".join(random.choices(words, k=random.randint(1, 5))) for _ in lines]}

    return x, draw


def _of_one(build: Callable[[Any], Any], dtype: Any = tf.float32) -> Any:
    def make() -> Any:
        x, draw = _sparse(dtype)
        return build(x), draw

    return make


def _of_two(build: Callable[[Any, Any], Any], dtype: Any = tf.float32) -> Any:
    def make() -> Any:
        (x, first), (y, second) = _sparse(dtype), _sparse(dtype)
        return build(x, y), lambda random: first(random) | second(random)

    return make


def _of_texts(build: Callable[[Any], Any]) -> Any:
    def make() -> Any:
        x, draw = _texts()
        return build(x), draw

    return make


def _features(random: Random) -> Any:
    numbers = [random.random() for _ in range(random.randint(0, 5))]
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=numbers))
    ids = tf.train.Int64List(value=[random.randint(0, 4) for _ in range(random.randint(1, 3))])
    return tf.train.Features(feature={"x": feature, "i": tf.train.Feature(int64_list=ids)})


_READ = {"x": tf.VarLenFeature(tf.float32), "i": tf.VarLenFeature(tf.int64)}


def _parsed() -> Any:
    x = tf.placeholder(tf.string, [None])

    def draw(random: Random) -> dict[Any, Any]:
        count = range(random.randint(1, 6))
        return {
            x: [tf.train.Example(features=_features(random)).SerializeToString() for _ in count]
        }

    parsed = tf.io.parse_example(x, _READ)
    return [parsed["x"], parsed["i"]], draw


def _parsed_one() -> Any:
    x = tf.placeholder(tf.string, [])
    parsed = tf.io.parse_single_example(x, _READ)
    one = lambda random: tf.train.Example(features=_features(random)).SerializeToString()  # noqa: E731
    return [parsed["x"], parsed["i"]], lambda random: {x: one(random)}


def _sequence(random: Random) -> bytes:
    steps = tf.train.FeatureList(
        feature=[_features(random).feature["i"] for _ in range(random.randint(1, 4))]
    )
    lists = tf.train.FeatureLists(feature_list={"steps": steps})
    example = tf.train.SequenceExample(context=_features(random), feature_lists=lists)
    return bytes(example.SerializeToString())


_STEPS = {"steps": tf.VarLenFeature(tf.int64)}


def _sequences() -> Any:
    x = tf.placeholder(tf.string, [None])
    context, steps, _ = tf.io.parse_sequence_example(x, _READ, _STEPS)

    def draw(random: Random) -> dict[Any, Any]:
        return {x: [_sequence(random) for _ in range(random.randint(1, 5))]}

    return [context["x"], steps["steps"]], draw


def _sequence_of_one() -> Any:
    x = tf.placeholder(tf.string, [])
    context, steps = tf.io.parse_single_sequence_example(x, _READ, _STEPS)
    return [context["x"], steps["steps"]], lambda random: {x: _sequence(random)}


def _list_diff() -> Any:
    x, y = (tf.placeholder(tf.int64, [None]) for _ in range(2))

    def draw(random: Random) -> dict[Any, Any]:
        return {z: [random.randint(0, 20) for _ in range(random.randint(4, 30))] for z in (x, y)}

    out, places = tf.setdiff1d(x, y)
    return [tf.SparseTensor(tf.cast(places, tf.int64)[:, None], out, [40])], draw


def _hits() -> Any:
    classes, sampled = tf.placeholder(tf.int64, [None, 2]), tf.placeholder(tf.int64, [None])

    def draw(random: Random) -> dict[Any, Any]:
        pairs = [[random.randint(0, 9) for _ in "ab"] for _ in range(random.randint(2, 20))]
        return {classes: pairs, sampled: random.sample(range(12), random.randint(3, 9))}

    places, ids, weights = tf.nn.compute_accidental_hits(classes, sampled, 2)
    rows = tf.cast(places, tf.int64)[:, None]
    return [tf.SparseTensor(rows, weights, [40]), tf.SparseTensor(rows, ids, [40])], draw


PROGRAMS: dict[str, Callable[[], Any]] = {
    "ComputeAccidentalHits": _hits,
    "DenseToDenseSetOperation": _of_two(
        lambda x, y: [tf.sets.union(*map(tf.sparse_tensor_to_dense, (x, y)))], tf.int64
    ),
    "DenseToSparseSetOperation": _of_two(
        lambda x, y: [tf.sets.intersection(tf.sparse_tensor_to_dense(x), y)], tf.int64
    ),
    "DeserializeManySparse": _of_one(
        lambda x: [tf.deserialize_many_sparse(tf.serialize_many_sparse(x), tf.float32, 2)]
    ),
    "ListDiff": _list_diff,
    "ParseExample": _parsed,
    "ParseSequenceExample": _sequences,
    "ParseSingleExample": _parsed_one,
    "ParseSingleSequenceExample": _sequence_of_one,
    "SparseAdd": _of_two(lambda x, y: [tf.sparse_add(x, y)]),
    "SparseConcat": _of_two(lambda x, y: [tf.sparse_concat(1, [x, y])]),
    "SparseCross": _of_texts(lambda x: [_crossed(tf.strings.split(x))]),
    "SparseFillEmptyRows": _of_one(lambda x: [tf.sparse_fill_empty_rows(x, 0.5)[0]]),
    "SparseReduceMaxSparse": _of_one(lambda x: [tf.sparse_reduce_max_sparse(x, 1, True)]),
    "SparseReduceSumSparse": _of_one(lambda x: [tf.sparse_reduce_sum_sparse(x, 0, True)]),
    "SparseSlice": _of_one(lambda x: [tf.sparse_slice(x, [1, 2], [4, 5])]),
    "SparseSparseMaximum": _of_two(lambda x, y: [tf.sparse_maximum(x, y)]),
    "SparseSparseMinimum": _of_two(lambda x, y: [tf.sparse_minimum(x, y)]),
    "SparseSplit": _of_one(lambda x: tf.sparse_split(sp_input=x, num_split=2, axis=1)),
    "SparseToSparseSetOperation": _of_two(lambda x, y: [tf.sets.difference(x, y)], tf.int64),
    "StringSplit": _of_texts(lambda x: [_hashed(tf.string_split(x, " "))]),
    "StringSplitV2": _of_texts(lambda x: [_hashed(tf.strings.split(x))]),
}

LEFT_OUT = {
    "BoostedTreesSparseAggregateStats": "has tests beside the op",
    "CTCBeamSearchDecoder": "its native kernel counts",
    "CTCGreedyDecoder": "its native kernel counts",
    "DeserializeSparse": "is DeserializeManySparse of any rank",
    "ParseExampleV2": "the rows of ragged tensors are not counted",
}


def _hashed(x: Any) -> Any:
    return tf.SparseTensor(x.indices, tf.strings.to_hash_bucket_fast(x.values, 9), x.dense_shape)


def _crossed(x: Any) -> Any:
    return tf.sparse.cross_hashed([x, x], 11)


def _used(x: Any) -> list[Any]:
    """Return tensors that depend on the elements and on their number."""
    values = tf.cast(x.values, tf.float32)
    weights = tf.constant(np.linspace(-1, 1, 3).astype(np.float32)[None])
    columns = tf.tanh(values[:, None] * weights) + tf.reduce_mean(values)
    sums = tf.unsorted_segment_sum(columns, x.indices[:, 0] % 5, 5)
    return [x.indices, columns, sums, *tf.gradients(tf.reduce_sum(sums * sums), [values])]


def _lines() -> Any:
    x = tf.placeholder(tf.string, [None])
    number, word = tf.decode_csv(x, [[0.5], [""]])
    joined = tf.reduce_join(tf.stack([word, x], 1), 1, separator="-")
    places = tf.cast(tf.strings.to_hash_bucket_fast(joined, 9), tf.float32)

    def draw(random: Random) -> dict[Any, Any]:
        return {x: [f"{random.random()},w{i}" for i in range(random.randint(1, 20))]}

    return [tf.tanh(number) * places, tf.reduce_mean(number), joined], draw


def test_texts_become_numbers_of_the_inferred_sizes() -> None:
    with tf.Graph().as_default() as graph:
        fetches, draw = _lines()
    assert {"DecodeCSV", "ReduceJoin"} < INFERRED
    random = Random(3)
    with tf.Session(graph=graph) as session:
        runs = [(feeds, session.run(fetches, feeds)) for feeds in map(draw, [random] * 40)]
        report = str(session.explain(fetches, runs[0][0]))
    assert "sizes are left open" not in report
    for feeds, (product, mean, joined) in runs[22::6]:
        with tf.Session(graph=graph) as session:
            others = session.run(fetches, feeds)
        np.testing.assert_allclose(product, others[0], 1e-5)
        np.testing.assert_allclose(mean, others[1], 1e-5)
        assert joined.tolist() == others[2].tolist()


def test_every_op_that_counts_is_here() -> None:
    load_all()
    found = {name for name in DECLARATIONS if counts_rows(name)}
    assert found == {*PROGRAMS, *LEFT_OUT}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_of_one_program_are_those_of_a_new_session(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with tf.Graph().as_default() as graph:
        tensors, draw = PROGRAMS[name]()
        fetches = [tensor for x in tensors for tensor in _used(x)]
    assert name in {op.type for op in graph.get_operations()}
    random = Random(5)
    with tf.Session(graph=graph) as session:
        runs = [(feeds, session.run(fetches, feeds)) for feeds in map(draw, [random] * 40)]
        [runner] = session._backend.runners.values()
        plans = [cached.plan for cached in runner.plans.exact.values()]
    assert any(plan.sizes is not None for plan in plans)
    assert "Sizes by values are not open" not in caplog.text
    for feeds, results in runs[22::6]:
        with tf.Session(graph=graph) as session:
            for result, expected in zip(results, session.run(fetches, feeds)):
                np.testing.assert_allclose(result, expected, 1e-5, 1e-6)
