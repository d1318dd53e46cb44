"""Samples of every op, with references in NumPy. `TABLE` holds them; see `sampling` for forms.

A declared op without samples here fails `test_every_op.py`, unless `UNSAMPLED` gives the reason.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.ops.older_types.renamed_op_types import RENAMED
from gpugraph.ops.op_index import MODULE_OF
from gpugraph.ops.state.resource_variable_ops import LOWERED

from . import (
    samples_of_boxes,
    samples_of_ctc,
    samples_of_factors,
    samples_of_images,
    samples_of_integrals,
    samples_of_linalg,
    samples_of_mathematics,
    samples_of_old_graphs,
    samples_of_older_types,
    samples_of_pictures,
    samples_of_places,
    samples_of_positions,
    samples_of_recurrence,
    samples_of_sets,
    samples_of_sparse,
    samples_of_strings,
    samples_of_summaries,
    samples_of_texts,
    samples_of_training,
)
from .samples_of_arrays import one_hot_rows
from .samples_of_layers import LAYERED
from .samples_of_random import RANDOM
from .samples_of_volumes import VOLUMINOUS
from .samples_of_windows import WINDOWED
from .sampling import TABLE, add, case, elementwise, i32, i64, representatives

__all__ = ["LAYERED", "RANDOM", "TABLE", "UNSAMPLED", "VOLUMINOUS", "WINDOWED"]

assert samples_of_training.FORMULAS  # its samples are in the table by now
assert samples_of_strings.texts and samples_of_summaries.TAG
assert samples_of_mathematics.SPECTRA and samples_of_positions.COMBINED  # these too
assert samples_of_linalg.MATRICES  # their samples are in the table by now
assert samples_of_sets.QUANTIZED
assert samples_of_sparse.ROWS is not None
assert samples_of_boxes.BOXES is not None
assert samples_of_factors.UNSLOPED
assert samples_of_images.IN_SINGLE
assert samples_of_places.PLACED and samples_of_ctc.SPOKEN
assert samples_of_integrals.NODES.size
assert samples_of_old_graphs.NORMED
assert samples_of_recurrence.GATED
assert samples_of_pictures.png_file and samples_of_texts.ENCODED is not None
assert samples_of_training.FORMULAS

_IN_PLANS = "it stands in plans only, and the bind pass makes of it what it says"
UNSAMPLED = {
    "_StatelessMultinomials": "tests/library/data/test_row_forms.py compares its draws",
    "_Arg": _IN_PLANS,
    "_Retval": _IN_PLANS,
    "_Send": _IN_PLANS,
    "_Recv": _IN_PLANS,
    "_LoopEnd": _IN_PLANS,
    "_Fused": _IN_PLANS,
    **dict.fromkeys(
        ("MutexV2", "MutexLock", "ConsumeMutexLock"),
        "tests/building/control_flow/test_critical_section.py runs them",
    ),
    **dict.fromkeys(
        (
            "TensorArrayV3",
            "TensorArrayGradV3",
            "TensorArrayGradWithShape",
            "TensorArrayWriteV3",
            "TensorArrayReadV3",
            "TensorArrayScatterV3",
            "TensorArrayGatherV3",
            "TensorArraySplitV3",
            "TensorArrayConcatV3",
            "TensorArraySizeV3",
            "TensorArrayCloseV3",
        ),
        "it works on what a run keeps: test_tensor_array.py has it run",
    ),
    **dict.fromkeys(
        (
            "EmptyTensorList",
            "TensorListConcat",
            "TensorListConcatLists",
            "TensorListConcatV2",
            "TensorListElementShape",
            "TensorListFromTensor",
            "TensorListGather",
            "TensorListGetItem",
            "TensorListLength",
            "TensorListPopBack",
            "TensorListPushBack",
            "TensorListReserve",
            "TensorListResize",
            "TensorListScatter",
            "TensorListScatterIntoExistingList",
            "TensorListScatterV2",
            "TensorListSetItem",
            "TensorListSplit",
            "TensorListStack",
        ),
        "it works on lists in variants: test_list_making_ops.py has it run",
    ),
    **{
        op_type: "it works on datasets in variants: tests/library/data has it run"
        for op_type, module in MODULE_OF.items()
        if module.partition(".")[0] == "datasets"
    },
    **dict.fromkeys(
        ("OptionalFromValue", "OptionalGetValue", "OptionalHasValue", "OptionalNone"),
        "it works on optionals in variants: test_optional_ops.py has it run",
    ),
    **dict.fromkeys(
        (
            "FIFOQueueV2",
            "PaddingFIFOQueueV2",
            "PriorityQueueV2",
            "RandomShuffleQueueV2",
            "QueueEnqueueV2",
            "QueueEnqueueManyV2",
            "QueueDequeueV2",
            "QueueDequeueManyV2",
            "QueueDequeueUpToV2",
            "QueueCloseV2",
            "QueueIsClosedV2",
            "QueueSizeV2",
        ),
        "it works on what a session keeps: test_queue_classes.py has it run",
    ),
    **dict.fromkeys(
        (
            f"{name}{version}"
            for version in ("", "V2")
            for name in (
                *("HashTable", "MutableHashTable", "MutableHashTableOfTensors"),
                *("MutableDenseHashTable", "InitializeTable", "InitializeTableFromTextFile"),
                *("LookupTableFind", "LookupTableSize", "LookupTableInsert", "LookupTableExport"),
                *("LookupTableImport", "LookupTableRemove"),
            )
            if version or name not in ("LookupTableRemove", "MutableDenseHashTable")
        ),
        "it works on what a session keeps: tests/library/lookup has it run",
    ),
    **dict.fromkeys(
        (
            *("CollectiveReduce", "CollectiveGather"),
            *("CollectiveBcastSend", "CollectiveBcastRecv"),
        ),
        "several belong together: tests/ops/collectives has them run",
    ),
    "_CollectiveInput": "the compiler alone makes it: tests/cluster/test_collectives.py has it run",
    "_CollectiveExchange": "as that: tests/cluster/test_collectives_inside.py has it run",
    **dict.fromkeys(
        (
            *("ParseExample", "ParseSingleExample", "ParseSequenceExample", "ParseTensor"),
            *("ParseSingleSequenceExample", "SerializeTensor", "SerializeSparse"),
            *("SerializeManySparse", "DeserializeSparse", "DeserializeManySparse"),
            *("DecodeJSONExample", "ParseExampleV2"),
        ),
        "it reads or writes messages: tests/ops/parsing has it run",
    ),
    **dict.fromkeys(
        (
            *("ConditionalAccumulator", "SparseConditionalAccumulator", "AccumulatorApplyGradient"),
            *("AccumulatorTakeGradient", "AccumulatorNumAccumulated", "AccumulatorSetGlobalStep"),
            *("SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient", "Stage"),
            "AccumulatorClose",
            *("Unstage", "StagePeek", "StageSize", "StageClear"),
            *(
                f"{order}Map{what}"
                for order in ("", "Ordered")
                for what in (
                    *("Stage", "Unstage", "UnstageNoKey", "Peek", "Size", "IncompleteSize"),
                    "Clear",
                )
            ),
            *("Barrier", "BarrierInsertMany", "BarrierTakeMany", "BarrierClose"),
            *("BarrierReadySize", "BarrierIncompleteSize"),
        ),
        "it works on what a session keeps: tests/ops/queues has it run",
    ),
    **dict.fromkeys(
        (
            *("IdentityReaderV2", "WholeFileReaderV2", "TextLineReaderV2", "TFRecordReaderV2"),
            *("FixedLengthRecordReaderV2", "ReaderReadV2", "ReaderReadUpToV2", "ReaderResetV2"),
            *("ReaderNumRecordsProducedV2", "ReaderNumWorkUnitsCompletedV2"),
            *("ReaderSerializeStateV2", "ReaderRestoreStateV2"),
        ),
        "it reads files: tests/ops/readers has it run",
    ),
    **dict.fromkeys(
        (*(name for name in MODULE_OF if "BoostedTrees" in name),),
        "it belongs to trainings of trees: tests/ops/boosted_trees has it run",
    ),
    **dict.fromkeys(
        ("MaskedMatmul", "WALSComputePartialLhsAndRhs"),
        "it sums over sparse entries: test_matrix_factorization.py has it run",
    ),
    **dict.fromkeys(
        ("GetSessionHandle", "GetSessionTensor", "DeleteSessionTensor"),
        "it works on what a session keeps: test_session_tensors.py has it run",
    ),
    "TensorSummary": "its result has the node's name: test_tensor_summary_ops.py has it run",
    **dict.fromkeys(
        LOWERED, "compilation puts another op in its place: test_resource_variables.py has it run"
    ),
    **dict.fromkeys(
        ("Stack", "StackPush", "StackPop", "StackClose"),
        "it works on what a run keeps: test_state_op_types.py has it run",
    ),
    **dict.fromkeys(
        ("FractionalMaxPool", "FractionalAvgPool"),
        "its windows are random: test_fractional_pooling.py has it run",
    ),
    **dict.fromkeys(
        ("QuantizeV2", "Dequantize"),
        "its numbers are of dtypes that NumPy does not have: test_quantization_ops.py has it run",
    ),
    "SparseCross": "what it does to each row is a hash: test_sparse_cross.py has it run",
    **dict.fromkeys(
        (
            *(name for name in RENAMED if name.startswith(("Queue", "Reader", "TensorArray"))),
            *(name for name in RENAMED if name.endswith(("Queue", "Reader"))),
            *("TensorArray", "TensorArrayV2", "TensorArrayGrad", "TensorArrayGradV2"),
            *("TensorArrayPack", "TensorArrayUnpack", "PlaceholderV2", "RandomCrop"),
            *("RandomPoisson", "QuantizeAndDequantize"),
        ),
        "graphs of old producers have it: test_ops_of_old_graphs.py has it run",
    ),
    "Variable": "it is memory: test_state_op_types.py has it run",
    "Timestamp": "it is another number each time: test_timestamp.py has it run",
    **dict.fromkeys(
        ("StackV2", "StackPushV2", "StackPopV2", "StackCloseV2"),
        "it works on what a run keeps: test_stacks.py has it run",
    ),
    **dict.fromkeys(
        ("MatchingFiles", "ReadFile", "WriteFile"), "it works on files: test_files.py has it run"
    ),
    **dict.fromkeys(
        (
            *("SaveV2", "RestoreV2", "_RestoreSized"),
            *("Save", "SaveSlices", "Restore", "RestoreSlice"),
            *("MergeV2Checkpoints", "ShardedFilename", "ShardedFilespec"),
        ),
        "it works on files: test_saver.py has it run",
    ),
    **dict.fromkeys(
        ("GenerateVocabRemapping", "LoadAndRemapMatrix"),
        "it works on files: test_warm_start.py has it run",
    ),
    **dict.fromkeys(
        (
            *("DecodeJpeg", "EncodeJpeg", "EncodeJpegVariableQuality"),
            *("DecodeGif", "DecodeAndCropJpeg", "ExtractJpegShape"),
        ),
        "Pillow codes them, an extra: test_jpeg_functions.py has them run",
    ),
    **dict.fromkeys(
        ("DecodeWav", "EncodeWav", "AudioSpectrogram", "Mfcc"),
        "they work on recordings: test_audio_features.py has them run",
    ),
    "EncodePng": "another file is as good: test_image_files.py reads what it writes",
    **dict.fromkeys(
        ("PyFunc", "PyFuncStateless", "EagerPyFunc"),
        "what it computes is a Python function of its own: test_script.py has some",
    ),
    **dict.fromkeys(
        (
            "Switch",
            "Merge",
            "Enter",
            "Exit",
            "NextIteration",
            "RefSwitch",
            "RefMerge",
            "RefEnter",
            "RefExit",
            "RefNextIteration",
            "RefIdentity",
            "LoopCond",
            "ControlTrigger",
        ),
        "it moves tensors between branches and iterations: tests/building/control_flow has it run",
    ),
    **dict.fromkeys(
        ("Print", "PrintV2", "StringFormat"),
        "it writes tensors of several dtypes: test_printing.py has it run",
    ),
    "Assert": "it only fails: tests/building/control_flow/test_assertion.py has it run",
    "DecodeCSV": "its columns are of several dtypes: test_texts_of_records.py has it run",
    "IdentityN": "its inputs are of several dtypes: test_identity_n.py has it run",
    "Placeholder": "it computes nothing: it is fed in every run of this test",
    "VariableV2": "it is memory, with no value before an Assign, whose samples have one",
}
"""Declared ops without samples, with the reason."""

DATA = representatives(dtypes.ALL)
"""The dtypes of data that is only moved."""

POSITIVE: dict[str, Any] = {"low": 0.3, "high": 2.3, "signed": False}
SMALL: dict[str, Any] = {"low": 0.1, "high": 0.9}
WIDE: dict[str, Any] = {"low": 0.3, "high": 8.0}


def _scalars(v: Any, *numbers: float) -> list[Any]:
    return [np.array(number, v.dtype.as_numpy_dtype) for number in numbers]


# -- one element


def softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


elementwise("Abs", np.abs)
elementwise("Neg", np.negative)
elementwise("Sign", np.sign)
elementwise("Square", np.square)
elementwise("Sqrt", np.sqrt, **POSITIVE)
elementwise("Rsqrt", lambda x: 1 / np.sqrt(x), **POSITIVE)
for _name in ("Reciprocal", "Inv"):
    elementwise(_name, lambda x: 1 / x)
elementwise("Exp", np.exp)
elementwise("Expm1", np.expm1, **SMALL)
elementwise("Log", np.log, **POSITIVE)
elementwise("Log1p", np.log1p, **POSITIVE)
elementwise("Sin", np.sin)
elementwise("Cos", np.cos)
elementwise("Tan", np.tan, **SMALL)
elementwise("Tanh", np.tanh)
elementwise("Sigmoid", lambda x: 1 / (1 + np.exp(-x)))
elementwise("Softplus", softplus)
elementwise("Erf", np.vectorize(math.erf, otypes=[np.float64]))
elementwise("Floor", np.floor)
elementwise("Ceil", np.ceil)
elementwise("Rint", np.rint)
elementwise("Round", np.rint)
elementwise("IsNan", np.isnan)
elementwise("IsInf", np.isinf)
elementwise("IsFinite", np.isfinite)
for _name, _function in (("IsNan", np.isnan), ("IsInf", np.isinf), ("IsFinite", np.isfinite)):
    add(
        _name,
        lambda v: case(np.array([1, np.nan, np.inf, -np.inf], v.dtype.as_numpy_dtype)),
        reference=_function,
    )
elementwise("Conj", np.conjugate)
elementwise("Relu", lambda x: np.maximum(x, 0))
elementwise("Relu6", lambda x: np.clip(x, 0, 6), **WIDE)
elementwise("LeakyRelu", lambda x, alpha=0.2: np.where(x > 0, x, alpha * x), attrs={"alpha": 0.5})
elementwise("LeakyRelu", lambda x, alpha=0.2: np.where(x > 0, x, alpha * x))
elementwise("Elu", lambda x: np.where(x < 0, np.expm1(x), x))
elementwise("LogicalNot", np.logical_not)

# -- gradients of functions of one element

elementwise("SqrtGrad", lambda y, dy: dy / 2 / np.conj(y), one_shape=True, **POSITIVE)
elementwise("RsqrtGrad", lambda y, dy: -dy * np.conj(y) ** 3 / 2, one_shape=True, **POSITIVE)
for _name in ("ReciprocalGrad", "InvGrad"):
    elementwise(_name, lambda y, dy: -dy * np.conj(y) ** 2, one_shape=True)
elementwise("TanhGrad", lambda y, dy: dy * (1 - y**2), one_shape=True, **SMALL)
elementwise("SigmoidGrad", lambda y, dy: dy * y * (1 - y), one_shape=True)
elementwise("SoftplusGrad", lambda dy, x: dy / (1 + np.exp(-x)), one_shape=True)
elementwise("ReluGrad", lambda dy, x: dy * (x > 0), one_shape=True)
elementwise("Relu6Grad", lambda dy, x: dy * ((x > 0) & (x < 6)), one_shape=True, **WIDE)
elementwise(
    "LeakyReluGrad",
    lambda dy, x, alpha: np.where(x > 0, dy, dy * alpha),
    one_shape=True,
    attrs={"alpha": 0.3},
)
elementwise("EluGrad", lambda dy, y: dy * (np.minimum(y, 0) + 1), one_shape=True, **SMALL)

# -- two elements


def divide(x: Any, y: Any) -> Any:
    """C's quotient of integers, and the true one of all else."""
    return np.trunc(x / y).astype(x.dtype) if x.dtype.kind in "iu" else x / y


elementwise("Add", np.add)
elementwise("AddV2", np.add)
elementwise("Sub", np.subtract)
elementwise("Mul", np.multiply)
elementwise("SquaredDifference", lambda x, y: (x - y) ** 2)
elementwise("Maximum", np.maximum)
elementwise("Minimum", np.minimum)
elementwise("RealDiv", np.true_divide)
elementwise("Div", divide)
elementwise("DivNoNan", np.true_divide)
add(
    "DivNoNan",
    lambda v: case(v(3), np.array([0, 2, 0], v.dtype.as_numpy_dtype), smooth=False),
    reference=lambda x, y: (
        np.divide(x, y, out=np.zeros_like(x), where=np.broadcast_to(y != 0, 3))
        if y.shape == (3,) and 0 in y
        else np.true_divide(x, y)
    ),
)
elementwise("TruncateDiv", lambda x, y: np.trunc(x / y).astype(x.dtype))
elementwise("FloorDiv", lambda x, y: np.floor(x / y).astype(x.dtype))
elementwise("FloorMod", lambda x, y: x - np.floor(x / y).astype(x.dtype) * y, tolerance=4)
elementwise("TruncateMod", lambda x, y: x - np.trunc(x / y).astype(x.dtype) * y, tolerance=4)
elementwise("Pow", np.power, tolerance=4, **POSITIVE)
elementwise("Less", np.less)
elementwise("LessEqual", np.less_equal)
elementwise("Greater", np.greater)
elementwise("GreaterEqual", np.greater_equal)
elementwise("LogicalAnd", np.logical_and)
elementwise("LogicalOr", np.logical_or)


def _equality(op_type: str, function: Any, otherwise: bool) -> None:
    def reference(x: Any, y: Any, incompatible_shape_error: bool = True) -> Any:
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            assert not incompatible_shape_error
            return np.array(otherwise)
        return function(x, y)

    def alike(v: Any) -> Any:
        x = v(2, 3)
        return case(x, np.where(v(2, 3) == x, v(2, 3), x))

    elementwise(op_type, reference)
    add(
        op_type,
        alike,
        lambda v: case(v(3), v(2), incompatible_shape_error=False),
        lambda v: case(v(2, 1), v(3), incompatible_shape_error=False),
        reference=reference,
    )


_equality("Equal", np.equal, False)
_equality("NotEqual", np.not_equal, True)

# -- choice and positions


def _select(condition: Any, x: Any, y: Any) -> Any:
    if condition.ndim == 1 < x.ndim:
        condition = condition.reshape((-1,) + (1,) * (x.ndim - 1))
    return np.where(condition, x, y)


_TF = np.array([True, False])
add(
    "Select",
    lambda v: case(np.array([[True, False, True], [False, False, True]]), v(2, 3), v(2, 3)),
    lambda v: case(_TF, v(2, 3, 2), v(2, 3, 2)),
    lambda v: case(_TF[0], v(2, 3), v(2, 3)),
    lambda v: case(_TF[1], v(), v()),
    lambda v: case(_TF[:0], v(0, 3), v(0, 3)),
    types=DATA,
    reference=_select,
)


def _with_zeros(v: Any, *shape: int) -> Any:
    x = np.array(v(*shape))
    x.reshape(-1)[::2] = 0
    return x


add(
    "Where",
    lambda v: case(_with_zeros(v, 2, 3)),
    lambda v: case(_with_zeros(v)),
    lambda v: case(v()),
    lambda v: case(v(0, 3)),
    lambda v: case(_with_zeros(v, 5)),
    lambda v: case(_with_zeros(v, 2, 1, 3)),
    reference=lambda x: np.argwhere(x) if x.ndim else np.zeros((int(bool(x)), 0), np.int64),
)


def _unique(x: Any, out_idx: Any = dtypes.int32) -> Any:
    seen = list(dict.fromkeys(x.tolist()))
    where = [seen.index(item) for item in x.tolist()]
    return np.array(seen, x.dtype).reshape(-1), np.array(where, out_idx.as_numpy_dtype)


add(
    "Unique",
    lambda v: case(v(6)[np.array([3, 0, 3, 5, 1, 0])]),
    lambda v: case(v(0)),
    lambda v: case(v(3)[np.array([1, 1, 0])], out_idx=dtypes.int64),
    reference=_unique,
)
add(
    "OneHot",
    lambda v: case(i32(2, 0, -1, 5), np.array(3, np.int32), v(), v()),
    lambda v: case(np.array([[1, 0], [2, 2]], np.uint8), np.array(3, np.int32), v(), v(), axis=0),
    lambda v: case(np.array(1), np.array(2, np.int32), v(), v()),
    lambda v: case(np.zeros((2, 0), np.int8), np.array(2, np.int32), v(), v(), axis=1),
    types=DATA,
    reference=lambda indices, depth, on, off, axis=-1: np.moveaxis(
        np.where(one_hot_rows(indices, int(depth)), on, off), -1, axis
    ),
)
add(
    "InTopK",
    lambda v: case(v(4, 5), i32(0, 3, 4, 2), k=2),
    lambda v: case(v(0, 5), i64(), k=1),
    lambda v: case(np.float32([[1, 1, 0], [np.inf, 1, 0]]), i64(1, 7), k=1),
    reference=lambda x, targets, k: _in_top_k(x, targets, k),
)
add(
    "InTopKV2",
    lambda v: case(v(4, 5), i32(0, 3, 4, 2), np.array(3, np.int32)),
    lambda v: case(v(0, 5), i64(), np.array(1)),
    reference=lambda x, targets, k: _in_top_k(x, targets, int(k)),
)


def _in_top_k(x: Any, targets: Any, k: int) -> Any:
    return np.array(
        [
            0 <= target < len(row) and bool(np.isfinite(row).all()) and sum(row > row[target]) < k
            for row, target in zip(x, targets, strict=True)
        ],
        bool,
    )


def _top_k(x: Any, k: Any, sorted: bool = True) -> Any:
    order = np.argsort(-x.astype(np.float64), axis=-1, kind="stable")[..., : int(k)]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


add(
    "TopKV2",
    lambda v: case(v(2, 5), np.array(2, np.int32)),
    lambda v: case(v(4), np.array(1, np.int32)),
    lambda v: case(v(2, 1, 3), np.array(3, np.int32), sorted=False),
    lambda v: case(v(2, 3), np.array(0, np.int32)),
    lambda v: case(v(0, 3), np.array(2, np.int32)),
    reference=_top_k,
)

# -- reductions


def _reduced(function: Any, empty: Any = None) -> Any:
    def reference(x: Any, axes: Any, keep_dims: bool = False) -> Any:
        where = tuple(np.ravel(axes).tolist())
        if empty is not None and x.size == 0:
            sizes = np.zeros(x.shape).sum(where, keepdims=keep_dims).shape
            return np.full(sizes, empty(x.dtype), x.dtype)
        return np.asarray(function(x, axis=where, keepdims=keep_dims)).astype(x.dtype)

    return reference


def _integer_mean(x: Any, axis: Any, keepdims: bool) -> Any:
    if x.dtype.kind in "iu":
        total = np.sum(x, axis=axis, keepdims=keepdims, dtype=np.int64)
        return np.trunc(total / (x.size // max(total.size, 1)))
    with np.errstate(all="ignore"):
        return np.sum(x, axis, keepdims=keepdims) / math.prod(x.shape[item] for item in axis)


_REDUCTIONS: list[Any] = [
    lambda v: case(v(2, 3, 2), i32(0, 2)),
    lambda v: case(v(2, 3), np.array(-1)),
    lambda v: case(v(2, 3), i32(1), keep_dims=True),
    lambda v: case(v(2, 1, 3), i32(2, 0, 1)),
    lambda v: case(v(2, 3), i32()),
    lambda v: case(v(), i64()),
    lambda v: case(v(2, 0), np.array(0, np.int32)),
    lambda v: case(v(2, 0), np.array(1, np.int32), keep_dims=True, smooth=False),
]


def _lowest(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


add("Sum", *_REDUCTIONS, reference=_reduced(np.sum))
add("Prod", *_REDUCTIONS, reference=_reduced(np.prod), tolerance=4)
add("Mean", *_REDUCTIONS, reference=_reduced(_integer_mean))
add("Max", *_REDUCTIONS, reference=_reduced(np.max, _lowest))
add("Min", *_REDUCTIONS, reference=_reduced(np.min, _highest))
add(
    "EuclideanNorm",
    *_REDUCTIONS[:-1],
    reference=_reduced(
        lambda x, **how: np.sqrt((x.astype(np.float64) ** 2).sum(**how)).astype(x.dtype)
    ),
)
add("All", *_REDUCTIONS, reference=_reduced(np.all))
add("Any", *_REDUCTIONS, reference=_reduced(np.any))
add(
    "L2Loss",
    lambda v: case(v(2, 3)),
    lambda v: case(v()),
    lambda v: case(v(0, 3)),
    reference=lambda x: (x * x).sum() / 2,
)
for _name, _function in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
    add(
        _name,
        lambda v: case(v(4, 3), np.array(0, np.int32)),
        lambda v: case(v(2, 5, 1), np.array(-2)),
        lambda v: case(v(5), i64(0)[0]),
        lambda v: case(v(2, 3), np.array(1, np.int32), output_type=dtypes.int32),
        lambda v: case(v(0, 3), np.array(1, np.int32)),
        reference=lambda x, axis, output_type=dtypes.int64, find=_function: find(
            x, int(axis)
        ).astype(output_type.as_numpy_dtype),
    )


def _running(function: Any, neutral: int) -> Any:
    def reference(x: Any, axis: Any, exclusive: bool = False, reverse: bool = False) -> Any:
        moved = np.moveaxis(x, int(axis), 0)
        moved = moved[::-1] if reverse else moved
        if exclusive:
            moved = np.concatenate([np.full_like(moved[:1], neutral), moved[:-1]])
        result = function(moved, axis=0, dtype=x.dtype)
        return np.moveaxis(result[::-1] if reverse else result, 0, int(axis))

    return reference


for _name, _function, _neutral in (("Cumsum", np.cumsum, 0), ("Cumprod", np.cumprod, 1)):
    add(
        _name,
        lambda v: case(v(2, 3), np.array(1, np.int32)),
        lambda v: case(v(4), np.array(0), exclusive=True),
        lambda v: case(v(2, 1, 3), np.array(-1, np.int32), reverse=True),
        lambda v: case(v(3, 2), np.array(-2), exclusive=True, reverse=True),
        lambda v: case(v(0, 3), np.array(1, np.int32)),
        reference=_running(_function, _neutral),
        tolerance=4,
    )
add(
    "AddN",
    lambda v: case([v(2, 3), v(2, 3), v(2, 3)]),
    lambda v: case([v(2)]),
    lambda v: case([v(), v()]),
    lambda v: case([v(0, 3), v(0, 3)]),
    reference=lambda xs: sum(xs[1:], xs[0]),
)
add(
    "UnsortedSegmentSum",
    lambda v: case(v(4, 2), i32(1, 0, -1, 1), np.array(3, np.int32)),
    lambda v: case(v(2, 3), np.array([[0, 1, 1], [3, 3, 0]]), np.array(4)),
    lambda v: case(v(), np.array(1, np.int32), np.array(2, np.int32)),
    lambda v: case(v(0, 3), i64(), np.array(2)),
    reference=lambda x, ids, count: np.stack(
        [x[ids == each].sum(0, dtype=x.dtype) for each in range(int(count))]
    ),
)

# -- matrices


def _turned(x: Any, turn: bool) -> Any:
    return x.swapaxes(-1, -2) if turn else x


add(
    "MatMul",
    lambda v: case(v(2, 3), v(3, 4)),
    lambda v: case(v(3, 2), v(3, 4), transpose_a=True),
    lambda v: case(v(2, 3), v(1, 3), transpose_b=True),
    lambda v: case(v(3, 2), v(4, 3), transpose_a=True, transpose_b=True),
    lambda v: case(v(0, 3), v(3, 2)),
    lambda v: case(v(2, 0), v(0, 2)),
    reference=lambda a, b, transpose_a=False, transpose_b=False: (
        _turned(a, transpose_a) @ _turned(b, transpose_b)
    ),
)


def _finished(product: Any, args: Any, num_args: int, fused_ops: list[str]) -> Any:
    assert num_args == len(args)
    for name, item in zip(fused_ops, args):
        product = product + (item if name == "BiasAdd" else item.reshape(product.shape))
    return np.maximum(product, 0) if "Relu" in fused_ops else product


add(
    "_FusedMatMul",
    lambda v: case(
        v(2, 3), v(3, 4), [v(4), v(2, 4)], num_args=2, fused_ops=["BiasAdd", "Add", "Relu"]
    ),
    lambda v: case(
        v(3, 2), v(4, 3), [v(1, 4)], transpose_a=True, transpose_b=True, num_args=1,
        fused_ops=["BiasAdd"],
    ),
    lambda v: case(v(4, 2), v(2, 3), [v(2, 2, 3)], num_args=1, fused_ops=["Add"]),
    lambda v: case(v(2, 2), v(2, 3), [], num_args=0, fused_ops=["Relu"]),
    lambda v: case(v(0, 3), v(3, 2), [v(2)], num_args=1, fused_ops=["BiasAdd"]),
    lambda v: case(v(2, 0), v(0, 3), [v(3)], num_args=1, fused_ops=["BiasAdd", "Relu"]),
    reference=lambda a, b, args, num_args, fused_ops, transpose_a=False, transpose_b=False: (
        _finished(_turned(a, transpose_a) @ _turned(b, transpose_b), args, num_args, fused_ops)
    ),
)  # fmt: skip
add(
    "_FusedBatchMatMulV2",
    lambda v: case(
        v(2, 2, 3), v(3, 4), [v(4), v(2, 2, 4)], num_args=2, fused_ops=["BiasAdd", "Add", "Relu"]
    ),
    lambda v: case(
        v(2, 3, 2), v(1, 4, 3), [v(4)], adj_x=True, adj_y=True, num_args=1, fused_ops=["BiasAdd"]
    ),
    lambda v: case(v(2, 3), v(2, 1, 3, 3), [v(4, 3)], num_args=1, fused_ops=["Add"]),
    lambda v: case(v(0, 2, 3), v(3, 2), [v(2)], num_args=1, fused_ops=["BiasAdd", "Relu"]),
    reference=lambda x, y, args, num_args, fused_ops, adj_x=False, adj_y=False: _finished(
        np.matmul(_turned(x, adj_x), _turned(y, adj_y)), args, num_args, fused_ops
    ),
)
add(
    "BatchMatMulV2",
    lambda v: case(v(2, 2, 3), v(2, 3, 2), adj_x=False),
    lambda v: case(v(2, 3, 2), v(1, 2, 3), adj_x=True, adj_y=True),
    lambda v: case(v(2, 3), v(2, 1, 3, 1)),
    lambda v: case(v(2, 3), v(2, 3), adj_y=True),
    lambda v: case(v(0, 2, 3), v(3, 2)),
    reference=lambda x, y, adj_x=False, adj_y=False: np.matmul(
        _turned(np.conj(x), True) if adj_x else x, _turned(np.conj(y), True) if adj_y else y
    ),
)
add(
    "BatchMatMulV2",
    lambda v: case(v(2, 3, 2), v(3, 3), adj_x=True, adj_y=True),
    types=[dtypes.complex64, dtypes.complex128],
    reference=TABLE["BatchMatMulV2"].reference if "BatchMatMulV2" in TABLE else None,
)

# -- layers

_CHANNELS = {"NHWC": -1, "NCHW": 1}


def _along(bias: Any, rank: int, data_format: str) -> Any:
    return bias if data_format == "NHWC" else bias.reshape((-1,) + (1,) * (rank - 2))


add(
    "BiasAdd",
    lambda v: case(v(2, 3), v(3)),
    lambda v: case(v(2, 3, 2), v(3), data_format="NCHW"),
    lambda v: case(v(2, 1, 3, 2), v(2), data_format="NHWC"),
    lambda v: case(v(0, 3), v(3)),
    reference=lambda x, bias, data_format="NHWC": x + _along(bias, x.ndim, data_format),
)
add(
    "BiasAddGrad",
    lambda v: case(v(2, 3)),
    lambda v: case(v(2, 3, 2), data_format="NCHW"),
    lambda v: case(v(2, 1, 3)),
    lambda v: case(v(0, 3)),
    reference=lambda dy, data_format="NHWC": (
        np.moveaxis(dy, _CHANNELS[data_format], 0)
        .reshape(dy.shape[_CHANNELS[data_format]], -1)
        .sum(1, dtype=dy.dtype)
    ),
)


def _log_softmax(x: Any) -> Any:
    if x.size == 0:
        return x
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


_ROWS: list[Any] = [
    lambda v: case(v(2, 3)),
    lambda v: case(v(4)),
    lambda v: case(v(2, 1, 3)),
    lambda v: case(v(0, 3)),
    lambda v: case(v(2, 0)),
]
add("Softmax", *_ROWS, reference=lambda x: np.exp(_log_softmax(x)))
add("LogSoftmax", *_ROWS, reference=_log_softmax)


def _cross_entropy(logits: Any, labels: Any) -> Any:
    logits, labels = np.broadcast_arrays(logits, labels)
    logs = _log_softmax(logits)
    return -(labels * logs).sum(-1), np.exp(logs) - labels


def _shares(v: Any, *shape: int) -> Any:
    """Rows that add up to 1: the op takes labels for that, and its gradient relies on it."""
    parts = np.abs(v(*shape))
    return (parts / parts.sum(-1, keepdims=True)).astype(parts.dtype)


add(
    "SoftmaxCrossEntropyWithLogits",
    lambda v: case(v(2, 3), _shares(v, 2, 3)),
    lambda v: case(v(2, 3), _shares(v, 1, 3)),
    lambda v: case(v(1, 3), _shares(v, 2, 3)),
    lambda v: case(v(0, 3), v(0, 3)),
    reference=_cross_entropy,
)
add(
    "SparseSoftmaxCrossEntropyWithLogits",
    lambda v: case(v(3, 4), i32(2, 0, 3)),
    lambda v: case(v(2, 1), i64(0, 0)),
    lambda v: case(v(0, 3), i64()),
    reference=lambda x, at: _cross_entropy(x, one_hot_rows(at, x.shape[1]).astype(x.dtype)),
)

# -- variables


def _momentum(var: Any, m: Any, lr: Any, grad: Any, rate: Any, use_nesterov: bool = False) -> Any:
    m = m * rate + grad
    return var - (grad * lr + m * rate * lr if use_nesterov else m * lr), m


def _adam(var: Any, m: Any, v: Any, p1: Any, p2: Any, lr: Any, b1: Any, b2: Any, *rest: Any) -> Any:
    epsilon, grad = rest
    m, v = m + (grad - m) * (1 - b1), v + (grad * grad - v) * (1 - b2)
    return var - lr * np.sqrt(1 - p2) / (1 - p1) * m / (np.sqrt(v) + epsilon), m, v


def _rms_prop(
    var: Any, ms: Any, mom: Any, lr: Any, rho: Any, rate: Any, epsilon: Any, grad: Any
) -> Any:
    ms = ms + (grad * grad - ms) * (1 - rho)
    mom = mom * rate + lr * grad / np.sqrt(ms + epsilon)
    return var - mom, ms, mom


for _shape in ((2, 3), (), (0, 2)):
    add(
        "ApplyGradientDescent",
        lambda v, s=_shape: case(v(*s), *_scalars(v, 0.5), v(*s)),
        reference=lambda var, rate, delta: var - rate * delta,
    )
    add(
        "ApplyMomentum",
        lambda v, s=_shape: case(v(*s), v(*s), *_scalars(v, 0.1), v(*s), *_scalars(v, 0.9)),
        lambda v, s=_shape: case(
            v(*s), v(*s), *_scalars(v, 0.1), v(*s), *_scalars(v, 0.9), use_nesterov=True
        ),
        reference=_momentum,
    )
    add(
        "ApplyAdam",
        lambda v, s=_shape: case(
            v(*s), v(*s), v(*s), *_scalars(v, 0.9, 0.99, 0.01, 0.9, 0.99, 1e-3), v(*s)
        ),
        reference=_adam,
        tolerance=8,
        **POSITIVE,
    )
    add(
        "ApplyAdagrad",
        lambda v, s=_shape: case(v(*s), v(*s), *_scalars(v, 0.1), v(*s)),
        reference=lambda var, accum, lr, grad: (
            var - grad * lr / np.sqrt(accum + grad * grad),
            accum + grad * grad,
        ),
        **POSITIVE,
    )
    add(
        "ApplyRMSProp",
        lambda v, s=_shape: case(v(*s), v(*s), v(*s), *_scalars(v, 0.1, 0.9, 0.5, 1e-3), v(*s)),
        reference=_rms_prop,
        **POSITIVE,
    )
    add("Assign", lambda v, s=_shape: case(v(*s), v(*s)), reference=lambda ref, value: value)
    add("AssignAdd", lambda v, s=_shape: case(v(*s), v(*s)), reference=np.add)
    add("AssignSub", lambda v, s=_shape: case(v(*s), v(*s)), reference=np.subtract)
    add("InitializedValue", lambda v, s=_shape: case(v(*s), v(*s)), reference=lambda ref, _: ref)
    add(
        "IsVariableInitialized",
        lambda v, s=_shape: case(v(*s)),
        reference=lambda ref: np.array(True),
    )


def _in_order(combine: Any) -> Any:
    """Return a function that applies a scatter update to a variable one row after the other."""

    def reference(ref: Any, index: Any, updates: Any, **_: Any) -> Any:
        result = ref.copy()
        spread = np.broadcast_to(updates, index.shape + ref.shape[1:])
        for place in np.ndindex(index.shape):
            result[index[place]] = combine(result[index[place]], spread[place])
        return result

    return reference


def _at_coordinates(combine: Any) -> Any:
    def reference(ref: Any, index: Any, updates: Any, **_: Any) -> Any:
        result = ref.copy()
        for place in np.ndindex(index.shape[:-1]):
            where = tuple(index[place])
            result[where] = combine(result[where], updates[place])
        return result

    return reference


_SCATTERS: dict[str, Any] = {
    "Update": lambda old, new: new,
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": lambda x, y: np.trunc(x / y) if np.asarray(x).dtype.kind in "iu" else x / y,
    "Min": np.minimum,
    "Max": np.maximum,
}
for _name, _combine in _SCATTERS.items():
    add(
        f"Scatter{_name}",
        lambda v: case(v(4, 2), i32(2, 0, 2), v(3, 2)),
        lambda v: case(v(4), np.array([[1, 3]]), v()),
        lambda v: case(v(3, 300), i64(1, 1), v(2, 300)),
        lambda v: case(v(3, 2), i32(), v(0, 2)),
        lambda v: case(v(2, 1, 2), np.array(1, np.int32), v(1, 2), use_locking=True),
        reference=_in_order(_combine),
    )
    if _name in ("Update", "Add", "Sub"):
        add(
            f"ScatterNd{_name}",
            lambda v: case(v(4, 2), np.array([[2], [0], [2]], np.int32), v(3, 2)),
            lambda v: case(v(2, 3), np.array([[1, 2], [0, 0]]), v(2)),
            lambda v: case(v(3), i64(1), v()),
            lambda v: case(v(3, 2), np.zeros((0, 1), np.int32), v(0, 2)),
            reference=_at_coordinates(_combine),
        )

# -- made of nothing

add("NoOp", lambda v: case(), types=[dtypes.float32], reference=lambda: ())
add(
    "Const",
    lambda v: case(value=v(2, 3), dtype=v.dtype),
    lambda v: case(value=v(), dtype=v.dtype),
    lambda v: case(value=v(0, 3), dtype=v.dtype),
    types=[dtypes.float64, dtypes.float32, dtypes.bfloat16, dtypes.int32, dtypes.bool]
    + [dtypes.string],
    reference=lambda value, dtype: value,
)
add(
    "Range",
    lambda v: case(*_scalars(v, 1, 7, 2)),
    lambda v: case(*_scalars(v, 5, -1, -1)),
    lambda v: case(*_scalars(v, 3, 3, 1)),
    lambda v: (
        case(*_scalars(v, 0, 1, 0.25)) if v.dtype.is_floating else case(*_scalars(v, 0, 4, 1))
    ),
    types=[dtypes.float64, dtypes.float32, dtypes.bfloat16, dtypes.int32, dtypes.int64],
    reference=lambda start, limit, delta: np.arange(start, limit, delta),
)
add(
    "LinSpace",
    lambda v: case(*_scalars(v, -1, 2), np.array(7, np.int32)),
    lambda v: case(*_scalars(v, 3, 4), np.array(1)),
    lambda v: case(*_scalars(v, 3, 1), np.array(2)),
    reference=lambda start, stop, count: np.linspace(start, stop, int(count)),
)


def _cast(x: Any, DstT: Any, Truncate: bool = False) -> Any:
    wanted = np.dtype(as_dtype(DstT).as_numpy_dtype)
    return (x.real if x.dtype.kind == "c" and wanted.kind not in "cb" else x).astype(wanted)


for _target in (*dtypes.FLOATING, dtypes.int32, dtypes.uint8, dtypes.complex64, dtypes.bool):
    add(
        "Cast",
        lambda v, to=_target: case(v(2, 3), DstT=to),
        lambda v, to=_target: case(v(), DstT=to),
        lambda v, to=_target: case(v(0, 3), DstT=to),
        reference=_cast,
        types=[dtype for dtype in DATA if dtype is not dtypes.string],
        **POSITIVE,
    )

samples_of_older_types.add_renamed()
