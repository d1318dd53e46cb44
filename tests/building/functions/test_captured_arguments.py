"""Functions of several ops, in a traced function whose first tensor is captured from outside.

Each must add its ops to the traced function, since they also need the function's argument.
"""

import numpy as np
import pytest

import gpugraph as tf

VALUES = np.random.default_rng(0).normal(size=[3, 4]).astype(np.float32)


def real(i):
    return tf.cast(i, tf.float32)


FUNCTIONS = {
    "getitem": lambda t, i: t[i],
    "getitem2": lambda t, i: t[i:, None, ...],
    "gather": lambda t, i: tf.gather(t, i),
    "gather1": lambda t, i: tf.gather(t, i, axis=1),
    "batch_gather": lambda t, i: tf.batch_gather(t, tf.reshape([i, i, i], [3, 1])),
    "tile": lambda t, i: tf.tile(t, [i + 1, 1]),
    "reduce_sum": lambda t, i: tf.reduce_sum(t, axis=i),
    "reduce_mean": lambda t, i: tf.reduce_mean(t, axis=i, keepdims=True),
    "logsumexp": lambda t, i: tf.reduce_logsumexp(t, axis=i),
    "softmax": lambda t, i: tf.nn.softmax(t * real(i)),
    "concat": lambda t, i: tf.concat([t, t], i),
    "stack": lambda t, i: tf.stack([t, t * real(i)]),
    "split": lambda t, i: tf.split(t, 2, axis=1)[0] * real(i),
    "where": lambda t, i: tf.where(t > real(i), t, -t),
    "mask": lambda t, i: tf.boolean_mask(t, tf.range(3) >= i),
    "cond": lambda t, i: tf.cond(i > 0, lambda: t, lambda: t * 2),
    "matmul": lambda t, i: tf.matmul(t, t * real(i), transpose_b=True),
    "tensordot": lambda t, i: tf.tensordot(t, t + real(i), [[1], [1]]),
    "einsum": lambda t, i: tf.einsum("ij,kj->ik", t, t + real(i)),
    "dense": lambda t, i: tf.nn.xw_plus_b(t, tf.ones([4, 2]) * real(i), [1.0, 2.0]),
    "moments": lambda t, i: tf.nn.moments(t + real(i), [0])[1],
    "norm": lambda t, i: tf.norm(t * real(i), axis=1),
    "clip": lambda t, i: tf.clip_by_norm(t, real(i) + 0.1),
    "clipv": lambda t, i: tf.clip_by_value(t, -real(i), 1.0),
    "slice": lambda t, i: tf.slice(t, [i, 0], [1, 2]),
    "pad": lambda t, i: tf.pad(t, [[i, 0], [0, 0]]),
    "roll": lambda t, i: tf.roll(t, i, 0),
    "argsort": lambda t, i: tf.argsort(t * real(i)),
    "sort": lambda t, i: tf.sort(t, axis=-1)[i],
    "topk": lambda t, i: tf.nn.top_k(t, i + 1)[0],
    "onehot": lambda t, i: tf.one_hot(tf.argmax(t, 1), i + 4),
    "scatter": lambda t, i: tf.scatter_nd([[i]], t[:1], [3, 4]),
    "tsupd": lambda t, i: tf.tensor_scatter_update(t, [[i]], t[:1] * 2),
    "seqmask": lambda t, i: tf.sequence_mask(tf.range(3) + i, 6),
    "leaky": lambda t, i: tf.nn.leaky_relu(t, real(i)),
    "l2n": lambda t, i: tf.nn.l2_normalize(t, 1) * real(i),
    "shape": lambda t, i: tf.shape(t) + i,
    "size": lambda t, i: tf.size(t) + i,
    "ones_like": lambda t, i: tf.ones_like(t) * real(i),
    "expand": lambda t, i: tf.expand_dims(t, i),
    "squeeze": lambda t, i: tf.squeeze(t[None])[i],
    "transpose": lambda t, i: tf.transpose(t)[i],
    "unstack": lambda t, i: tf.unstack(t)[0] * real(i),
    "emb": lambda t, i: tf.nn.embedding_lookup(t, [i, i]),
    "embs": lambda t, i: tf.nn.embedding_lookup([t, t + 1], [i, i]),
    "map_fn": lambda t, i: tf.map_fn(lambda r: r * real(i), t),
    "scan": lambda t, i: tf.scan(lambda a, r: a + r, t)[i],
    "while": lambda t, i: tf.while_loop(
        lambda k, a: k < i, lambda k, a: (k + 1, a + t), [tf.zeros_like(i), t]
    )[1],
    "case": lambda t, i: tf.case([(i > 0, lambda: t)], default=lambda: t - 1),
    "sparse": lambda t, i: (
        tf.sparse.to_dense(tf.SparseTensor([[0, 0]], t[0, :1], [3, 4])) * real(i)
    ),
    "join": lambda t, i: tf.strings.join([tf.as_string(t), tf.fill([3, 4], tf.as_string(i))]),
    "reduce_join": lambda t, i: tf.reduce_join(tf.as_string(t), i),
    "cumsum": lambda t, i: tf.cumsum(t, i),
    "reverse": lambda t, i: tf.reverse(t, [i]),
    "segment": lambda t, i: tf.segment_sum(t, tf.stack([0, 0, i])),
    "usegment": lambda t, i: tf.unsorted_segment_max(t, [0, 1, 0], 2)[i],
    "unique": lambda t, i: tf.unique(tf.reshape(tf.cast(t, tf.int32) + i, [-1]))[0],
    "dyn": lambda t, i: tf.dynamic_partition(t, [0, 1, 0], 2)[0] + real(i),
    "cosine": lambda t, i: tf.losses.cosine_distance(t, t + real(i), axis=1),
    "xent": lambda t, i: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.fill([3], i), logits=t
    ),
    "image": lambda t, i: tf.image.resize_images(t[:, :, None], [i + 2, 4]),
    "rot": lambda t, i: tf.image.rot90(t[:, :, None], i),
    "crop": lambda t, i: tf.image.crop_to_bounding_box(t[:, :, None], i, 0, 2, 2),
    "meshgrid": lambda t, i: tf.meshgrid(t[0], t[1])[0] + real(i),
    "band": lambda t, i: tf.matrix_band_part(t, i, 0),
    "diag": lambda t, i: tf.diag(t[i]),
    "trace": lambda t, i: tf.trace(t[:, :3]) * real(i),
    "convolution": lambda t, i: tf.nn.conv1d(t[None], tf.ones([2, 4, 1]) * real(i), 1, "SAME"),
    "accumulate_n": lambda t, i: tf.accumulate_n([t, t * real(i)]),
    "foldl": lambda t, i: tf.foldl(lambda a, r: a + r * real(i), t),
    "percentile": lambda t, i: tf.contrib.distributions.percentile(t, 50.0) + real(i),
    "hist": lambda t, i: tf.histogram_fixed_width(t, [-1.0, 1.0], nbins=5) + i,
    "bincount": lambda t, i: tf.bincount(tf.cast(tf.abs(t), tf.int32) + i),
}


@pytest.mark.parametrize(
    "kind", ["constant", pytest.param("variable", marks=pytest.mark.exhaustive)]
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_captured_tensor_and_an_argument_together(name, kind):
    function = FUNCTIONS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        captured = tf.constant(VALUES)
        if kind == "variable":
            captured = tf.get_variable("v", initializer=VALUES, use_resource=True)
            session.run(captured.initializer)
        argument = tf.placeholder(tf.int32, [])
        outside = function(tf.constant(VALUES), argument)
        expected = [session.run(outside, {argument: number}) for number in range(2)]
        numbers = tf.data.Dataset.range(2).map(lambda i: function(captured, tf.cast(i, tf.int32)))
        iterator = numbers.make_initializable_iterator()
        session.run(iterator.initializer)
        inside = iterator.get_next()
        for wanted in expected:
            found = session.run(inside)
            if found.dtype == object:
                np.testing.assert_array_equal(found, wanted)
            else:
                np.testing.assert_allclose(found, wanted, rtol=1e-6)
