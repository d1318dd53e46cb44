"""The default dtypes of type attrs, as in TensorFlow's op definitions.

If a node in a file lacks a type attr, the attr has the default dtype. Ops that a program builds do
not use these defaults: their dtypes come from the values that the program passes.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.graph.op_def import AttrDef

_TABLE = """
R float64: RandomPoissonV2
T bool: Where
T complex64: Angle ComplexAbs Conj Imag Real
T float32: AdjustContrastv2 AdjustHue AdjustSaturation CTCBeamSearchDecoder CTCGreedyDecoder
T float32: CTCLoss Complex DrawBoundingBoxes DrawBoundingBoxesV2 HSVToRGB HistogramSummary
T float32: LRN LRNGrad LeakyRelu
T float32: LeakyReluGrad MaxPool MaxPool3DGrad MaxPoolGrad MaxPoolGradV2 MaxPoolV2 NextAfter
T float32: NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5
T float32: RGBToHSV
T int32: BroadcastArgs BroadcastGradientArgs DataFormatDimMap DataFormatVecPermute InTopK
T int32: InTopKV2 InvertPermutation StatelessRandomNormal StatelessRandomUniform
T int32: StatelessTruncatedNormal
T uint8: EncodePng
TI int64: OneHot
T_threshold float32: NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4
TInput float32: MaxPool3DGrad
Taxis int64: UniqueV2 UniqueWithCountsV2
Tblock_shape int32: BatchToSpaceND SpaceToBatchND
Tcomplex complex64: BatchFFT BatchFFT2D BatchFFT3D BatchIFFT BatchIFFT2D BatchIFFT3D
Tcomplex complex64: FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D
Tcrops int32: BatchToSpaceND
Tdim int32: ExpandDims
Tidx int32: All Any ArgMax ArgMin BatchToSpace BroadcastTo ConcatV2 Cumprod Cumsum
Tidx int32: CumulativeLogsumexp EuclideanNorm LinSpace Max Mean Min Prod Range ReverseV2 Sum
Tidx int32: UnravelIndex
Tindex int64: BatchMatrixBandPart MatrixBandPart
Tindices int64: SparseTensorDenseMatMul
Tlabels int64: SparseSoftmaxCrossEntropyWithLogits
Tlen int64: ReverseSequence SplitV
Tmultiples int32: Tile
Tnumsegments int32: UnsortedSegmentJoin
Tpaddings int32: MirrorPad MirrorPadGrad Pad PadV2 SpaceToBatch SpaceToBatchND
Tperm int32: ConjugateTranspose Transpose
Treal float32: RFFT RFFT2D RFFT3D
Tseed int64: StatelessMultinomial StatelessRandomNormal StatelessRandomUniform
Tseed int64: StatelessRandomUniformInt StatelessTruncatedNormal
Tshape int32: Conv3DBackpropInputV2 Reshape
dtype float32: StatelessRandomNormal StatelessRandomUniform StatelessTruncatedNormal
index_type int32: Fill
output_dtype int64: StatelessMultinomial
shape_type int32: ConcatOffset
"""

_DEFAULT_TYPES: dict[tuple[str, str], DType] = {}
"""The default dtype by (op type, attr)."""

for _line in _TABLE.strip().splitlines():
    _head, _op_types = _line.split(": ")
    _attr, _dtype = _head.split()
    _DEFAULT_TYPES |= {(op_type, _attr): as_dtype(_dtype) for op_type in _op_types.split()}


def default_of(op_type: str, attr: AttrDef) -> Any:
    """Return the default value of an attr. If the attr has no default, return None."""
    if attr.has_default and attr.default is not None:
        return attr.default
    return _DEFAULT_TYPES.get((op_type, attr.name))
