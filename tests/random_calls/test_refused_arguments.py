"""Findings of random calls: wrong arguments that raised Python's errors from our own lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

GRAPH_NAMES = tf.contrib.framework


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def cyclic() -> Any:
    result: list[Any] = []
    result.append(result)
    return result


def gru() -> Any:
    return tf.nn.rnn_cell.GRUCell(3)


CALLS: dict[str, tuple[type[Exception], str, Callable[[], Any]]] = {
    "a wrong cell": (
        TypeError,
        "The argument 'cell' .* is not an RNNCell",
        lambda: tf.nn.static_state_saving_rnn(3, [tf.ones([2, 3])], object(), "name"),
    ),
    "inputs of a network that are no tensors": (
        TypeError,
        "inputs must be tensors",
        lambda: tf.nn.static_rnn(gru(), [1, 2], dtype=tf.float32),
    ),
    "a variable that is none": (
        TypeError,
        "var must be a variable, but is 3",
        lambda: GRAPH_NAMES.get_variable_full_name(3),
    ),
    "a scope that is no text": (
        TypeError,
        "export_scope",
        lambda: GRAPH_NAMES.strip_name_scope("name", abs),
    ),
    "a name that is no text": (
        TypeError,
        "name",
        lambda: GRAPH_NAMES.strip_name_scope(None, "scope"),
    ),
    "no input of a layer": (
        TypeError,
        "Inputs to a layer should be tensors. Got: None",
        lambda: tf.layers.flatten(None),
    ),
    "infinite filters": (TypeError, "filters", lambda: tf.layers.Conv1D(float("inf"), 1)),
    "infinite units": (TypeError, "units", lambda: tf.layers.Dense(float("inf"))),
    "an infinite size": (
        TypeError,
        "size",
        lambda: tf.image.resize_image_with_crop_or_pad(tf.ones([4, 4, 3]), 1, float("inf")),
    ),
    "infinite dimensions of a batch": (
        TypeError,
        "batch_dims",
        lambda: tf.gather_nd(tf.ones([2, 3]), [[0]], batch_dims=float("inf")),
    ),
    "an offset whose square is no float": (
        ValueError,
        "reparam_offset",
        lambda: tf.contrib.layers.GDN(reparam_offset=1e300),
    ),
    "initializers that are no dict": (
        TypeError,
        "param_initializers must be a dict",
        lambda: tf.contrib.layers.instance_norm(
            tf.ones([2, 3, 4]), param_initializers=iter([1, 2])
        ),
    ),
    "norms of a scalar": (
        ValueError,
        "undefined channels dimension",
        lambda: tf.contrib.layers.instance_norm(tf.constant(3.0)),
    ),
    "an infinite axis": (TypeError, "axis", lambda: tf.sort(tf.ones([2, 3]), axis=float("inf"))),
    "an infinite number of a dtype": (TypeError, "DType", lambda: tf.DType(float("inf"))),
    "a device that is no text": (
        TypeError,
        "ps_device",
        lambda: tf.train.replica_device_setter(ps_device=object, cluster={"ps": ["a:1"]}),
    ),
    "a supervisor that is none": (
        TypeError,
        "supervisor must have",
        lambda: tf.train.basic_train_loop(3, abs),
    ),
    "units of another axis": (
        ValueError,
        "axis 1 must be one of",
        lambda: tf.contrib.layers.maxout(tf.ones([2]), 1, axis=1),
    ),
    "biases of a scalar": (
        ValueError,
        "Dims of shape must be known",
        lambda: tf.contrib.layers.bias_add(tf.constant(3.0)),
    ),
    "moments over other axes": (
        ValueError,
        "axes .* must be in the range",
        lambda: tf.nn.sufficient_statistics(tf.ones([2, 3]), [4]),
    ),
    "a scalar as the shape of an output": (
        ValueError,
        "must have rank 1",
        lambda: tf.nn.conv_transpose(tf.ones([2, 3]), 1, tf.constant(3), 1),
    ),
    "a number to stack": (TypeError, "not iterable", lambda: tf.stack(np.int64(3), axis=1)),
    "numbers of elements as text": (
        TypeError,
        "out_idx",
        lambda: tf.unique_with_counts(tf.constant(["a"]), out_idx=tf.string),
    ),
    "a tensor as a constant attr": (
        TypeError,
        "Don't know how to convert .* to a TensorProto for argument 'bad_color'",
        lambda: tf.raw_ops.ImageSummary(
            tag="t", tensor=tf.ones([1, 2, 2, 1]), bad_color=tf.constant([1], tf.uint8)
        ),
    ),
    "a TensorArray as a variable": (
        TypeError,
        "requires that input 'ref' be a mutable tensor",
        lambda: tf.scatter_min(tf.TensorArray(tf.float32, 1), [0], [1.0]),
    ),
    "names as variables": (
        TypeError,
        "var_list must be variables, but has 'v'",
        lambda: GRAPH_NAMES.filter_variables(["v"], ["v"]),
    ),
    "features that are no dictionary": (
        TypeError,
        "features must be a dict",
        lambda: tf.io.parse_sequence_example(["x"], context_features=bytearray(b"x")),
    ),
    "a table filled by a tensor": (
        AttributeError,
        "key_dtype",
        lambda: tf.lookup.StaticHashTable(tf.constant(1.0), 0),
    ),
    "a root that checkpoints don't follow": (
        TypeError,
        "object that checkpoints follow",
        lambda: tf.contrib.checkpoint.list_objects(1),
    ),
    "products by examples of unknown rank": (
        ValueError,
        "rank .* must be known",
        lambda: tf.keras.backend.batch_dot(tf.placeholder(tf.float32), tf.ones([2, 3])),
    ),
    "elements repeated along an axis that is not there": (
        ValueError,
        "axis 2 is out of range",
        lambda: tf.keras.backend.repeat_elements(tf.ones([2, 3]), 2, 2),
    ),
    "normalization of unknown rank": (
        ValueError,
        "rank .* must be known",
        lambda: tf.keras.backend.batch_normalization(tf.placeholder(tf.float32), 0.0, 1.0, 0.0, 1),
    ),
    "a recurrent network on a vector": (
        ValueError,
        "axis 1 is out of range",
        lambda: tf.keras.backend.rnn(lambda x, s: (x, s), tf.ones([2]), []),
    ),
    "a local convolution by a scalar": (
        ValueError,
        "axis 0 is out of range",
        lambda: tf.keras.backend.local_conv1d(tf.ones([1, 4, 2]), tf.ones([]), 1, 1),
    ),
    "a regularizer beyond all floats": (
        ValueError,
        "too large",
        lambda: tf.keras.layers.ActivityRegularization(l2=10**400),
    ),
    "integers as scores": (
        TypeError,
        "inputs must be floating point",
        lambda: tf.contrib.crf.crf_multitag_sequence_score([[[1]]], [[[True]]], [1], [[1.0]]),
    ),
    "a scalar as scores": (
        ValueError,
        "score must be of shape",
        lambda: tf.contrib.crf.viterbi_decode(1.0, [[1.0]]),
    ),
    "scalars to merge": (
        ValueError,
        "merges batches, no scalars",
        lambda: tf.keras.layers.add([tf.constant(1.0), tf.constant(2.0)]),
    ),
    "a scale beyond all floats": (
        ValueError,
        "too large for a float",
        lambda: tf.train.experimental.FixedLossScale(10**400),
    ),
    "attention to a matrix": (
        ValueError,
        "must have rank 3",
        lambda: tf.contrib.legacy_seq2seq.attention_decoder(
            [tf.ones([2, 3])], tf.ones([2, 3]), tf.ones([2, 3]), gru()
        ),
    ),
    "numbers as variables to analyze": (
        TypeError,
        "variables must be variables or tensors",
        lambda: tf.contrib.slim.model_analyzer.analyze_vars(iter([1, 2])),
    ),
    "a list in itself": (
        ValueError,
        "nested too deeply, or contains itself",
        lambda: tf.foldr(lambda x, y: x + y, cyclic()),
    ),
}


def test_arrays_are_described_as_tensors_are() -> None:
    backend = tf.keras.backend
    assert backend.count_params(np.zeros([2, 3])) == 6 and backend.ndim(np.zeros([2, 3])) == 2
    assert backend.batch_flatten(np.zeros([2, 3, 4])).shape.as_list() == [2, 12]
    assert tf.contrib.slim.model_analyzer.tensor_description(np.zeros([2])) == "(float64 2)"


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_refused(name: str) -> None:
    kind, words, call = CALLS[name]
    with pytest.raises(kind, match=words):
        call()
