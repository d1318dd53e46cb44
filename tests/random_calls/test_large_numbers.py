"""Numbers beyond int64 where functions take a size, an axis or an index: no call overflows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import gpugraph as tf

LARGE = (2**63, 2**64 + 1, 10**30, -(2**64))
REFUSALS = (ValueError, TypeError, IndexError, NotImplementedError, tf.errors.OpError)
L = tf.keras.layers


def images() -> Any:
    return tf.placeholder(tf.float32, [2, 3, 4, 4])


def shape_after_set_shape(size: int) -> Any:
    tensor = tf.placeholder(tf.float32)
    tensor.set_shape([size])
    return tf.shape(tensor)


CALLS: dict[str, Callable[[int], Any]] = {
    "zeros": lambda n: tf.zeros([n]),
    "fill": lambda n: tf.fill([n], 1.0),
    "reshape": lambda n: tf.reshape(images(), [n]),
    "random_uniform": lambda n: tf.random_uniform([n]),
    "truncated_normal": lambda n: tf.truncated_normal([n]),
    "tile": lambda n: tf.tile(images(), [n, 1, 1, 1]),
    "broadcast_to": lambda n: tf.broadcast_to(1.0, [n]),
    "one_hot": lambda n: tf.one_hot([1], n),
    "range": lambda n: tf.range(n),
    "linspace": lambda n: tf.linspace(0.0, 1.0, n),
    "eye": lambda n: tf.eye(n),
    "sequence_mask": lambda n: tf.sequence_mask([1], n),
    "get_variable": lambda n: tf.get_variable("v", [n]),
    "pad": lambda n: tf.pad(images(), [[n, 0], [0, 0], [0, 0], [0, 0]]),
    "placeholder": lambda n: tf.shape(tf.placeholder(tf.float32, [n])),
    "set_shape": shape_after_set_shape,
    "SparseTensor": lambda n: tf.SparseTensor([[0]], [1.0], [n]),
    "FIFOQueue": lambda n: tf.FIFOQueue(n, [tf.float32]),
    "TensorArray": lambda n: tf.TensorArray(tf.float32, n),
    "resize_images": lambda n: tf.image.resize_images(images(), [n, n]),
    "GRUCell": lambda n: tf.nn.rnn_cell.GRUCell(n)(tf.zeros([2, 3]), tf.zeros([2, 4])),
    "slice from": lambda n: images()[n:],
    "index": lambda n: images()[n],
    "expand_dims": lambda n: tf.expand_dims(images(), n),
    "split": lambda n: tf.split(images(), n),
    "concat": lambda n: tf.concat([images()], n),
    "stack": lambda n: tf.stack([images()], n),
    "unstack": lambda n: tf.unstack(images(), n),
    "squeeze": lambda n: tf.squeeze(images(), [n]),
    "transpose": lambda n: tf.transpose(images(), [n, 0, 1, 2]),
    "gather": lambda n: tf.gather(images(), n),
    "reduce_sum": lambda n: tf.reduce_sum(images(), n),
    "argmax": lambda n: tf.argmax(images(), n),
    "top_k": lambda n: tf.nn.top_k(images(), n),
    "conv2d": lambda n: tf.nn.conv2d(images(), tf.zeros([1, 1, 4, 4]), [1, n, n, 1], "SAME"),
    "max_pool": lambda n: tf.nn.max_pool(images(), [1, n, n, 1], [1, 1, 1, 1], "SAME"),
    "Dense": lambda n: L.Dense(n)(images()),
    "Conv2D": lambda n: L.Conv2D(n, 1)(images()),
    "Embedding": lambda n: L.Embedding(n, 2)(images()),
    "RepeatVector": lambda n: L.RepeatVector(n)(tf.zeros([2, 3])),
    "Reshape": lambda n: L.Reshape([n])(images()),
    "Permute": lambda n: L.Permute([n, 1, 2])(images()),
    "LSTM": lambda n: L.LSTM(n)(tf.zeros([2, 3, 4])),
    "ZeroPadding2D": lambda n: L.ZeroPadding2D(n)(images()),
    "MaxPooling2D": lambda n: L.MaxPooling2D(n)(images()),
    "Dropout in TimeDistributed": lambda n: L.TimeDistributed(L.Dropout(0.5))(L.Input([n, 2])),
    "BatchNormalization": lambda n: L.BatchNormalization()(L.Input([n])),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_number_beyond_int64_is_accepted_or_refused(name: str) -> None:
    for number in LARGE:
        with tf.Graph().as_default(), suppress(*REFUSALS):
            CALLS[name](number)


@pytest.mark.parametrize("name", ["placeholder", "set_shape", "BatchNormalization"])
def test_a_shape_beyond_int64_is_refused(name: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=f"Value out of range: {2**63}"):
        CALLS[name](2**63)


@pytest.mark.parametrize("name", ["slice from", "index"])
def test_an_index_beyond_int64_is_refused(name: str) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match=f"Failed to convert .*: {2**63}"):
        CALLS[name](2**63)
