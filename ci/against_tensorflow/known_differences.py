"""What `every_op.py` finds different between gpugraph and TensorFlow 2.21, and why that is so."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

__all__ = ["APART", "SINGLE", "reason"]

_OWN = "it is gpugraph's own"
_STREAM = "compared by random_numbers.py, which knows how streams go on from run to run"

APART = {
    "InitializedValue": _OWN,
    "Const": "its value is given in another form",
    "Empty": "TensorFlow leaves its elements uninitialized",
    "NoOp": "it gives nothing",
    "RandomUniform": _STREAM,
    "RandomUniformInt": _STREAM,
    "RandomStandardNormal": _STREAM,
    "TruncatedNormal": _STREAM,
    "Multinomial": _STREAM,
    "RandomGamma": _STREAM,
    "RandomPoissonV2": _STREAM,
    "RandomShuffle": _STREAM,
}
"""Op types that are not compared."""

SINGLE = {
    **dict.fromkeys(("LeakyRelu", "LeakyReluGrad"), "TensorFlow keeps float attrs in 32 bits"),
    **dict.fromkeys(
        ("CropAndResize", "CropAndResizeGradImage", "ResizeBicubic", "ResizeBicubicGrad")
        + ("ResizeBilinear", "ResizeBilinearGrad"),
        "TensorFlow weighs pixels in 32 bits",
    ),
    **dict.fromkeys(
        ("CTCBeamSearchDecoder", "CTCLoss"),
        "TensorFlow computes in single precision, whatever the dtype",
    ),
}
"""Ops of which float64 is as exact as float32 to TensorFlow, and is compared as such."""


class Known(NamedTuple):
    """Differences of some ops and the reason for them.

    what: how the difference begins: "values", "first", "second", "inferred", "only", or more.
    where: a regular expression that is found in the labels of the cases that it holds for.
    """

    ops: Collection[str]
    what: str
    why: str
    where: str = ""


_BOTH = ("first", "second")


def _gradients(ops: Collection[str], why: str, where: str = "") -> list[Known]:
    return [Known(ops, what, why, where) for what in _BOTH]


_EMPTY = r"\[(\d+,)*0[],]"
_NORMS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_SEGMENTS = [
    f"SparseSegment{which}{form}"
    for which in ("Mean", "SqrtN", "Sum")
    for form in ("", "Grad", "WithNumSegments")
]

_LIST = [
    Known(
        ["_FusedMatMul"],
        "values",
        "TensorFlow leaves the output uninitialized where the inner dimension is 0",
        r"\[\d+,0\] ",
    ),
    Known(
        ("BlockLSTM", "BlockLSTMV2"),
        "values",
        "TensorFlow leaves the gates after seq_len_max steps uninitialized",
        r"^int64\[\]=2 float\d\d\[3,",
    ),
    *(
        Known(
            ("BlockLSTM", "BlockLSTMGrad", "BlockLSTMV2"),
            what,
            "of an empty batch TensorFlow writes no gradients of weights",
            _EMPTY,
        )
        for what in ("values", "first")
    ),
    Known(
        ("BlockLSTMV2",),
        "first",
        "TensorFlow, 1.15 too, computes it by BlockLSTMGrad, to which the columns of weights are "
        "those of i, ci, f and o; here they are i, f, ci and o: ours is the slope",
    ),
    Known(
        ("FusedPadConv2D", "FusedResizeAndPadConv2D"),
        "values",
        "TensorFlow keeps the rows of the first image that it has resized and mirrored, and "
        "convolves them again in the place of the others'",
        r"^\w+\[2,",
    ),
    # TensorFlow has less
    *_gradients(
        ("Cumprod", "MulNoNan", "Prod", "SegmentProd", "UnsortedSegmentProd")
        + ("MatrixDeterminant", "MatrixSquareRoot", "TridiagonalSolve")
        + ("Xdivy", "Xlog1py", "Xlogy"),
        "of complex numbers TensorFlow leaves out a conjugate; ours is the slope",
        "complex",
    ),
    Known(
        ("SoftmaxCrossEntropyWithLogits",),
        "second",
        "TensorFlow leaves out what the second output gives to the labels",
    ),
    *(
        Known(
            ("ResizeBicubic", "ResizeBilinear", "ResizeBilinearGrad", "SparseAdd", "SparseAddGrad"),
            what,
            "TensorFlow says that it, or its gradient, can't be differentiated (of bicubic: not of "
            "float16), though it is linear",
        )
        for what in ("first: only gpugraph", "second: only gpugraph", "second: TensorFlow has none")
    ),
    Known(_NORMS, "second: only gpugraph", "TensorFlow takes a given mean as constant", "False"),
    # TensorFlow has something else
    Known(
        ("IgammaGradA", "RandomGammaGrad"),
        "values",
        "TensorFlow stops its series and fractions earlier: ours is within 12 units",
    ),
    Known(
        ("MatrixLogarithm",),
        "values",
        "TensorFlow takes roots of triangles, whose digits end apart",
    ),
    *_gradients(
        ("MatrixDiagV2", "MatrixDiagPartV2"),
        "in their gradients TensorFlow 2.21 lays diagonals out as version 3 of the ops does: they "
        "are not the adjoints of the ops",
        r"int32\[2\]",
    ),
    *(
        Known(
            [f"DepthwiseConv2dNative{which}" for which in ("", "BackpropFilter", "BackpropInput")],
            what,
            "TensorFlow's CPU kernels look at no dilations going back, and write nothing of an "
            "empty batch",
            rf"dilations|{_EMPTY}",
        )
        for what in ("values", *_BOTH)
    ),
    *(
        Known(_SEGMENTS, what, "of no indices TensorFlow writes no gradient", r"int32\[0\]")
        for what in ("values", *_BOTH)
    ),
    Known(
        ("SegmentMax", "SegmentMean", "SegmentMin"),
        "second ",
        "TensorFlow divides 0 by 0 where a segment has no data",
    ),
    Known(
        ("UnsortedSegmentProd",),
        "second ",
        "TensorFlow gives NaN where data is 0, as some is in these samples",
        r"^float\d\d\[5\]",
    ),
    Known(
        _NORMS,
        "values",
        "of no images TensorFlow 2.21 gives no mean back, where it is given one, too",
        r"\[0,.* is_training='False'",
    ),
    Known(
        ("IsVariableInitialized",),
        "values",
        "to TensorFlow an empty variable is never initialized",
        _EMPTY,
    ),
    Known(
        ("Round",),
        "values",
        "of integers TensorFlow 2.21 writes nothing; tf.round gives them back",
        "^u?int",
    ),
    # TensorFlow 1.15 was as gpugraph is
    Known(("RGBToHSV",), "first: only TensorFlow", "TensorFlow 1.15 has no gradient of it"),
    Known(("RGBToHSV",), "second: gpugraph has none", "TensorFlow 1.15 has no gradient of it"),
]


def reason(op_type: str, label: str, difference: str) -> str | None:
    """Why a case of an op differs so; None where nobody has said why."""
    for ops, what, why, where in _LIST:
        if op_type in ops and difference.startswith(what) and re.search(where, label):
            return why
    return None
