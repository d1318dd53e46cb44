"""Differences that `every_op.py` finds between gpugraph and TensorFlow 2.21, and their reasons."""

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

_BATCHED = [f"{batch}{op}" for batch in ("", "Batch") for op in (
    "Cholesky", "CholeskyGrad", "MatrixDeterminant", "MatrixInverse", "MatrixSolve",
    "MatrixSolveLs", "MatrixTriangularSolve", "SelfAdjointEigV2", "Svd",
)]  # fmt: skip


def _special_numbers() -> list[Known]:
    """Return the reasons where inputs are NaN, infinite or zeros of both signs (`--special`)."""
    factors = [*_BATCHED, "LogMatrixDeterminant", "Lu", "MatrixSquareRoot", "Qr"]
    windows = ["Conv3DBackpropFilterV2", "Conv3DBackpropInputV2", "FusedResizeAndPadConv2D"]
    windows += [f"DepthwiseConv2dNative{end}" for end in ("", "BackpropFilter", "BackpropInput")]
    windows += ["Dilation2DBackpropFilter", "Dilation2DBackpropInput", "LRN"]
    by_ends = ["Bicubic", "BicubicGrad", "Bilinear", "BilinearGrad"]
    sparse_sums = [f"SparseApply{rule}" for rule in ("CenteredRMSProp", "RMSProp")]
    reasons = [
        (factors, "", "NaN and infinities spread as the steps of each library's factorization do; "
         "TensorFlow 2.21 refuses fewer matrices than 1.15"),
        (windows, "values", "TensorFlow multiplies elements outside of the images, 0, with NaN and "
         "infinities, in those of its kernels that copy windows or multiply with bands"),
        ([f"Resize{end}" for end in by_ends], "values", "TensorFlow multiplies pixels of weight 0, "
         "and interpolates by differences, so that more becomes NaN next to an infinity"),
        (["NthElement", "TopKV2"], "values", "TensorFlow sorts by comparisons that are no order "
         "where NaN is among the numbers, by several algorithms"),
        (["CTCGreedyDecoder", "SegmentMax", "SegmentMin", "SparseReduceMax", "RGBToHSV",
          "SparseReduceMaxSparse", "MaxPool3D", "QuantizeAndDequantizeV2"], "values",
         "TensorFlow's reduction takes NaN or passes over it by its place among vectors of "
         "elements: of 1 and of 8 columns it gives different results"),
        (["UnsortedSegmentMax", "UnsortedSegmentMin"], "values", "TensorFlow's CPU kernel forgets "
         "NaN when another number follows it, its GPU kernel combines in any order"),
        (["MaxPool3DGradGrad", "MaxPoolGradGrad", "MaxPoolGradGradV2"], "values", "TensorFlow "
         "looks for the result, which a window of NaN does not hold; ours is the slope of "
         "MaxPoolGrad, which gives the gradient to a first NaN"),
        (["MaxPool3DGrad"], "values", "TensorFlow's CPU kernel gives the gradient to all elements "
         "within 1e-5 of the largest, its GPU kernel to the first that equals it"),
        (["Dilation2D", "MaxPool", "MaxPoolV2"], "values 0: -inf instead of -3.38953", "the lowest "
         "float32, at which the search starts, is rounded to bfloat16"),
        (["AdjustHue", "AdjustSaturation"], "", "TensorFlow's chains of comparisons make grey or "
         "black of a pixel with NaN or -inf, by the channel that has it; with an infinite delta "
         "AdjustHue never ends"),
        (["AudioSummaryV2"], "only gpugraph refuses", "TensorFlow converts an infinite rate to an "
         "integer, which C leaves undefined"),
        (["CTCLoss"], "values 1", "where a loss is NaN, TensorFlow gives NaN to all classes, "
         "here only those on paths have it"),
        (["ExtractGlimpse"], "values", "noise differs from run to run, and offsets "
         "that are not finite have no integers in C"),
        (["FakeQuantWithMinMaxVarsPerChannelGradient"], "values", "of a range from inf to -inf "
         "vectors' masks differ from those of matrices in TensorFlow"),
        (["Erf"], "values", "of infinite float64 TensorFlow 2.21 gives NaN, and 1.15 gives 1"),
        (["Polygamma", "Zeta"], "values", "at poles TensorFlow 1.15 gives infinities as here"),
        (["SparseApplyFtrl", "SparseApplyFtrlV2"], "values", "of NaN TensorFlow 1.15 gives 0"),
        (["ListDiff", "Unique", "UniqueWithCounts"], "", "TensorFlow hashes the bits of float16 "
         "and bfloat16, so that their zeros differ, which those of other types do not"),
        (["Xdivy", "Xlog1py", "Xlogy"], "values 0: 0.0", "TensorFlow 1.15 gives 0 at -0"),
        (["RsqrtGrad"], "values 0: -0.0", "TensorFlow's scalar and vector code differ"),
        (["HistogramSummary"], "values", "of zeros of both signs either is the largest"),
        (sparse_sums, "values", "the means of infinite gradients: infinity minus infinity"),
    ]  # fmt: skip
    known = [Known(ops, what, why, "special") for ops, what, why in reasons]
    of_zero = (
        "which of two zeros a comparison chooses, and whether a sum starts with 0 or with its "
    )
    of_zero += "first term, differs between vector and scalar code of TensorFlow and of NumPy"
    for index in range(3):
        for sign, other in (("-", ""), ("", "-")):
            what = f"values {index}: {sign}0.0 instead of {other}0.0"
            known.append(Known(_ZEROS, what, of_zero, "special"))
    return known


_ZEROS = (
    "AccumulateNV2", "AdjustHue", "AdjustSaturation", "BatchMatMulV2", "CropAndResize",
    "Betainc", "Dilation2D", "Einsum", "FloorMod", "FusedBatchNormGrad", "FusedBatchNormGradV2",
    "LRNGrad", "LinSpace", "MatMul", "MaxPool", "MaxPool3D", "MaxPool3DGradGrad",
    "MaxPoolV2", "Maximum", "Min", "Minimum", "Relu", "Relu6", "ResizeArea", "ScatterMax",
    "ScatterMin", "SegmentMean", "SparseAdd", "SparseReduceSum", "SparseReduceSumSparse",
    "SparseSparseMaximum", "SparseSparseMinimum", "TensorScatterMax", "TensorScatterMin",
    *_SEGMENTS,
)  # fmt: skip

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
    *_special_numbers(),
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
