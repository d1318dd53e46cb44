"""Heavy products that do not need each other are brought together; all else keeps its order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.memory import side_by_side

from ..stages import compiled, make_target


@pytest.fixture(autouse=True)
def graph(monkeypatch: pytest.MonkeyPatch) -> Iterator[tf.Graph]:
    monkeypatch.setattr(side_by_side, "processor_count", lambda: 4)
    monkeypatch.setattr(side_by_side, "blas_threads", lambda: 1)
    monkeypatch.setattr(side_by_side, "HEAVY", 1 << 10)
    with tf.Graph().as_default() as graph:
        yield graph


def groups(fetches: list[Any], feeds: Any = None, cpus: int = 2, **settings: Any) -> list[set[str]]:
    target = make_target(cpus=cpus)
    for name, value in settings.items():
        setattr(target.config, name, value)
    if feeds is None:
        feeds = {tf.get_default_graph().get_tensor_by_name("x:0"): (16, 16)}
    unit = compiled(fetches, feeds, target=target)
    for group in unit.parallel:
        places = {unit.positions()[node.id] for node in group}
        assert len(places) == 1
        first = next(iter(places))
        assert unit.order[first : first + len(group)] == group
    return [{node.name for node in group} for group in unit.parallel]


def said(fetches: list[Any], **settings: Any) -> str:
    config = tf.ConfigProto(device_count={"CPU": 2}, **settings)
    with tf.Session(config=config) as session:
        return str(session.explain(fetches, {"x:0": np.ones([16, 16])}))


def matrix() -> Any:
    return tf.placeholder(tf.float32, [16, 16], name="x")


def test_products_of_two_devices_and_of_one() -> None:
    x = matrix()
    with tf.device("/cpu:1"):
        a = tf.matmul(x, x, name="a")
    b = tf.matmul(x, x, transpose_b=True, name="b")
    c = tf.matmul(tf.nn.relu(b), x, name="c")
    assert groups([a, b, c]) == [{"a", "b"}]


def test_what_needs_one_of_them_comes_behind_and_all_else_before() -> None:
    x = matrix()
    a = tf.matmul(x, x, name="a")
    after = tf.exp(a, name="after")
    between = tf.sin(tf.sin(tf.sin(x)), name="between")
    b = tf.matmul(between, x, name="b")
    assert groups([after, b]) == [{"a", "b"}]
    with tf.Session() as session:
        values = session.run([after, b], {x: np.ones([16, 16])})
    one = np.ones([16, 16], np.float32)
    np.testing.assert_allclose(values[0], np.exp(one * 16), rtol=1e-5)
    np.testing.assert_allclose(values[1], np.sin(np.sin(np.sin(one))) @ one, rtol=1e-5)


def test_layers_that_need_each_other_pair_with_those_of_the_other_tower() -> None:
    def tower(x: Any, name: str) -> Any:
        for layer in range(3):
            x = tf.matmul(tf.nn.tanh(x), x, name=f"{name}{layer}")
        return x

    x = matrix()
    with tf.device("/cpu:1"):
        one = tower(x, "one")
    assert groups([one, tower(x, "two")]) == [{"one0", "two0"}, {"one1", "two1"}, {"one2", "two2"}]


def test_both_gradients_of_a_product() -> None:
    x = matrix()
    w = tf.Variable(np.ones([16, 16], np.float32), name="w")
    loss = tf.reduce_sum(tf.tanh(tf.matmul(tf.tanh(x @ x), w)))
    slopes = tf.gradients(loss, [w, x])
    assert any(len(group) > 1 for group in groups(slopes))


def test_a_write_keeps_its_place_among_reads() -> None:
    v = tf.Variable(np.ones([16, 16], np.float32), name="v")
    x = matrix()
    a = tf.matmul(x, x, name="a")
    write = tf.assign(v, a, name="write")
    other = tf.Variable(0.0, name="other")
    with tf.control_dependencies([tf.assign_add(other, tf.reduce_sum(tf.exp(tf.exp(x))))]):
        late = tf.identity(v, name="late")
    b = tf.matmul(late, x, name="b")
    assert groups([write, b]) == []  # `late` is read after the write, also with more processors
    assert groups([write, tf.matmul(tf.exp(x), x, name="c")]) == [{"a", "c"}]


def test_small_products_and_those_of_sizes_that_vary_do_not_count() -> None:
    y, x = matrix(), tf.placeholder(tf.float32, [None, 16])
    assert groups([tf.matmul(x, y), tf.matmul(x, y + 1)], {x: (None, 16), y: (16, 16)}) == []
    small = y[:4, :4]
    assert groups([tf.matmul(small, small), tf.matmul(small, small + 1)]) == []
    kept = tf.boolean_mask(y, tf.reduce_any(y > 0, 1))
    assert groups([tf.matmul(y, kept, True), tf.matmul(y, kept + 1, True)]) == []


def test_what_was_decided_is_said_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    x = matrix()
    fetches = [tf.matmul(x, x, name="a"), tf.matmul(x, x + 1, name="b")]
    assert "at the same time: a, b, 0.00 billion multiplications: each takes 1 of 4" in said(
        fetches
    )
    one = "2 heavy products run one after the other: inter_op_parallelism_threads is"
    assert f"{one} 1" in said(fetches, inter_op_parallelism_threads=1)
    assert f"{one} -1" in said(fetches, inter_op_parallelism_threads=-1)
    assert "and inter_op_parallelism_threads is 2" in said(fetches, inter_op_parallelism_threads=2)
    chain = [tf.matmul(fetches[0], x)]
    assert "one after the other: all depend on others" in said(chain)
    monkeypatch.setattr(side_by_side, "blas_threads", lambda: 4)
    assert "each takes 4 of 4 processors" in said(fetches)
