"""The op types that TensorFlow deprecated, each with its replacement and the graph version in which
it was deprecated.

A graph with a lower producer version may contain these ops and run them. In a graph with this
version or a higher one, they raise UnimplementedError (`OpDef.check_available`).
"""

from __future__ import annotations

_TABLE = """
AdjustContrast 2 AdjustContrastv2 instead
AudioSummary 15 AudioSummaryV2.
BatchCholesky 13 Cholesky instead.
BatchCholeskyGrad 13 CholeskyGrad instead.
BatchFFT 15 FFT
BatchFFT2D 15 FFT2D
BatchFFT3D 15 FFT3D
BatchIFFT 15 IFFT
BatchIFFT2D 15 IFFT2D
BatchIFFT3D 15 IFFT3D
BatchMatrixBandPart 14 MatrixBandPart
BatchMatrixDeterminant 13 MatrixDeterminant instead.
BatchMatrixDiag 14 MatrixDiag
BatchMatrixDiagPart 14 MatrixDiagPart
BatchMatrixInverse 13 MatrixInverse instead.
BatchMatrixSetDiag 14 MatrixSetDiag
BatchMatrixSolve 13 MatrixSolve instead.
BatchMatrixSolveLs 13 MatrixSolveLs instead.
BatchMatrixTriangularSolve 13 MatrixTriangularSolve instead.
BatchNormWithGlobalNormalization 9 tf.nn.batch_normalization()
BatchNormWithGlobalNormalizationGrad 9 tf.nn.batch_normalization()
BatchSelfAdjointEig 11 SelfAdjointEigV2 instead.
BatchSelfAdjointEigV2 13 SelfAdjointEigV2 instead.
BatchSvd 13 Svd instead.
Conv3DBackpropFilter 10 Conv3DBackpropFilterV2
Conv3DBackpropInput 10 Conv3DBackpropInputV2
FixedLengthRecordReader 26 FixedLengthRecordReaderV2
IdentityReader 26 IdentityReaderV2
SelfAdjointEig 11 SelfAdjointEigV2 instead.
TFRecordReader 26 TFRecordReaderV2
TextLineReader 26 TextLineReaderV2
TopK 7 TopKV2 instead
"""

_OTHER_WORDS = {
    "PlaceholderV2": (23, "Placeholder now behaves the same as PlaceholderV2."),
    "QuantizeAndDequantize": (22, "Replaced by QuantizeAndDequantizeV2"),
    "RandomCrop": (8, "Random crop is now pure Python"),
    "RandomPoisson": (25, "Replaced by RandomPoissonV2"),
    "TensorArray": (16, "Use TensorArrayV3"),
    "TensorArrayPack": (16, "Use TensorArrayGatherV3 with RangeOp"),
    "TensorArrayUnpack": (20, "Use TensorArrayScatterV3 with RangeOp"),
    "TensorArrayV2": (26, "Use TensorArrayV3"),
    "TileGrad": (3, "TileGrad has been replaced with reduce_sum"),
}

_ARRAY_TYPES = "Close Concat Gather Grad Read Scatter Size Split Write"


def _read_table() -> dict[str, tuple[int, str]]:
    table = {}
    for part in _ARRAY_TYPES.split():
        named = "Grad" if part in ("Concat", "Scatter") else part
        table[f"TensorArray{part}"] = (19 if part == "Scatter" else 16, f"Use TensorArray{named}V3")
        if part != "Concat":  # Concat was never deprecated
            table[f"TensorArray{part}V2"] = 26, f"Use TensorArray{part}V3"
    for line in _TABLE.strip().splitlines():
        op_type, version, words = line.split(" ", 2)
        table[op_type] = int(version), f"Use {words}"
    return table | _OTHER_WORDS


DEPRECATIONS = _read_table()
"""By op type: (the first graph version that must not contain it, TensorFlow's advice on a
replacement).
"""
