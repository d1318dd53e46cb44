"""Fused in place: which inputs' memory a fused op may take, and that results stay."""

import numpy as np
import pytest

import gpugraph as tf
from tests.compile.stages import compiled, node, run

SHAPE = (512, 512)


def place_of(fetches, feeds):
    """How the one fused op of the fetches gets its memory."""
    unit = compiled(fetches, feeds)
    (fused,) = [fused for fused in unit.order if fused.type == "_Fused"]
    return unit.modes.get(fused.id, "")


def producer(x):
    """Return a tensor that no other op may be fused with, and that the arena holds."""
    return tf.matmul(x, x, name="producer")


def test_an_input_that_no_later_member_reads():
    x = tf.placeholder(tf.float32, SHAPE)
    bias = tf.placeholder(tf.float32, SHAPE[1:])
    y = tf.nn.relu(producer(x) + bias)
    assert place_of([y, tf.reduce_sum(y, 0)], {x: SHAPE, bias: SHAPE[1:]}).startswith("in place")


@pytest.mark.parametrize("is_late", [False, True])
def test_an_input_that_a_later_member_reads(is_late):
    x = tf.placeholder(tf.float32, SHAPE)
    z = producer(x)
    first = tf.tanh(z)
    second = first * z if is_late else first * 2.0
    third = tf.exp(second * (z if is_late else first))
    fetches = [first, second, third]
    values = np.random.RandomState(0).uniform(-0.1, 0.1, SHAPE).astype("float32")
    product = values @ values
    a = np.tanh(product)
    b = a * product if is_late else a * 2
    expected = [a, b, np.exp(b * (product if is_late else a))]
    for result, wanted in zip(run(fetches, {x: values}), expected):
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)
    unit = compiled(fetches, {x: SHAPE})
    (fused,) = [fused for fused in unit.order if fused.type == "_Fused"]
    owners = [unit.homes[fused.id, slot].storage.owner for slot in range(3)]
    assert (owners[0] == z.op.name) == (not is_late)


@pytest.mark.parametrize("is_copied", [False, True])
def test_an_input_that_is_also_another_input(is_copied, monkeypatch):
    """A view of it, which a later member reads."""
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    x = tf.placeholder(tf.float32, (64, 64))
    z = producer(x)
    with tf.control_dependencies([tf.matmul(x, x, transpose_b=True)]):
        view = tf.identity(z)
    other = tf.matmul(view, x)
    late = tf.identity(z) if is_copied else z
    first = tf.exp(late)
    second = tf.sigmoid(other)
    fetches = [second, first * (second * view)]
    unit = compiled(fetches, {x: (64, 64)})
    (fused,) = [fused for fused in unit.order if fused.type == "_Fused"]
    sources = [edge.src for edge in fused.input_edges()]
    assert {source.type for source in sources} == {"MatMul", "Identity"}
    shared = unit.homes[node(unit, z.op.name).id, 0].storage
    assert unit.homes[fused.id, 0].storage is not shared
    assert len({unit.homes[source.id, 0].storage for source in sources}) == 2 < len(sources)
    values = np.random.RandomState(0).uniform(-0.3, 0.3, (64, 64)).astype("float32")
    product = values @ values
    a = 1 / (1 + np.exp(-(product @ values)))
    with tf.Session() as session:
        for _ in range(2):
            results = session.run(fetches, {x: values})
            for result, wanted in zip(results, [a, np.exp(product) * (a * product)]):
                np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reduced", [tf.nn.softmax, lambda y: y - tf.reduce_sum(y, 1, True)])
def test_an_input_that_a_further_loop_reads(reduced, monkeypatch):
    """Its rows are read again once their sums are known, when the first output is written."""
    monkeypatch.setenv("GPUGRAPH_NATIVE", "1")
    x = tf.placeholder(tf.float32, SHAPE)
    z = producer(x)
    first = tf.exp(z)
    unit = compiled([first, reduced(first) * z], {x: SHAPE})
    (fused,) = [fused for fused in unit.order if fused.type == "_Fused"]
    owners = [unit.homes[fused.id, slot].storage.owner for slot in range(2)]
    assert z.op.name not in owners


def test_what_is_fetched_too():
    x = tf.placeholder(tf.float32, SHAPE)
    z = producer(x)
    unit = compiled([tf.exp(z) * 2.0, z], {x: SHAPE})
    (fused,) = [fused for fused in unit.order if fused.type == "_Fused"]
    assert unit.homes[fused.id, 0].storage is not unit.homes[node(unit, z.op.name).id, 0].storage
