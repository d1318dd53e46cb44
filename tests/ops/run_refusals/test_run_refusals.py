"""Errors in runs for inputs whose shapes are known at run time only: those of TensorFlow's
kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.unit import inference_errors

ONE = np.float32(1)
ROW = np.ones(3, np.float32)
MATRIX = np.ones((2, 3), np.float32)
CUBE = np.ones((2, 2, 3), np.float32)
IMAGES = np.ones((1, 2, 2, 3), np.float32)
WORD = np.array(["a"], object)


def ints(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def longs(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def scalar(value: int) -> np.ndarray:
    return np.array(value, np.int32)


CASES: list[tuple[str, dict[str, Any], list[Any], str]] = [
    ("Slice", {}, [MATRIX, ints(0), ints(1, 1)],
     "Expected begin and size arguments to be 1-D tensors of size 2, but got shapes [1] and [2] "
     "instead."),
    ("Slice", {}, [MATRIX, ints(0, 5), ints(1, 1)], "Expected begin[1] in [0, 3], but got 5"),
    ("Slice", {}, [MATRIX, ints(0, 1), ints(1, 3)], "Expected size[1] in [0, 2], but got 3"),
    ("Split", {"num_split": 1}, [ints(0), MATRIX], "split_dim must be a scalar but has rank 1"),
    ("Split", {"num_split": 1}, [scalar(5), MATRIX],
     "-input rank(-2) <= split_dim < input rank (2), but got 5"),
    ("SplitV", {"num_split": 2}, [MATRIX, ints(2), scalar(0)],
     "size of the split_tensor must be 1-D and have the same elements as outputs got 1 -D and 1 "
     "elements"),
    ("SplitV", {"num_split": 2}, [MATRIX, ints(2, 2), scalar(0)],
     "Determined shape must either match input shape along split_dim exactly if fully specified"),
    ("Fill", {}, [ints([2]), ONE], "dims must be a vector, got shape [1,1]"),
    ("Fill", {}, [ints(2), ROW], "value must be a scalar, got shape [3]"),
    ("Range", {}, [ints(1), ints(3, 4), scalar(1)], "limit must be a scalar, not shape [2]"),
    ("CropAndResize", {}, [IMAGES, ONE.repeat(4)[None], ints(0), ints([1, 1])],
     "crop_size must be 1-D[1,2]"),
    ("CTCLoss", {}, [CUBE, np.int64([[0, 0, 0]]), ints(0), ints(1, 1)],
     "Order length must be SparseTensor rank."),
    ("Fill", {}, [ints(2, -1), ONE], "Dimension -1 must be >= 0"),
    ("Reshape", {}, [MATRIX, ints([6])], "sizes input must be 1-D, not [1,1]"),
    ("Reshape", {}, [MATRIX, ints(2, -3)], "Size 1 must be non-negative, not -3"),
    ("Gather", {}, [ONE, ints(0)], "params must be at least 1 dimensional"),
    ("GatherV2", {}, [MATRIX, ints(0), ints(0)], "axis must be scalar"),
    ("GatherNd", {}, [ROW, ints([0, 0])],
     "index innermost dimension length must be <= params rank; saw: 2 vs. 1"),
    ("MatMul", {}, [ROW, MATRIX], "In[0] is not a matrix. Instead it has shape [3]"),
    ("BatchMatMulV2", {}, [ROW, MATRIX], "In[0] ndims must be >= 2: 1"),
    ("BiasAdd", {}, [ROW, ROW], "Input tensor must be at least 2D: [3]"),
    ("BiasAdd", {}, [MATRIX, ROW[:2]],
     "Must provide as many biases as the last dimension of the input tensor: [2] vs. [2,3]"),
    ("Pad", {}, [ROW, ints(1, 1)], "paddings must be a matrix with 2 columns: [2]"),
    ("PadV2", {}, [ROW, ints([1, 1]), ROW], "constant_values must be a scalar. Found: [3]"),
    ("Tile", {}, [ROW, ints(-1)], "Expected multiples[0] >= 0, but got -1"),
    ("Transpose", {}, [MATRIX, ints([1, 0])], "perm must be a vector, not [1,2]"),
    ("StridedSlice", {}, [ROW, ints(0), ints(1, 1), ints(1)],
     "Expected begin, end, and strides to be 1D equal size tensors, but got shapes [1], [2], and "
     "[1] instead."),
    ("Unpack", {"num": 2}, [ROW], "Input shape axis 0 must equal 2, got shape [3]"),
    ("LinSpace", {}, [ROW, ONE, scalar(3)], "start must be a scalar, not shape [3]"),
    ("Select", {}, [ROW > 0, MATRIX, MATRIX],
     "Number of batches of 'then' must match size of 'cond', but saw: 2 vs. 3"),
    ("Select", {}, [MATRIX > 0, MATRIX, ROW],
     "Inputs to operation Select of type Select must have the same size and shape.  "
     "Input 1: [2,3] != input 2: [3]"),
    ("OneHot", {}, [ints(1), ints(3), ONE, ONE], "depth must be a scalar, but got: [1]"),
    ("OneHot", {}, [ints(1), scalar(3), ROW, ONE], "on_value must be a scalar, but got: [3]"),
    ("ExpandDims", {}, [ROW, scalar(5)],
     "Tried to expand dim index 5 for tensor with 1 dimensions."),
    ("Sum", {}, [MATRIX, ints(4)], "Invalid reduction dimension (4 for input with 2 dimension(s)"),
    ("ArgMax", {}, [MATRIX, scalar(2)], "Expected dimension in the range [-2, 2), but got 2"),
    ("Cumsum", {}, [MATRIX, scalar(2)],
     "ScanOp: Expected scan axis in the range [-2, 2), but got 2"),
    ("UnsortedSegmentSum", {}, [MATRIX, ints(0), scalar(1)],
     "data.shape = [2,3] does not start with segment_ids.shape = [1]"),
    ("CTCLoss", {}, [CUBE, np.int64([[5, 0]]), ints(0), ints(1, 1)],
     "label SparseTensor is not valid: indices[0] = [5, 0] is out of bounds: need 0 <= index <"),
    ("CTCLoss", {}, [CUBE, np.int64([[1, 0], [0, 0]]), ints(0, 0), ints(1, 1)],
     "label SparseTensor is not valid: indices[1] = [0, 0] is out of order."),
    ("SparseSegmentSum", {}, [MATRIX, ints(0), ints(0, 0)],
     "segment_ids and indices should have same size."),
    ("SparseToDense", {}, [ints([[0]]), ints(3), ROW, ONE],
     "sparse_indices should be a scalar, vector, or matrix, got shape [1,1,1]"),
    ("TensorScatterUpdate", {}, [MATRIX, ints([0]), ROW],
     "Outer dimensions of indices and update must match. Indices shape: [1,1], updates shape:[3]"),
    ("EditDistance", {}, [longs([0, 0]), ints(1), longs(1, 2), longs([0, 0]), ints(1), longs(2)],
     "Input SparseTensors must have rank at least 2, but truth_shape rank is: 1"),
    ("EditDistance", {}, [longs(0), ints(1), longs(1, 2), longs([0, 0]), ints(1), longs(1, 2)],
     "hypothesis_indices should be a matrix, but got shape: [1]"),
    ("SetSize", {}, [longs([0, 0]), ints(1, 2), longs(1, 2)],
     "indices and values rows (indexing dimension) must match. (indices = 1, values = 2)"),
    ("SetSize", {}, [longs([0, 0]), ints(1), longs(1, 2, 3)],
     "Order length must be SparseTensor rank."),
    ("DenseToDenseSetOperation", {"set_operation": "union"}, [ints([1]), ints([1], [2])],
     "Mismatched shapes [1] vs [2]"),
    ("ScatterNd", {}, [ints([0], [1]), ROW, ints(4)],
     "Dimensions [0,1) of indices[shape=[2,1]] must match dimensions [0,1) of updates[shape=[3]]"),
    ("ScatterNd", {}, [ints([0]), MATRIX[:1], ints(4)],
     "Dimensions [1,1) of input[shape=["),
    ("ScatterNd", {}, [ints([0]), ONE[None], ints(-3)], "Dimension -3 must be >= 0"),
    ("ReverseSequence", {"seq_dim": 1}, [MATRIX, ints(4, 1)], "seq_lens(0) > input.dims(1)"),
    ("ReverseSequence", {"seq_dim": 1}, [MATRIX, ints(1, -1)], "seq_lens(1) < 0"),
    ("Conv2D", {"strides": [1, 1, 1, 1], "padding": "SAME"}, [CUBE, IMAGES],
     "input must be 4-dimensional[2,2,3]"),
    ("MaxPool", {"ksize": [1, 1, 1, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}, [CUBE],
     "tensor_in_shape must have 2 spatial dimensions. 3 0"),
    ("SoftmaxCrossEntropyWithLogits", {}, [MATRIX, MATRIX[:, :2]],
     "logits and labels must be broadcastable: logits_size=[2,3] labels_size=[2,2]"),
    ("SparseSoftmaxCrossEntropyWithLogits", {}, [MATRIX, ints(1)],
     "logits and labels must have the same first dimension, got logits shape [2,3] and labels "
     "shape [1]"),
    ("InTopK", {"k": 1}, [MATRIX, ints(1)],
     "First dimension of predictions 2 must match length of targets 1"),
    ("ReluGrad", {}, [MATRIX, ROW],
     "Inputs to operation ReluGrad of type ReluGrad must have the same size and shape.  "
     "Input 0: [2,3] != input 1: [3]"),
    ("ResizeBilinear", {}, [IMAGES, ints(1)], "shape_t must have two elements[1]"),
    ("MatrixBandPart", {}, [MATRIX, ints(1), scalar(0)], "num_lower must be scalar, got shape [1]"),
    ("MatrixSolve", {}, [MATRIX, MATRIX], "First input (lhs) must be a square matrix."),
    ("StringSplit", {}, [WORD, WORD], "delimiter must be a scalar, got shape: [1]"),
    ("StringJoin", {}, [[WORD, WORD[:0]]], "Input shapes do not match: [1] vs. [0]"),
]  # fmt: skip


def placeholder(array: Any, feeds: dict[Any, Any]) -> Any:
    if isinstance(array, list):
        return [placeholder(item, feeds) for item in array]
    kind = tf.string if array.dtype.kind == "O" else tf.as_dtype(array.dtype)
    tensor = tf.placeholder(kind)
    feeds[tensor] = array
    return tensor


def refusal(op_type: str, attrs: dict[str, Any], arrays: list[Any]) -> tf.errors.OpError:
    with tf.Graph().as_default(), tf.Session() as session:
        feeds: dict[Any, Any] = {}
        inputs = [placeholder(array, feeds) for array in arrays]
        result = getattr(tf.raw_ops, op_type)(*inputs, **attrs, name=op_type)
        with pytest.raises(tf.errors.OpError) as caught:
            session.run(result, feeds)
    return caught.value


@pytest.mark.parametrize(
    ("op_type", "attrs", "arrays", "words"), CASES, ids=[f"{c[0]}: {c[3][:40]}" for c in CASES]
)
def test_words_are_those_of_kernels(
    op_type: str, attrs: dict[str, Any], arrays: list[Any], words: str
) -> None:
    error = refusal(op_type, attrs, arrays)
    assert type(error) is tf.errors.InvalidArgumentError
    assert error.message.startswith(words)
    assert f"[[node {op_type} " in error.message


def test_classes_are_those_of_kernels() -> None:
    cases: list[tuple[str, dict[str, Any], list[Any], Any, str]] = [
        ("HSVToRGB", {}, [ROW[:2]], tf.errors.FailedPreconditionError, "input must have 3 chan"),
        ("RGBToHSV", {}, [ROW[:2]], tf.errors.FailedPreconditionError, "input must have 3 chan"),
        ("CTCGreedyDecoder", {}, [CUBE, ints(1)], tf.errors.FailedPreconditionError,
         "len(sequence_length) != batch_size.  len(sequence_length):  1 batch_size: 2"),
        ("ReduceJoin", {}, [WORD, ints(4)], tf.errors.OutOfRangeError,
         "Invalid reduction dimension 4 for input with 1 dimension(s)"),
        ("CropAndResize", {}, [IMAGES, ONE.repeat(4)[None], ints(1), ints(1, 1)],
         tf.errors.OutOfRangeError, "box_index has values outside [0, batch_size)"),
        ("SetSize", {"validate_indices": False}, [np.int64([[0, 9]]), ints(1), np.int64([1, 2])],
         tf.errors.InternalError, "indices[0, 1] expected < 2, got 9."),
        ("UnsortedSegmentJoin", {}, [WORD, ints([0]), scalar(1)], tf.errors.OutOfRangeError,
         "Invalid segment_id rank 2 for input with 1 dimension(s)"),
    ]  # fmt: skip
    for op_type, attrs, arrays, error_class, words in cases:
        error = refusal(op_type, attrs, arrays)
        assert type(error) is error_class and error.message.startswith(words), op_type


@pytest.mark.parametrize(
    ("lr", "indices", "words"),
    [
        (ONE, ints(5), "Index 5 at offset 0 in indices is out of range"),
        (ONE, ints([0]), "indices must be one-dimensional"),
        (ROW, ints(0), "lr is not a positive scalar: [3]"),
    ],
)
def test_words_of_updates_of_rows(lr: np.ndarray, indices: np.ndarray, words: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variables = [tf.get_variable(name, initializer=MATRIX, use_resource=False) for name in "vw"]
        fed = [tf.placeholder(tf.float32), tf.placeholder(tf.int32)]
        update = tf.raw_ops.SparseApplyProximalAdagrad(
            *[variable._ref() for variable in variables], fed[0], 0.0, 0.0, MATRIX[:1], fed[1]
        )
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(update, dict(zip(fed, (lr, indices), strict=True)))
    assert caught.value.message.startswith(words)


def test_rules_are_asked_after_a_refusal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def note(context: Any, name: str, op_type: str) -> None:
        del context, name
        asked.append(op_type)

    monkeypatch.setattr(inference_errors, "run_refusal", note)
    with tf.Graph().as_default(), tf.Session() as session:
        x, begin = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
        part = tf.slice(x, begin, [1, 1])
        session.run(part, {x: MATRIX, begin: [0, 1]})
        assert asked == []
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(part, {x: MATRIX, begin: [0]})
    assert asked == ["Slice", "Slice"]  # with open sizes, then with exact ones for the message


def test_axes_of_reductions_may_have_any_rank_in_a_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        axes = tf.placeholder(tf.int32)
        assert session.run(tf.reduce_sum(MATRIX, axes), {axes: [[0, 1]]}) == 6
        with pytest.raises(ValueError, match="at most rank 1"):
            tf.reduce_sum(MATRIX, [[0, 1]])


def test_the_axis_of_uneven_pieces_may_be_a_vector_of_one_element() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        axis = tf.placeholder(tf.int32)
        parts = tf.raw_ops.SplitV(MATRIX, [1, 1], axis, num_split=2)
        assert [part.shape for part in session.run(parts, {axis: [0]})] == [(1, 3)] * 2


@pytest.mark.parametrize(
    ("dims", "value"), [(scalar(3), ONE), (ints(2), ROW[:1]), (ints(), ROW[:1])]
)
def test_fill_takes_a_scalar_shape_and_a_value_of_one_element_in_a_run(
    dims: np.ndarray, value: np.ndarray
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(tf.int32), tf.placeholder(tf.float32)]
        filled = session.run(tf.fill(*fed), dict(zip(fed, (dims, value), strict=True)))
        assert filled.tolist() == np.full(dims, 1).tolist()
        with pytest.raises(ValueError, match="Shape must be rank 1 but is rank 0"):
            tf.fill(3, 1.0)
        with pytest.raises(ValueError, match=r"scalar"):
            tf.fill([3], [1.0])


def test_range_takes_inputs_of_one_element_in_a_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(tf.int32) for _ in range(3)]
        numbers = tf.range(*fed)
        assert session.run(numbers, dict(zip(fed, ([1], [7], [2]), strict=True))).tolist() == [
            1,
            3,
            5,
        ]
        with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
            tf.range([3])


def test_sparse_tensors_are_joined_with_indices_outside_of_them() -> None:
    shape = np.int64([2, 2])
    with tf.Graph().as_default(), tf.Session() as session:
        rows = [tf.constant([[9, 0], [0, 1]], tf.int64), tf.constant([[-3, 1]], tf.int64)]
        joined = tf.raw_ops.SparseConcat(rows, [[1, 2], [3]], [shape, shape], concat_dim=1)
        indices, values, whole = session.run(joined)
    assert indices.tolist() == [[-3, 3], [0, 1], [9, 0]]
    assert values.tolist() == [3, 2, 1] and whole.tolist() == [2, 4]


def test_offsets_of_pieces_take_a_scalar_axis() -> None:
    error = refusal("ConcatOffset", {}, [ints(0), [ints(2), ints(3)]])
    assert error.message.startswith("Concat dim tensor should be a scalar integer, but got shape")
