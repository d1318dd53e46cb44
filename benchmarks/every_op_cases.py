"""Inputs of each op at the size of real work, for `every_op.py`.

A case is data that both sides read (`ci/against_tensorflow/op_cases.py`). Ops whose work depends on
several sizes have cases in CHOSEN, the others a sample of tests/ops that is repeated along axes on
which the op agrees with larger inputs.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.image.files.png_format import encoded_png
from gpugraph.ops.older_types.renamed_op_types import RENAMED

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT), str(ROOT / "ci" / "against_tensorflow")]
samples, one_op, sampling, growth, op_cases = map(
    importlib.import_module,
    (
        "tests.ops.samples",
        "tests.ops.one_op",
        "tests.ops.sampling",
        "benchmarks.native_or_numpy",
        "op_cases",
    ),
)
case = sampling.case
Case = dict[str, Any]

MOST_TRIED = 3
"""The number of ways of growth that TensorFlow is asked for, among those that gpugraph accepts."""

MOST_GROWTH = 10
"""The maximum number of elements of an output, relative to the size."""

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


def kind_of(op_type: str, dtype: str) -> Any:
    """Return the sample of an op to grow: the first of `dtype`, else of a usual dtype."""
    found = samples.TABLE[op_type].samples
    for kind in (dtype, "int32", "object", "complex64", ""):
        for sample in found:
            names = [array.dtype.name for array in sample.flat]
            if (not kind or kind in names) and all(array.size for array in sample.flat):
                return sample
    return found[0]


def grown(op_type: str, sample: Any, elements: int) -> Iterator[Any]:
    """Yield larger samples whose shapes the op accepts."""
    for larger in growth.grown_samples(op_type, sample, elements):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shapes = [shape.as_list() for shape in one_op.infer(op_type, larger)]
        except Exception:
            continue
        sizes = [prod(size or 1 for size in shape) for shape in shapes if shape is not None]
        if max(sizes, default=0) <= MOST_GROWTH * elements:
            yield larger


def as_case(op_type: str, sample: Any) -> Case:
    """Return a sample as data for both sides."""
    table = {**samples.TABLE, op_type: sampling.OpSamples([sample])}
    drawn: list[Case] = op_cases.draw(op_type, DECLARATIONS, table, 0)
    return drawn[0]


def cases_of(op_type: str, elements: int, dtype: str) -> tuple[bool, list[Case]]:
    """Return whether the size is chosen, and the cases of about `elements` elements to try."""
    chosen = CHOSEN.get(op_type) or CHOSEN.get(RENAMED.get(op_type, ""))
    if chosen and dtype == "float32":
        return True, [as_case(op_type, chosen())]
    larger = islice(grown(op_type, kind_of(op_type, dtype), elements), MOST_TRIED)
    return False, [as_case(op_type, sample) for sample in larger]


def drawn(op_type: str, seed: int) -> tuple[bool, list[Case]]:
    """Return cases of a random size from one random sample of the op, of any dtype and attrs."""
    random = np.random.default_rng([seed, *op_type.encode()])
    found = samples.TABLE[op_type].samples
    larger = list(grown(op_type, found[random.integers(len(found))], 4 ** random.integers(3, 10)))
    return True, [as_case(op_type, larger[place]) for place in random.permutation(len(larger))]


def op_types() -> list[str]:
    """Return all op types that have samples."""
    return sorted(op_type for op_type in samples.TABLE if op_type in DECLARATIONS)
