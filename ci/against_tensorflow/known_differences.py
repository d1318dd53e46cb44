"""What `every_op.py` finds different between gpugraph and TensorFlow 2.21, and why that is so."""

from __future__ import annotations

__all__ = ["APART", "KNOWN"]

_OWN = "it is gpugraph's own"
_STREAM = "compared by random_numbers.py, which knows how streams go on from run to run"

APART = {
    "InitializedValue": _OWN,
    "Const": "its value is given in another form",
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

_CONJUGATE = "of complex numbers TensorFlow leaves out a conjugate; ours is the slope"
_FLOAT_ATTR = "TensorFlow keeps float attrs in 32 bits: float64 has another alpha by 1e-8"
_DILATED = (
    "TensorFlow's CPU kernels look at no dilations going back, and write nothing of an empty batch"
)
_ZERO_BY_ZERO = "TensorFlow divides 0 by 0 where a segment has no data"
_NONE_THERE = "TensorFlow declares no gradient"
_SHARES = "TensorFlow leaves out what the second output gives to the labels"
_LESS_PRECISE = "TensorFlow stops its series and fractions earlier: ours is within 12 units"
_MADE_UP = "TensorFlow looks for orig_output in orig_input, and the samples make it up"

KNOWN: dict[tuple[str, str], str] = {
    **{
        (op_type, what): _CONJUGATE
        for op_type in ("Cumprod", "MulNoNan", "Prod", "SegmentProd", "UnsortedSegmentProd")
        + ("Xdivy", "Xlog1py", "Xlogy")
        for what in ("first", "second")
    },
    **{(op_type, ""): _FLOAT_ATTR for op_type in ("LeakyRelu", "LeakyReluGrad")},
    **{
        (f"DepthwiseConv2dNative{which}", ""): _DILATED
        for which in ("", "BackpropFilter", "BackpropInput")
    },
    **{(f"Segment{which}", "second"): _ZERO_BY_ZERO for which in ("Max", "Mean", "Min")},
    ("Igamma", "second"): _NONE_THERE,
    ("IgammaGradA", "values"): _LESS_PRECISE,
    ("Igammac", "second"): _NONE_THERE,
    ("RandomGammaGrad", "values"): _LESS_PRECISE,
    ("GuaranteeConst", "first"): _NONE_THERE,
    ("GuaranteeConst", "second"): _NONE_THERE,
    ("ParallelConcat", "first"): _NONE_THERE,
    ("ParallelConcat", "second"): _NONE_THERE,
    ("Lu", "first"): _NONE_THERE,
    ("Lu", "second"): _NONE_THERE,
    ("MatrixLogarithm", "first"): _NONE_THERE,
    ("MatrixLogarithm", "second"): _NONE_THERE,
    ("MatrixLogarithm", "values"): "TensorFlow takes roots of triangles, whose digits end apart",
    ("MatrixSquareRoot", "first"): _CONJUGATE,
    ("MatrixSquareRoot", "second"): _CONJUGATE,
    ("TridiagonalSolve", "first"): _CONJUGATE,
    ("TridiagonalSolve", "second"): _CONJUGATE,
    ("IRFFT3D", ""): _NONE_THERE,
    ("RFFT3D", ""): _NONE_THERE,
    ("SoftsignGrad", ""): _NONE_THERE,
    ("Softsign", "second"): _NONE_THERE,
    ("TruncateMod", ""): _NONE_THERE,
    ("IsVariableInitialized", "values"): "to TensorFlow an empty variable is never initialized",
    ("Round", "values"): "of integers TensorFlow 2.21 writes nothing; tf.round gives them back",
    ("CTCLoss", "values"): "TensorFlow computes in single precision, whatever the dtype",
    ("MaxPoolGradWithArgmax", ""): _NONE_THERE,
    ("MaxPoolWithArgmax", "second"): _NONE_THERE,
    ("MaxPoolGrad", "first"): _MADE_UP,
    ("MaxPoolGradGrad", ""): _MADE_UP,
    ("SoftmaxCrossEntropyWithLogits", "first"): _SHARES,
    ("SoftmaxCrossEntropyWithLogits", "second"): _SHARES,
}
"""(op type, "values", "first", "second", "inferred", "only" or "" for all) and the reason."""
