"""The gradients of attention as one op on GPUs, emulated on the host: against double precision.

The statistics of the rows come from the attention before it. Results of 16 bits may be off by the
rounding of the probabilities, of their changes and of the output, each half of the dtype's epsilon.
The exponential of a large score multiplies the score's own rounding in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base import dtypes

from ..devices.cuda.gpus import needs_cxx
from .emulated import Machine, on_gpu

pytestmark = needs_cxx


def kind_of(name: str) -> Any:
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    return dtypes.as_dtype(name).as_numpy_dtype


def numbers(shape: Any, dtype: Any, seed: int) -> Any:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


def wanted(q: Any, k: Any, v: Any, back: Any, mask: Any, scale: float) -> list[tuple[Any, Any]]:
    """Return each gradient in double precision, and the same sums of absolute values. The latter
    grow with the scores.
    """
    q, k, v, back, mask = (np.asarray(array, np.float64) for array in (q, k, v, back, mask))
    scores = q @ k.swapaxes(-1, -2) * scale + mask
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    dp = back @ v.swapaxes(-1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * scale
    sizes = p * (abs(back) @ abs(v).swapaxes(-1, -2))
    sizes = (sizes + p * (sizes.sum(-1, keepdims=True))) * abs(scale)

    def turned(array: Any) -> Any:
        return array.swapaxes(-1, -2)

    more = 1 + abs(scores).max(where=np.isfinite(scores), initial=0) / 16
    return [
        (ds @ k, more * sizes @ abs(k)),
        (turned(ds) @ q, more * turned(sizes) @ abs(q)),
        (turned(p) @ back, more * turned(p) @ abs(back)),
    ]


def check(results: Any, exact: Any, dtype: Any) -> None:
    epsilon = {4: 2.0**-18, 2: 2.0**-10 if dtype == np.float16 else 2.0**-7}[dtype.itemsize]
    for result, (value, size) in zip(results, exact):
        off = abs(result.astype(np.float64) - value)
        bound = 2 * epsilon * size + (2.0**-17 if dtype == np.float16 else 1e-7)
        assert (off <= bound).all(), (off / bound).max()


def gradients(
    name: str,
    batch: Any,
    sizes: tuple[int, int, int, int],
    mask: Any = None,
    across: bool = False,
    rows: bool = True,
    scale: float | None = None,
) -> None:
    """Compare the gradients of one attention. The results are finite."""
    m, n, d, dv = sizes
    dtype = np.dtype(kind_of(name))
    shapes = [(m, d), (d, n) if across else (n, d), (n, dv), (m, dv)]
    arrays = [numbers((*batch, *shape), dtype, seed) for seed, shape in enumerate(shapes)]
    scale = d**-0.5 if scale is None else scale
    masks = [] if mask is None else [2 * numbers(mask, dtype, 4)]
    attrs: Any = {"num_args": len(masks), "scale": scale, "adj_y": not across}

    def make(q: Any, k: Any, v: Any, back: Any, *masks: Any) -> Any:
        out, statistics = tf.raw_ops._FusedAttentionWithStatistics(
            q, k, v, masks, **attrs, name="forward"
        )
        op = tf.raw_ops._FusedAttentionGrad
        results = op(q, k, v, out, statistics, back, masks, key_rows=rows, **attrs, name="back")
        return [*results, out]

    *results, _ = on_gpu(make, *arrays, *masks)
    q, k, v, back = arrays
    exact = wanted(q, k.swapaxes(-1, -2) if across else k, v, back, masks[0] if masks else 0, scale)
    if not rows:
        exact[1] = (exact[1][0].swapaxes(-1, -2), exact[1][1].swapaxes(-1, -2))
    check(results, exact, dtype)


SIZES = [
    ((1,), (1, 1, 1, 1), None),
    ((2, 1), (70, 130, 64, 64), None),
    ((2,), (5, 65, 8, 90), (5, 65)),
    ((1, 2), (65, 64, 128, 24), (2, 1, 64)),
    ((1,), (100, 63, 13, 31), (100, 1)),
]


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("batch", "sizes", "mask"), SIZES)
def test_heads_of_any_size(machine: Machine, name: str, batch: Any, sizes: Any, mask: Any) -> None:
    gradients(name, batch, sizes, mask)
    suffix = "" if name == "float32" else "_mma"
    assert machine.functions == [
        f"gg_attention{suffix}",
        f"gg_attention_back{suffix}",
        f"gg_attention_back{suffix}",
    ]


@pytest.mark.parametrize("name", ["float32", "float16"])
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("rows", [False, True])
def test_keys_and_their_gradients_in_any_layout(name: str, across: bool, rows: bool) -> None:
    gradients(name, (2,), (66, 72, 40, 33), None, across, rows)
    gradients(name, (1,), (5, 131, 120, 128), (5, 131), across, rows)


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_threads_in_any_order(machine: Machine, name: str) -> None:
    machine.how = {"backwards": True}
    gradients(name, (2,), (70, 200, 64, 64))
    gradients(name, (1,), (200, 70, 56, 20), (200, 1), across=True)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_gpus_without_such_instructions(machine: Machine, name: str) -> None:
    machine.how = {"arch": "sm_75"}
    gradients(name, (2,), (33, 70, 20, 64), (2, 1, 70))
    assert machine.functions == ["gg_attention", "gg_attention_back", "gg_attention_back"]


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_large_scores_and_a_negative_scale(name: str) -> None:
    gradients(name, (2,), (20, 40, 16, 16), scale=-6.0)


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_masked_keys_get_nothing_and_rows_without_keys_are_not_numbers(name: str) -> None:
    dtype = np.dtype(kind_of(name))
    shapes = [(1, 5, 16), (1, 150, 16), (1, 150, 8), (1, 5, 8)]
    q, k, v, back = (numbers(shape, dtype, seed) for seed, shape in enumerate(shapes))
    mask = np.zeros((5, 150), dtype)
    mask[0, :140], mask[1, 5:], mask[3, 20:], mask[4] = -np.inf, -np.inf, -np.inf, 1

    def make(q: Any, k: Any, v: Any, back: Any, mask: Any) -> Any:
        out, statistics = tf.raw_ops._FusedAttentionWithStatistics(
            q, k, v, [mask], num_args=1, name="a"
        )
        op = tf.raw_ops._FusedAttentionGrad
        return op(q, k, v, out, statistics, back, [mask], num_args=1, name="b")

    check(on_gpu(make, q, k, v, back, mask), wanted(q, k, v, back, mask, 1.0), dtype)
    mask[2] = -np.inf
    dq, dk, dv = on_gpu(make, q, k, v, back, mask)
    assert np.isnan(dq[0, 2].astype("f")).all() and np.isfinite(dq[0, 3].astype("f")).all()
    assert np.isnan(dk.astype("f")).all() and np.isnan(dv.astype("f")).all()


# -- the pass


def trained(
    dtype: Any, masked: bool = True, turned: bool = False, dynamic: bool = False, heads: int = 2
) -> tuple[Any, dict[Any, Any]]:
    """Return the gradients of a layer of attention, and its feeds."""
    batch, m, n, width = 2, 9, 12, 6
    draw = np.random.default_rng(3)
    feeds = {}

    def fed(*shape: int) -> Any:
        value = draw.normal(size=shape).astype(dtype)
        placeholder = tf.placeholder(dtype, [None] * len(shape) if dynamic else shape)
        feeds[placeholder] = value
        return placeholder

    def split(x: Any, count: int, order: list[int]) -> Any:
        return tf.transpose(tf.reshape(x, [batch, count, heads, width]), order)

    x, y = fed(batch, m, 5), fed(batch, n, 5)
    names = ("query", "key", "value", "output")
    shapes = [(5, heads * width)] * 3 + [(heads * width, 4)]
    weights = dict(zip(names, [fed(*shape) for shape in shapes]))

    def projected(name: str, source: Any, count: int) -> Any:
        return tf.matmul(tf.reshape(source, [batch * count, 5]), weights[name])

    query = split(projected("query", x, m), m, [0, 2, 1, 3])
    key = split(projected("key", y, n), n, [0, 2, 3, 1] if turned else [0, 2, 1, 3])
    value = split(projected("value", y, n), n, [0, 2, 1, 3])
    scores = tf.matmul(query, key, transpose_b=not turned)
    scores = scores / np.sqrt(width).astype(dtype) if turned else scores * 0.4
    if masked:
        scores += (1 - tf.cast(fed(batch, 1, 1, n) > 0, dtype)) * -30
    mixed = tf.matmul(tf.nn.softmax(scores), value)
    flat = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [batch * m, heads * width])
    loss = tf.reduce_sum(tf.tanh(tf.matmul(flat, weights["output"])))
    return tf.gradients(loss, [x, y, *weights.values()]), feeds


def computed(device: str, **options: Any) -> tuple[list[Any], str]:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[64]))
    config.allow_soft_placement = True
    with tf.Graph().as_default(), tf.Session(config=config) as session, tf.device(device):
        results, feeds = trained(**options)
        report = str(session.explain(results, feeds))
        return session.run(results, feeds), report


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_training_has_two_ops(masked: bool, turned: bool, dynamic: bool) -> None:
    options = {"masked": masked, "turned": turned, "dynamic": dynamic}
    results, report = computed("/GPU:0", dtype=np.float32, **options)
    assert "2 fused attentions" in report
    for op in ("_FusedAttentionWithStatistics", "_FusedAttentionGrad"):
        assert op in report
    assert "fused into Softmax" not in report and "Softmax/fused" not in report
    for result, exact in zip(results, computed("/CPU:0", dtype=np.float64, **options)[0]):
        np.testing.assert_allclose(result, exact, rtol=2e-4, atol=2e-5 * abs(exact).max())


def test_training_in_16_bits() -> None:
    results, report = computed("/GPU:0", dtype=np.float16)
    assert "2 fused attentions" in report
    for result, exact in zip(results, computed("/CPU:0", dtype=np.float64)[0]):
        np.testing.assert_allclose(result, exact, atol=1e-2 * abs(exact).max())


@pytest.mark.parametrize("how", ["none", "fetched", "mask", "no key", "twice", "cycle"])
def test_other_readers_keep_the_ops(how: str) -> None:
    """Gradients that the op does not compute, and a value that depends on the value's gradient."""
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[64]))
    with tf.Graph().as_default(), tf.Session(config=config) as session, tf.device("/GPU:0"):
        feeds = {
            tf.placeholder(tf.float32, (2, 7, 7)): numbers((2, 7, 7), "f", i) for i in range(5)
        }
        q, k, v, mask, back = feeds
        chances = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) + mask)
        if how == "cycle":
            v = v + tf.matmul(chances, back, transpose_a=True)
        out = tf.matmul(chances, v)
        if how == "cycle":
            fetches = [*tf.gradients(out, [q, k], back), tf.matmul(chances, back, transpose_a=True)]
        else:
            read = {"mask": [q, k, v, mask], "no key": [q, v]}
            fetches = tf.gradients(out, read.get(how, [q, k, v]), back)
        fetches.append(chances if how == "fetched" else out)
        if how == "twice":
            fetches += tf.gradients(out, [q, k, v], 2 * back)
        report = str(session.explain(fetches, feeds))
        assert ("_FusedAttentionGrad" in report) == (how == "none"), report
        results = session.run(fetches, feeds)
        q_value, k_value, v_value, mask_value, back_value = feeds.values()
        p = np.exp(q_value @ k_value.swapaxes(1, 2) + mask_value)
        p /= p.sum(-1, keepdims=True)
        if how == "cycle":
            v_value = v_value + p.swapaxes(1, 2) @ back_value
        exact = wanted(q_value, k_value, v_value, back_value, mask_value, 1.0)
        if how != "cycle":
            np.testing.assert_allclose(results[0], exact[0][0], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("is_fused", [True, False])
def test_optimizers_wait_for_all_gradients_of_an_op(is_fused: bool) -> None:
    """Their NoOps between the gradients of one op do not separate the ops."""
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[64]))
    with tf.Graph().as_default(), tf.Session(config=config) as session, tf.device("/GPU:0"):
        starts = [0.5 * numbers((5, 4), "f", seed) for seed in range(3)]
        x = 0.5 * numbers((3, 6, 5), "f", 9)
        source = tf.constant(x)
        weights = [tf.Variable(start) for start in starts]
        q, k, v = (tf.reshape(tf.matmul(x.reshape(18, 5), w), (3, 6, 4)) for w in weights)
        chances = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * 0.5)
        loss = tf.reduce_sum(tf.tanh(tf.matmul(chances, v)) * source[:, :, :4])
        if not is_fused:
            loss += tf.reduce_sum(chances)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        assert ("_FusedAttentionGrad" in str(session.explain([loss, train]))) == is_fused
        for _ in range(3):
            session.run([loss, train])
        results = session.run(weights)
    exact = [start.astype("d") for start in starts]
    for _ in range(3):
        q, k, v = (x @ weight for weight in exact)
        p = np.exp(q @ k.swapaxes(1, 2) * 0.5)
        p /= p.sum(-1, keepdims=True)
        back = x[:, :, :4] * (1 - np.tanh(p @ v) ** 2)
        changes = [
            x.reshape(18, 5).T @ dx.reshape(18, 4) for dx, _ in wanted(q, k, v, back, 0, 0.5)
        ]
        exact = [weight - 0.1 * change for weight, change in zip(exact, changes)]
    for result, value in zip(results, exact):
        np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-6)
