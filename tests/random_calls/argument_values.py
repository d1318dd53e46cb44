"""Values of arguments: plausible ones by the name of the parameter, and wild ones for any.

Each is a function without parameters, since tensors belong to the graph that is the default when
it is called. Numbers are small or beyond all memory: a call may hold a few megabytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import gpugraph as tf

__all__ = ["DTYPES", "Maker", "PLAUSIBLE", "WILD", "array", "fed"]

Maker = Callable[[], Any]

DTYPES = (tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8, tf.bool, tf.complex64, tf.string)


def array(dtype: tf.DType, shape: tuple[int, ...]) -> np.ndarray:
    """Small numbers, some of them negative; letters as strings."""
    count = int(np.prod(shape))
    if dtype is tf.string:
        letters = itertools.islice(itertools.cycle([b"a", b"bc", b"", b"3"]), count)
        result = np.empty(count, object)
        result[:] = list(letters)
        return result.reshape(shape)
    numbers = (np.arange(count) * 7 % 5 - 1).reshape(shape)
    return numbers.astype(dtype.as_numpy_dtype)


def constant(dtype: tf.DType, *shape: int) -> Maker:
    return lambda: tf.constant(array(dtype, shape), dtype)


def fed(dtype: tf.DType, *shape: int, known: bool = False) -> Maker:
    """Return a placeholder, fed by default, whose shape is unknown to inference unless `known`."""
    return lambda: tf.placeholder_with_default(
        tf.constant(array(dtype, shape), dtype), shape if known else None
    )


def of_value(value: Any) -> Maker:
    return lambda: value


def fed_value(value: Any) -> Maker:
    return lambda: tf.placeholder_with_default(tf.constant(value), None)


def values(*items: Any) -> list[Maker]:
    return [of_value(item) for item in items]


def variable(use_resource: bool, *shape: int, dtype: tf.DType = tf.float32) -> Maker:
    def make() -> Any:
        return tf.Variable(array(dtype, shape), dtype=dtype, use_resource=use_resource)

    return make


def sparse(dtype: tf.DType = tf.float32) -> Any:
    return tf.SparseTensor([[0, 0], [1, 2]], tf.constant(array(dtype, (2,)), dtype), [2, 3])


def other_graph() -> Any:
    with tf.Graph().as_default():
        return tf.constant(1.0)


def nested(depth: int) -> Any:
    result: Any = 1
    for _ in range(depth):
        result = [result]
    return result


def cyclic() -> Any:
    result: list[Any] = []
    result.append(result)
    return result


def floats(*shape: int) -> list[Maker]:
    return [constant(tf.float32, *shape), fed(tf.float32, *shape), fed(tf.float64, *shape)]


def integers(*shape: int) -> list[Maker]:
    return [constant(tf.int32, *shape), fed(tf.int32, *shape), fed(tf.int64, *shape)]


TENSORS = floats(2, 3)
IMAGES = floats(1, 4, 4, 3)
STRINGS = [constant(tf.string, 2), fed(tf.string, 3)]
SPARSE: list[Maker] = [sparse, lambda: sparse(tf.int32), lambda: sparse(tf.string)]
VARIABLES = [variable(False, 3, 2), variable(True, 3, 2)]
FUNCTIONS = values(lambda *x: x[0] if x else tf.constant(1.0))
INDICES = [*values([0, 1], [[0], [1]]), *integers(2), *integers(2, 1)]
AXES = [*values(0, 1, -1, [0], 2), fed_value(0), fed_value([0, 1])]
SIZES = [*values([2, 3], [6], [1, -1], []), fed_value([3, 2])]
NUMBERS = [*values(1, 2, 3), fed_value(2)]
FLOATS = [*values(0.5, 1.0, 2.0), fed_value(0.5)]
CELLS: list[Maker] = [lambda: tf.nn.rnn_cell.GRUCell(3)]
WINDOWS = values([1, 1, 1, 1], [1, 2, 2, 1], 2, [2, 2])

PLAUSIBLE: dict[str, list[Maker]] = {}
"""By the name of a parameter; `TENSORS` for names that are not here."""


def _plausible(makers: list[Maker], names: str) -> None:
    for name in names.split():
        PLAUSIBLE[name] = makers


_plausible(
    AXES,
    "axis axes dim dimension reduction_indices batch_dims seq_dim batch_dim seq_axis batch_axis",
)
_plausible(SIZES, "shape size sizes dims begin multiples output_shape block_shape perm input_sizes")
_plausible(
    NUMBERS,
    """num num_units units filters k depth n num_classes num_segments num_rows num_columns
    decay_steps lookup_size num_sampled num_true range_max unique max_output_size target_height
    target_width block_size pool_size kernel_size ksize rates rate blocks frame_length frame_step
    num_bits global_step maxlen num_or_size_splits num_lower num_upper num_samples max_norm
    height width offset_height offset_width num_buckets nbins num_outputs seed rank ord""",
)
_plausible(
    FLOATS,
    """learning_rate clip_norm keep_prob scale momentum decay lam alpha beta delta limit start
    rate minval maxval mean stddev min max on_value off_value max_val lower upper central_fraction
    max_delta factor ratio""",
)
_plausible(INDICES, "indices segment_ids ids targets labels sequence_length lengths partitions")
_plausible(IMAGES, "image images value out_backprop")
_plausible([*floats(2, 2, 3, 3), *floats(3, 2, 4)], "filter kernel filters_")
_plausible(WINDOWS, "strides strides_ dilations dilation_rate ksizes")
_plausible(values("SAME", "VALID", [[1, 1], [0, 2]]), "padding paddings")
_plausible(values(tf.float32, tf.int32, "float64", np.int64, tf.string), "dtype type Tout out_type")
_plausible(values("name", None), "name scope default_name op_type key tensor_name")
_plausible(STRINGS, "source pattern rewrite separator bytes contents records")
_plausible(SPARSE, "sp_input sp_a sp_b sp_ids sp_weights sparse_tensor sp_inputs_")
_plausible(VARIABLES, "ref variable var_list")
_plausible(FUNCTIONS, "fn func f body true_fn false_fn loop_fn grad_f")
_plausible([lambda: lambda *x: tf.constant(False)], "cond")
_plausible(CELLS, "cell cell_fw cell_bw")
_plausible(
    [lambda: [tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])], lambda: [tf.zeros([2, 3])] * 2],
    "values tensors inputs_ arrays elems loop_vars params t_list xs ys",
)
_plausible(values("ab,ba->b", "ij,jk->ik", "ij->ji"), "equation")
_plausible(
    [*values(True, False), lambda: tf.constant(True), fed_value([True, False])], "condition pred"
)
_plausible(values("NHWC", "NCHW", "channels_last"), "data_format")

WILD: list[Maker] = [
    *values(None, True, False, 0, 1, -1, 2, 7, -5, 2**31, 2**40, 2**63, 2**64, -(2**63), 10**400),
    *values(
        1.5, -0.5, float("nan"), float("inf"), 1e300, 1j, "", "x", "a b", "é", b"\xff", "\ud800"
    ),
    *values(
        [], [[]], (), {}, {"a": 1}, {1, 2}, frozenset(), [1, 2], [[1, 2], [3]], [None], ["a", 1]
    ),
    *values(object(), object, abs, lambda: 1, ..., NotImplemented, range(3), slice(1, 2)),
    *values(
        tf.float32, "float32", np.float32, tf.resource, tf.TensorShape(None), tf.Dimension(None)
    ),
    *values(tf.TensorShape([None, 2]), tf.TensorShape([2**40, 2**40]), tf.Dimension(3)),
    *values([2**40, 2**40], [-1, -1], [-2], [0, 0], [1] * 300, [2**31], [2**62, 4]),
    *values(
        np.float64(2), np.int64(3), np.str_("s"), np.zeros((2, 0)), np.array("s"), np.array(None)
    ),
    *values(np.zeros(2, "datetime64[s]"), np.zeros(2, [("a", int)]), np.zeros(2, np.longdouble)),
    *values(np.ones((2, 3)), np.arange(3), np.array([True]), np.array([b"a", b"b"])),
    *values(bytearray(b"x"), memoryview(b"x"), iter([1, 2]), nested(3), nested(40), nested(70)),
    cyclic,
    other_graph,
    lambda: tf.no_op(),
    lambda: tf.get_default_graph(),
    lambda: tf.constant([]),
    lambda: tf.constant(float("nan")),
    lambda: tf.constant("text"),
    lambda: tf.placeholder(tf.float32),
    lambda: tf.placeholder(tf.int32, [None]),
    lambda: [tf.constant(1.0), tf.constant(1)],
    lambda: {"a": tf.constant(1.0)},
    lambda: tf.IndexedSlices(tf.ones([2, 3]), [0, 1], [4, 3]),
    lambda: tf.TensorArray(tf.float32, 2),
    lambda: tf.constant(2**40, tf.int64),
    lambda: tf.constant([2**40, 2**40], tf.int64),
    lambda: tf.constant(-(2**63), tf.int64),
    fed_value(np.int64(2**62)),
    fed_value(np.array([2**40, 2**40])),
    fed_value([-1, 5]),
    fed_value([]),
    fed_value(-3),
    *SPARSE,
    *VARIABLES,
    *(
        make(dtype, *shape)
        for dtype in DTYPES
        for shape in ((), (2,), (2, 3), (0, 3), (2, 1, 3), (1, 2, 2, 1), (1, 1, 1, 1, 1))
        for make in (constant, fed)
    ),
]
"""For any parameter."""
