"""Samples of ops at the size of real work, for `every_op.py`: a duration of about a millisecond.

They are for ops whose work depends on several sizes, and for ops whose small samples say nothing of
real work.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np

from gpugraph.ops.image.files.png_format import encoded_png

sys.path.append(str(Path(__file__).resolve().parents[1]))
case = importlib.import_module("tests.ops.sampling").case

_random = np.random.default_rng(50)


def reals(*shape: int) -> np.ndarray:
    """Return float32 numbers in [0, 1)."""
    return _random.random(shape, np.float32)


def integers(high: int, *shape: int) -> np.ndarray:
    """Return int32 numbers below `high`."""
    return _random.integers(0, high, shape, np.int32)


def boxes(count: int, size: float = 0.2) -> np.ndarray:
    """Return float32 boxes within the unit square."""
    corner = reals(count, 2) * (1 - size)
    return np.concatenate([corner, corner + size * (0.3 + 0.7 * reals(count, 2))], 1)


def definite(count: int, size: int) -> np.ndarray:
    """Return symmetric positive definite float32 matrices."""
    root = reals(count, size, size)
    return np.asarray(root @ root.transpose(0, 2, 1) + size * np.eye(size), np.float32)


def texts(count: int, words: int = 6) -> np.ndarray:
    """Return lines of a few words each."""
    table = np.array([b"the", b"graph", b"of", b"tensors", b"computes", b"42", b"Rows"], object)
    return np.array([b" ".join(row) for row in table[integers(7, count, words)]], object)


def sparse(rows: int, columns: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sorted indices, values and shape of a sparse matrix."""
    flat = np.sort(_random.choice(rows * columns, count, replace=False))
    indices = np.stack([flat // columns, flat % columns], 1).astype(np.int64)
    return indices, reals(count), np.array([rows, columns], np.int64)


_WINDOW = {"strides": [1, 1, 1, 1], "padding": "SAME"}
_POOL = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
_POOL_3D = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"}
_CONV_3D = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}
_PATCHES = {"ksizes": [1, 3, 3, 1], "strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1]}


def _i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def _half(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def _sparse_matrix(*dense: int) -> Any:
    return case(*sparse(1000, 1000, 20_000), reals(*dense))


def _unsorted() -> Any:
    indices, values, shape = sparse(1000, 1000, 20_000)
    order = _random.permutation(len(indices))
    return case(indices[order], values[order], shape)


def _two_sparse() -> Any:
    return case(*sparse(1000, 1000, 10_000), *sparse(1000, 1000, 10_000), _half(0))


def _sparse_sum() -> Any:
    (a, *_), (b, *_) = (sparse(1000, 1000, 10_000) for _ in range(2))
    total = np.unique(np.concatenate([a, b]), axis=0)
    return case(reals(len(total)), a, b, total)


def _joined_sparse() -> Any:
    parts = zip(*(sparse(1000, 1000, 10_000) for _ in range(2)))
    return case(*map(list, parts), concat_dim=1)


def _files(decoded: bool) -> Any:
    images = (255 * reals(3, 128, 128, 3)).astype(np.uint8)
    if decoded:
        return case(np.array(encoded_png(images[0]), object))
    return case(np.array(b"tag", object), images.astype(np.float32))


def _recordings(*rate: Any, **attrs: Any) -> Any:
    return case(np.array(b"tag", object), reals(3, 44_100, 2) * 2 - 1, *rate, **attrs)


def _segments(count: int, width: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    return reals(count, width), np.sort(integers(number, count))


def _norm(*shape: int) -> Any:
    channels = [reals(shape[-1]) + 0.5 for _ in range(2)]
    empty = [np.zeros(0, np.float32)] * 2
    return case(reals(*shape), *channels, *empty)


def _norm_gradient(*shape: int) -> Any:
    channels = [reals(shape[-1]) + 0.5 for _ in range(3)]
    return case(reals(*shape), reals(*shape), *channels)


def _images(op: str) -> Any:
    kinds: dict[str, tuple[np.ndarray, ...]] = {
        "AdjustContrastv2": (_half(1.5),),
        "AdjustHue": (_half(0.1),),
        "AdjustSaturation": (_half(1.5),),
    }
    return case(reals(4, 128, 128, 3), *kinds.get(op, ()))


def _resized(back: bool = False) -> Any:
    if back:
        return case(reals(2, 224, 224, 3), reals(2, 160, 160, 3))
    return case(reals(2, 160, 160, 3), _i32(224, 224))


def _drawn(*inputs: np.ndarray, **attrs: Any) -> Any:
    return case(_i32(100, 1000), *inputs, **attrs)


def _uniform_attrs(name: str, kind: str = "float32") -> dict[str, Any]:
    return {"dtype": importlib.import_module("gpugraph").as_dtype(kind)} if name else {}


def _suppressed(*more: np.ndarray) -> Any:
    return case(boxes(1000), reals(1000), _i32(100)[0], *more)


CHOSEN: dict[str, Callable[[], Any]] = {
    "MatMul": lambda: case(reals(384, 384), reals(384, 384)),
    "BatchMatMul": lambda: case(reals(32, 96, 64), reals(32, 64, 96)),
    "BatchMatMulV2": lambda: case(reals(32, 96, 64), reals(32, 64, 96)),
    "Conv2D": lambda: case(reals(4, 28, 28, 64), reals(3, 3, 64, 64), **_WINDOW),
    "Conv2DBackpropInput": lambda: case(
        _i32(2, 14, 14, 256), reals(3, 3, 256, 128), reals(2, 14, 14, 128), **_WINDOW
    ),
    "Conv2DBackpropFilter": lambda: case(
        reals(4, 28, 28, 64), _i32(3, 3, 64, 64), reals(4, 28, 28, 64), **_WINDOW
    ),
    "DepthwiseConv2dNative": lambda: case(reals(8, 28, 28, 64), reals(3, 3, 64, 1), **_WINDOW),
    "DepthwiseConv2dNativeBackpropInput": lambda: case(
        _i32(8, 28, 28, 64), reals(3, 3, 64, 1), reals(8, 28, 28, 64), **_WINDOW
    ),
    "DepthwiseConv2dNativeBackpropFilter": lambda: case(
        reals(8, 28, 28, 64), _i32(3, 3, 64, 1), reals(8, 28, 28, 64), **_WINDOW
    ),
    "Conv3D": lambda: case(reals(2, 8, 16, 16, 16), reals(3, 3, 3, 16, 32), **_CONV_3D),
    "Conv3DBackpropInputV2": lambda: case(
        _i32(2, 8, 16, 16, 16), reals(3, 3, 3, 16, 32), reals(2, 8, 16, 16, 32), **_CONV_3D
    ),
    "Conv3DBackpropFilterV2": lambda: case(
        reals(2, 8, 16, 16, 16), _i32(3, 3, 3, 16, 32), reals(2, 8, 16, 16, 32), **_CONV_3D
    ),
    "MaxPool": lambda: case(reals(8, 56, 56, 64), **_POOL),
    "AvgPool": lambda: case(reals(8, 56, 56, 64), **_POOL),
    "MaxPoolWithArgmax": lambda: case(reals(2, 56, 56, 64), **_POOL),
    "MaxPool3D": lambda: case(reals(4, 16, 32, 32, 16), **_POOL_3D),
    "AvgPool3D": lambda: case(reals(4, 16, 32, 32, 16), **_POOL_3D),
    "LRN": lambda: case(reals(4, 28, 28, 64)),
    "FusedBatchNorm": lambda: _norm(8, 28, 28, 64),
    "FusedBatchNormV2": lambda: _norm(8, 28, 28, 64),
    "FusedBatchNormV3": lambda: _norm(32, 2, 2, 512),
    "FusedBatchNormGrad": lambda: _norm_gradient(8, 28, 28, 64),
    "ResizeBilinear": lambda: _resized(),
    "ResizeBicubic": lambda: _resized(),
    "ResizeArea": lambda: _resized(),
    "ResizeNearestNeighbor": lambda: _resized(),
    "ResizeBilinearGrad": lambda: _resized(True),
    "ResizeBicubicGrad": lambda: _resized(True),
    "ResizeNearestNeighborGrad": lambda: case(reals(2, 224, 224, 3), _i32(160, 160)),
    "CropAndResize": lambda: case(
        reals(2, 128, 128, 16), boxes(32, 0.5), integers(2, 32), _i32(14, 14)
    ),
    "NonMaxSuppression": lambda: _suppressed(),
    "NonMaxSuppressionV2": lambda: _suppressed(_half(0.5)),
    "NonMaxSuppressionV3": lambda: _suppressed(_half(0.5), _half(0.1)),
    "NonMaxSuppressionV4": lambda: _suppressed(_half(0.5), _half(0.1)),
    "NonMaxSuppressionV5": lambda: _suppressed(_half(0.5), _half(0.1), _half(0.0)),
    "RGBToHSV": lambda: _images("RGBToHSV"),
    "HSVToRGB": lambda: _images("HSVToRGB"),
    "AdjustContrastv2": lambda: _images("AdjustContrastv2"),
    "AdjustHue": lambda: _images("AdjustHue"),
    "AdjustSaturation": lambda: _images("AdjustSaturation"),
    "ExtractImagePatches": lambda: case(reals(4, 56, 56, 16), padding="SAME", **_PATCHES),
    "Cholesky": lambda: case(definite(8, 96)),
    "MatrixInverse": lambda: case(definite(8, 64)),
    "MatrixDeterminant": lambda: case(definite(8, 96)),
    "LogMatrixDeterminant": lambda: case(definite(8, 96)),
    "MatrixSolve": lambda: case(definite(8, 96), reals(8, 96, 16)),
    "MatrixTriangularSolve": lambda: case(definite(8, 96), reals(8, 96, 32)),
    "MatrixSolveLs": lambda: case(definite(8, 48), reals(8, 48, 8), np.array(0.1)),
    "Lu": lambda: case(definite(8, 96)),
    "Qr": lambda: case(definite(8, 48)),
    "Svd": lambda: case(definite(4, 32)),
    "SelfAdjointEigV2": lambda: case(definite(4, 40)),
    "SelfAdjointEig": lambda: case(definite(2, 96)),
    "BatchSelfAdjointEig": lambda: case(definite(2, 96)),
    "TridiagonalSolve": lambda: case(
        np.stack([reals(64, 256), reals(64, 256) + 3, reals(64, 256)], 1), reals(64, 256, 4)
    ),
    "MatrixSquareRoot": lambda: case(definite(4, 32)),
    "MatrixLogarithm": lambda: case(definite(4, 32).astype(np.complex64)),
    "MatrixExponential": lambda: case(definite(4, 64) / 64),
    "CholeskyGrad": lambda: case(np.linalg.cholesky(definite(4, 96)), reals(4, 96, 96)),
    "FFT": lambda: case(reals(64, 1024).astype(np.complex64)),
    "IFFT": lambda: case(reals(64, 1024).astype(np.complex64)),
    "FFT2D": lambda: case(reals(2, 256, 256).astype(np.complex64)),
    "IFFT2D": lambda: case(reals(2, 256, 256).astype(np.complex64)),
    "FFT3D": lambda: case(reals(32, 64, 64).astype(np.complex64)),
    "RFFT": lambda: case(reals(64, 2048), _i32(2048)),
    "RFFT2D": lambda: case(reals(2, 256, 256), _i32(256, 256)),
    "IRFFT": lambda: case(reals(64, 1025).astype(np.complex64), _i32(2048)),
    "IRFFT2D": lambda: case(reals(2, 256, 129).astype(np.complex64), _i32(256, 256)),
    "SparseTensorDenseMatMul": lambda: _sparse_matrix(1000, 64),
    "SparseTensorDenseAdd": lambda: _sparse_matrix(1000, 1000),
    "SparseDenseCwiseMul": lambda: _sparse_matrix(1000, 1000),
    "SparseReorder": _unsorted,
    "SparseAdd": _two_sparse,
    "SparseAddGrad": _sparse_sum,
    "SparseSparseMaximum": lambda: case(*_two_sparse().inputs[:6]),
    "SparseSparseMinimum": lambda: case(*_two_sparse().inputs[:6]),
    "SparseSlice": lambda: case(
        *sparse(1000, 1000, 50_000), np.array([100, 100]), np.array([800, 800])
    ),
    "SparseConcat": _joined_sparse,
    "SparseSplit": lambda: case(np.array(1), *sparse(1000, 1000, 20_000), num_split=4),
    "SparseSoftmax": lambda: case(*sparse(1000, 1000, 20_000)),
    "SparseFillEmptyRows": lambda: case(*sparse(20_000, 1000, 20_000), _half(0)),
    "SparseToDense": lambda: case(
        sparse(1000, 1000, 20_000)[0], np.array([1000, 1000]), reals(20_000), _half(0)
    ),
    "SegmentSum": lambda: case(*_segments(20_000, 32, 500)),
    "SegmentMean": lambda: case(*_segments(20_000, 32, 500)),
    "UnsortedSegmentSum": lambda: case(reals(20_000, 32), integers(500, 20_000), _i32(500)[0]),
    "SparseSegmentSum": lambda: case(
        reals(5000, 32), integers(5000, 20_000), np.sort(integers(500, 20_000))
    ),
    "SparseSegmentMean": lambda: case(
        reals(5000, 32), integers(5000, 20_000), np.sort(integers(500, 20_000))
    ),
    "Unique": lambda: case(integers(5000, 100_000)),
    "UniqueWithCounts": lambda: case(integers(5000, 100_000)),
    "Gather": lambda: case(reals(5000, 64), integers(5000, 20_000)),
    "GatherV2": lambda: case(reals(5000, 64), integers(5000, 20_000), _i32(0)[0]),
    "GatherNd": lambda: case(reals(500, 500, 2), integers(500, 100_000, 2)),
    "ScatterNd": lambda: case(integers(500, 50_000, 2), reals(50_000), _i32(500, 500)),
    "Bincount": lambda: case(integers(1000, 200_000), _i32(1000)[0], np.zeros(0, np.float32)),
    "TopKV2": lambda: case(reals(100, 1000), _i32(10)[0]),
    "Where": lambda: case(_random.random((500, 1000)) < 0.5),
    "Transpose": lambda: case(reals(32, 128, 256), _i32(0, 2, 1)),
    "RandomStandardNormal": lambda: _drawn(**_uniform_attrs("dtype")),
    "RandomUniform": lambda: _drawn(**_uniform_attrs("dtype")),
    "TruncatedNormal": lambda: _drawn(**_uniform_attrs("dtype")),
    "RandomUniformInt": lambda: _drawn(_i32(0)[0], _i32(1000)[0]),
    "RandomGamma": lambda: case(_i32(20_000), reals(4) + 0.5),
    "RandomPoissonV2": lambda: case(_i32(20_000), reals(4) * 5 + 0.5),
    "Multinomial": lambda: case(reals(100, 50), _i32(100)[0]),
    "StatelessRandomUniform": lambda: _drawn(_i32(1, 2), **_uniform_attrs("dtype")),
    "StatelessRandomNormal": lambda: _drawn(_i32(1, 2), **_uniform_attrs("dtype")),
    "StatelessTruncatedNormal": lambda: _drawn(_i32(1, 2), **_uniform_attrs("dtype")),
    "StringSplit": lambda: case(texts(2000), np.array(b" ", object)),
    "StringSplitV2": lambda: case(texts(2000), np.array(b" ", object)),
    "StringToHashBucketFast": lambda: case(texts(10_000), num_buckets=1000),
    "StringToHashBucketStrong": lambda: case(texts(10_000), num_buckets=1000, key=[1, 2]),
    "StringToHashBucket": lambda: case(texts(10_000), num_buckets=1000),
    "StaticRegexReplace": lambda: case(texts(2000), pattern="[a-z]+s", rewrite="<\\0>"),
    "RegexReplace": lambda: case(
        texts(2000), np.array(b"[a-z]+s", object), np.array(b"<\\0>", object)
    ),
    "StaticRegexFullMatch": lambda: case(texts(2000), pattern=".*graph.*[0-9]+.*"),
    "RegexFullMatch": lambda: case(texts(2000), np.array(b".*graph.*[0-9]+.*", object)),
    "Substr": lambda: case(texts(10_000), _i32(2)[0], _i32(5)[0]),
    "StringLower": lambda: case(texts(10_000)),
    "StringUpper": lambda: case(texts(10_000)),
    "StringStrip": lambda: case(texts(10_000)),
    "StringLength": lambda: case(texts(50_000)),
    "EncodeBase64": lambda: case(texts(10_000)),
    "StringToNumber": lambda: case(np.array([b"%.3f" % x for x in reals(10_000)], object)),
    "DecodeRaw": lambda: case(
        np.array([reals(256).tobytes() for _ in range(500)], object), out_type="float32"
    ),
    "DecodePng": lambda: _files(True),
    "ImageSummary": lambda: _files(False),
    "AudioSummary": lambda: _recordings(sample_rate=44_100.0),
    "AudioSummaryV2": lambda: _recordings(_half(44_100.0)),
    "AsString": lambda: case(integers(100_000, 10_000)),
    "Softmax": lambda: case(reals(1000, 300)),
    "LogSoftmax": lambda: case(reals(1000, 300)),
}
"""Samples at the size of real work, for a duration of about a millisecond."""


def _i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def _half_sizes(values: np.ndarray) -> np.ndarray:
    """Return the maxima of 2 x 2 windows, of [images, rows, columns, channels]."""
    images, rows, columns, channels = values.shape
    halves = values.reshape(images, rows // 2, 2, columns // 2, 2, channels)
    return np.asarray(halves.max((2, 4)))


_POOL_2 = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
_DILATION = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}


def _pool_gradient() -> Any:
    images = reals(8, 56, 56, 64)
    return case(images, _half_sizes(images), reals(8, 28, 28, 64), **_POOL_2)


def _dilation(back: bool = True) -> Any:
    further = [reals(2, 56, 56, 16)] if back else []
    return case(reals(2, 56, 56, 16), reals(3, 3, 16), *further, **_DILATION)


def _lstm_weights(inputs: int, units: int) -> list[np.ndarray]:
    peepholes = [reals(units) for _ in range(3)]
    return [reals(inputs + units, 4 * units) - 0.5, *peepholes, reals(4 * units)]


def _block_lstm() -> Any:
    states = [reals(32, 64) for _ in range(2)]
    return case(_i64(10)[0], reals(10, 32, 64), *states, *_lstm_weights(64, 64))


def _lstm_cell() -> Any:
    return case(reals(64, 128), reals(64, 128), reals(64, 128), *_lstm_weights(128, 128))


def _gru_cell() -> Any:
    weights = [reals(256, 256) - 0.5, reals(256, 128) - 0.5, reals(256), reals(128)]
    return case(reals(64, 128), reals(64, 128), *weights)


def _bitmap(size: int) -> np.ndarray:
    pixels = (255 * reals(size, size, 3)).astype(np.uint8).tobytes()
    head = pack("<2sIHHI", b"BM", 54 + len(pixels), 0, 0, 54)
    info = pack("<IiiHHIIiiII", 40, size, size, 1, 24, 0, len(pixels), 0, 0, 0, 0)
    return np.array(head + info + pixels, object)


def _sets(rows: int, size: int) -> np.ndarray:
    return np.sort(integers(1000, rows, size), 1)


def _sparse_sets() -> list[np.ndarray]:
    indices = np.stack(np.divmod(np.arange(10_000, dtype=np.int64), 20), 1)
    return [indices, _sets(500, 20).reshape(-1), _i64(500, 20)]


def _paths() -> Any:
    return case(integers(8, 50, 32, 8), integers(8, 50, 32, 8), integers(50, 32), _i32(7)[0])


def _logits(time: int, batch: int, classes: int) -> list[np.ndarray]:
    return [8 * reals(time, batch, classes), np.full(batch, time, np.int32)]


def _hypotheses() -> Any:
    def sentences() -> list[np.ndarray]:
        indices = np.stack(np.divmod(np.arange(4000, dtype=np.int64), 20), 1)
        return [indices, integers(50, 4000).astype(np.int64), _i64(200, 20)]

    return case(*sentences(), *sentences())


def _reduced() -> Any:
    return case(*sparse(1000, 1000, 20_000), _i32(1))


_RAGGED_SEGMENTS = ("SegmentMax", "SegmentMin", "SegmentProd")
_UNSORTED_SEGMENTS = ("UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd")

CHOSEN |= {
    **dict.fromkeys(_RAGGED_SEGMENTS, lambda: case(*_segments(20_000, 32, 500))),
    **dict.fromkeys(_UNSORTED_SEGMENTS, CHOSEN["UnsortedSegmentSum"]),
    "SparseSegmentSqrtN": CHOSEN["SparseSegmentMean"],
    "AvgPoolGrad": lambda: case(_i32(8, 56, 56, 64), reals(8, 28, 28, 64), **_POOL),
    "AvgPool3DGrad": lambda: case(_i32(4, 16, 32, 32, 16), reals(4, 8, 16, 16, 16), **_POOL_3D),
    "MaxPoolGrad": _pool_gradient,
    "Dilation2D": lambda: _dilation(back=False),
    "Dilation2DBackpropInput": _dilation,
    "Dilation2DBackpropFilter": _dilation,
    "ExtractVolumePatches": lambda: case(
        reals(1, 8, 16, 16, 8), ksizes=[1, 3, 3, 3, 1], strides=[1, 1, 1, 1, 1], padding="SAME"
    ),
    "BlockLSTM": _block_lstm,
    "LSTMBlockCell": _lstm_cell,
    "GRUBlockCell": _gru_cell,
    "BroadcastTo": lambda: case(reals(1000), _i32(1000, 1000)),
    "Fill": lambda: case(_i32(1000, 1000), _half(2.0)),
    "Range": lambda: case(_half(0), _half(100_000), _half(0.5)),
    "LinSpace": lambda: case(_half(0), _half(1), _i32(200_000)[0]),
    "Diag": lambda: case(reals(1000)),
    "DiagPart": lambda: case(reals(1000, 1000)),
    "MatrixDiag": lambda: case(reals(64, 128)),
    "MatrixDiagPart": lambda: case(reals(64, 128, 128)),
    "MatrixSetDiag": lambda: case(reals(64, 128, 128), reals(64, 128)),
    "MatrixBandPart": lambda: case(reals(64, 128, 128), _i64(3)[0], _i64(2)[0]),
    "DecodeBmp": lambda: case(_bitmap(256)),
    "DynamicPartition": lambda: case(reals(20_000, 32), integers(4, 20_000), num_partitions=4),
    "ListDiff": lambda: case(integers(100_000, 50_000), integers(100_000, 20_000)),
    "LowerBound": lambda: case(np.sort(reals(8, 10_000), 1), reals(8, 5000)),
    "UpperBound": lambda: case(np.sort(reals(8, 10_000), 1), reals(8, 5000)),
    "RFFT3D": lambda: case(reals(4, 32, 32, 32), _i32(32, 32, 32)),
    "IRFFT3D": lambda: case(reals(4, 32, 32, 17).astype(np.complex64), _i32(32, 32, 32)),
    "IFFT3D": lambda: case(reals(32, 64, 64).astype(np.complex64)),
    "DenseToDenseSetOperation": lambda: case(
        _sets(500, 20), _sets(500, 20), set_operation="intersection"
    ),
    "DenseToSparseSetOperation": lambda: case(
        _sets(500, 20), *_sparse_sets(), set_operation="union"
    ),
    "SparseToSparseSetOperation": lambda: case(
        *_sparse_sets(), *_sparse_sets(), set_operation="a-b"
    ),
    "SetSize": lambda: case(*_sparse_sets()),
    "StridedSlice": lambda: case(reals(1000, 1000), _i32(0, 1), _i32(1000, 1000), _i32(2, 3)),
    "StridedSliceGrad": lambda: case(
        _i32(1000, 1000), _i32(0, 0), _i32(1000, 1000), _i32(2, 4), reals(500, 250)
    ),
    "Slice": lambda: case(reals(1000, 1000), _i32(100, 100), _i32(800, 800)),
    "StatelessRandomUniformInt": lambda: _drawn(_i32(1, 2), _i32(0)[0], _i32(1000)[0]),
    "TridiagonalMatMul": lambda: case(*(reals(64, 1, 256) for _ in range(3)), reals(64, 256, 8)),
    "SparseReduceMax": _reduced,
    "SparseReduceSum": _reduced,
    "SparseReduceMaxSparse": _reduced,
    "SparseReduceSumSparse": _reduced,
    "SparseReshape": lambda: case(
        sparse(1000, 1000, 20_000)[0], _i64(1000, 1000), _i64(100, 10_000)
    ),
    "UniqueV2": lambda: case(integers(4, 5000, 4), _i64(0)),
    "UniqueWithCountsV2": lambda: case(integers(4, 5000, 4), _i64(0)),
    "ComputeAccidentalHits": lambda: case(
        integers(1000, 500, 2).astype(np.int64),
        _random.permutation(1000)[:200].astype(np.int64),
        num_true=2,
    ),
    "EditDistance": _hypotheses,
    "CTCGreedyDecoder": lambda: case(*_logits(50, 32, 30)),
    "CTCBeamSearchDecoder": lambda: case(*_logits(20, 2, 10), beam_width=10, top_paths=1),
    "GatherTree": _paths,
    "NthElement": lambda: case(reals(500, 1000), _i32(10)[0]),
    "ReverseSequence": lambda: case(reals(32, 64, 128), integers(64, 32), seq_dim=1, batch_dim=0),
    "MirrorPad": lambda: case(
        reals(8, 64, 64, 16), np.array([[0, 0], [3, 3], [3, 3], [0, 0]], np.int32), mode="REFLECT"
    ),
    "Pad": lambda: case(reals(8, 64, 64, 16), np.array([[0, 0], [3, 3], [3, 3], [0, 0]], np.int32)),
    "Tile": lambda: case(reals(64, 128), _i32(8, 4)),
    "SpaceToDepth": lambda: case(reals(8, 64, 64, 16), block_size=2),
    "DepthToSpace": lambda: case(reals(8, 32, 32, 64), block_size=2),
    "SpaceToBatchND": lambda: case(
        reals(8, 64, 64, 16), _i32(2, 2), np.array([[1, 1], [0, 2]], np.int32)
    ),
    "BatchToSpaceND": lambda: case(
        reals(32, 32, 32, 16), _i32(2, 2), np.array([[1, 1], [0, 2]], np.int32)
    ),
    "Cumsum": lambda: case(reals(500, 1000), _i32(1)[0]),
    "Cumprod": lambda: case(reals(500, 1000), _i32(1)[0]),
    "CumulativeLogsumexp": lambda: case(reals(200, 1000), _i32(1)[0]),
    "Bucketize": lambda: case(reals(200_000), boundaries=[0.05 * step for step in range(20)]),
    "InTopK": lambda: case(reals(2000, 1000), integers(1000, 2000), k=5),
    "OneHot": lambda: case(integers(100, 10_000), _i32(100)[0], _half(1), _half(0)),
    "SoftmaxCrossEntropyWithLogits": lambda: case(reals(500, 1000), reals(500, 1000)),
    "SparseSoftmaxCrossEntropyWithLogits": lambda: case(reals(500, 1000), integers(1000, 500)),
    "Cross": lambda: case(reals(100_000, 3), reals(100_000, 3)),
    "RandomShuffle": lambda: case(reals(50_000, 8)),
    "Sum": lambda: case(reals(64, 128, 64), _i32(1)),
    "Max": lambda: case(reals(64, 128, 64), _i32(1)),
    "Mean": lambda: case(reals(64, 128, 64), _i32(0, 1)),
    "ArgMax": lambda: case(reals(64, 128, 64), _i32(1)[0]),
    "ArgMin": lambda: case(reals(500, 1000), _i32(1)[0]),
    "BiasAdd": lambda: case(reals(8, 56, 56, 64), reals(64)),
    "BiasAddGrad": lambda: case(reals(8, 56, 56, 64)),
    "Add": lambda: case(reals(64, 1, 64), reals(128, 64)),
    "Mul": lambda: case(reals(500, 1000), reals(500, 1)),
    "Concat": lambda: case(_i32(1)[0], [reals(500, 300), reals(500, 200), reals(500, 100)]),
    "ConcatV2": lambda: case([reals(500, 300), reals(500, 200), reals(500, 100)], _i32(1)[0]),
    "Pack": lambda: case([reals(100, 300), reals(100, 300), reals(100, 300)], axis=1),
    "Unpack": lambda: case(reals(200, 8, 300), num=8, axis=1),
    "Split": lambda: case(_i32(1)[0], reals(500, 1024), num_split=4),
    "SplitV": lambda: case(reals(500, 1024), _i32(100, 900, 24), _i32(1)[0], num_split=3),
    "StringJoin": lambda: case([texts(10_000, 1), texts(10_000, 1)], separator="-"),
    "ReduceJoin": lambda: case(texts(10_000, 1).reshape(1000, 10), _i32(1)),
    "UnsortedSegmentJoin": lambda: case(texts(10_000, 1), integers(500, 10_000), _i32(500)[0]),
}
