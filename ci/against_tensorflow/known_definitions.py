"""Known differences between op definitions here and in TensorFlow, with the reason for each."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["absent_groups", "reason"]


class Known(NamedTuple):
    """Differences and their reason; regular expressions of op types, keys and differences."""

    ops: str
    keys: str
    why: str
    what: str = ""


_HANDLES = "(Sparse)?(Accumulator|ConditionalAccumulator)\\w*|Barrier\\w*|Stack(Push|Pop|Close)?"
_HANDLES += "|(Mutable)?HashTable(OfTensors)?|InitializeTable(FromTextFile)?|LookupTable[A-Z][a-z]+"
_HANDLES += "|Queue\\w+|\\w+Queue|Reader\\w+|\\w+Reader|TensorArray\\w*"
_SINGLE = "(Resource)?(Sparse)?Apply\\w+"
_DATASETS = "\\w*Dataset\\w*|\\w*Iterator\\w*"
_LIST = [
    Known(
        "_.*|InitializedValue|AccumulatorClose",
        ".*",
        "it is gpugraph's own: it stands in plans, or messages have other op types for it",
    ),
    Known(
        _HANDLES,
        "in|out|is_stateful",
        "its handle is a resource, and a reference to a string in 1.15: nodes don't say which",
    ),
    # attrs of TensorFlow 2
    Known(
        "I?RFFT.*|ConcatOffset|CollectiveReduce|DepthwiseConv2dNative.*",
        "order|in|out|attr (Treal|Tcomplex|shape_type|timeout_seconds|explicit_paddings)",
        "an attr of TensorFlow 2, which messages leave out where it has its default",
    ),
    Known(
        "DepthwiseConv2dNative.*",
        "attr padding",
        "TensorFlow 2 has explicit paddings, and graphs from there have them",
    ),
    Known(
        "TensorScatterM(ax|in)",
        "order|attr bad_indices_policy",
        "a later attr than the op type, which an import drops where it asks for nothing",
    ),
    Known(
        "TensorListSetItem",
        "order|attr resize_if_index_out_of_bounds",
        "a later attr than the op type, which graphs of TensorFlow 2 set",
    ),
    # datasets
    Known(
        _DATASETS,
        "is_stateful",
        "its stages are made by the run that needs them: it is not merged or computed beforehand",
    ),
    Known(_DATASETS + "|EagerPyFunc", "order", "its attrs are given by name"),
    Known(
        _DATASETS,
        "attr (stop_on_empty_dataset|use_default_device|ram_budget|serialized_options|"
        "buffer_size_min|external_state_policy|reshuffle_each_iteration)",
        "an attr of TensorFlow 2, which messages leave out where it has its default",
    ),
    Known(
        _DATASETS + "|EagerPyFunc",
        "attr (metadata|use_unbounded_threadpool|is_async)",
        "a later attr, which an import drops where it asks for nothing",
    ),
    Known("Iterator(V2)?", "attr (shared_name|container)", "an empty name is the default here"),
    # the same in other words
    Known("ImageSummary", "attr bad_color", "the same tensor, its values as bytes"),
    Known(
        "MaxPool(V2)?",
        "attr data_format",
        "only GPUs of TensorFlow compute in NCHW_VECT_C, and in qint8",
    ),
    # dtypes
    Known(".*", "more .*", "gpugraph computes in more dtypes than TensorFlow lets a graph have"),
    Known(
        _SINGLE,
        "lacks T",
        "the optimizers of 1.15 refuse complex variables",
        "^DT_COMPLEX128 DT_COMPLEX64$",
    ),
    Known(
        "SquaredDifference|EuclideanNorm",
        "lacks T",
        "the functions make it of other ops for complex numbers",
    ),
    Known(
        "FusedBatchNormGradV[23]",
        "in",
        "its scale may be float64 too, so that gradients can be checked",
    ),
    Known(
        "MatrixExponential", "deprecated", "tf.linalg.expm is this op here, and many ops in 1.15"
    ),
    Known("ClipByValue", "lacks T", "complex numbers have no order"),
    Known(
        "(Sparse)?Accumulator(Apply|Take)Gradient",
        "lacks dtype",
        "there are no accumulators of these dtypes in TensorFlow either",
    ),
    Known("Acos", "lacks T", "an arc of an integer is no integer"),
    Known("MatrixInverse|Qr", "lacks T", "1.15 computes it for float16 on no CPU", "DT_HALF"),
    Known(
        "Inplace(Add|Sub)|TileGrad|(Resource)?ScatterNd(Add|Sub|NonAliasingAdd)?",
        "lacks T",
        "sums and differences are of numbers",
    ),
    Known(
        "(Not)?Equal", "lacks T", "quantized numbers are only moved: compare what they stand for"
    ),
    Known(
        "(Des|S)erialize\\w+|ParseTensor|TensorSummary(V2)?|AddN|Conj",
        "lacks \\w+",
        "variants and resources are only moved, and are not stored",
        "DT_VARIANT",
    ),
]


def reason(op_type: str, key: str, what: str) -> str | None:
    """Return the reason for a difference in a fact of an op type; None for an unknown one."""
    for known in _LIST:
        if (
            re.fullmatch(known.ops, op_type)
            and re.fullmatch(known.keys, key)
            and re.search(known.what, what)
        ):
            return known.why
    return None


def absent_groups(op_types: Iterable[str]) -> dict[str, list[str]]:
    """Group op types that are missing here by the reason in the error for them."""
    module = importlib.import_module("gpugraph.ops.framework.left_out_op_types")
    groups: dict[str, list[str]] = {}
    for op_type in sorted(op_types):
        groups.setdefault(module.left_out_reason(op_type) or "no reason", []).append(op_type)
    return groups
