"""Functions of rows (`RowSource`) give the numbers of the NumPy kernels on all samples, to the bit,
and raise the same errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.bfloat16 import is_bfloat16
from gpugraph.compile.analysis.counted_rows import rows_counted_by
from gpugraph.compile.steps.native_node_code import Piece, row_piece
from gpugraph.compile.steps.native_verification import are_equal
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import prepare_source
from gpugraph.kernel import Call, RowSource
from gpugraph.ops.framework.op_declaration import DECLARATIONS

from .large_samples_of_texts import indices, numbers, texts
from .one_op import Alone, kernels
from .samples import TABLE
from .sampling import Sample, case

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

OP_TYPES = [
    op_type
    for op_type, decl in sorted(DECLARATIONS.items())
    if isinstance(decl.native, RowSource) and op_type in TABLE
]

LEFT_OUT = (
    "one number is written to all rows",
    "a division by zero is an error",
    "there are no images",
    "boxes, scores and limits are not all float32",
    "inputs of several shapes are broadcast",
    "numbers are long",
    "native code reads UTF-8",
    "native transforms are of complex64",
    "a size is not a power of 2 between 8 and 4,096",
    "an axis before the last one is cut or padded",
    "there are few transforms",
    "numbers of ",
    "strings and positions are broadcast",
    "matrices of 300 rows are LAPACK's",
    "the dense matrix is transposed",
    "products are of float32 and float64",
    "elements of ",
    "indices are no matrix",
    "the threshold has another dtype",
    "other shapes than the tags'",
    "the products are large",
    "string: its elements are Python objects",
    "rows are of float32, float64, int32, int64, bytes, not ",
)
"""The beginnings of the reasons why a sample has no native code."""


MAY_REFUSE = ("StringLower", "StringUpper", "UnicodeTranscode", "UniqueV2", "UniqueWithCountsV2")
"""Ops whose functions refuse some values: letters beyond ASCII, bytes that are not UTF-8 if the op
raises errors for them, and axes that are not the first.
"""


def host_kernel(op_type: str, sample: Sample) -> Call:
    attrs = sample.all_attrs(DECLARATIONS[op_type].op_def)
    return next(call for device, call in kernels(op_type, attrs) if device == "CPU")


class Native:
    """A function of rows on a sample, as a kernel for `Alone`."""

    def __init__(self, op_type: str, sample: Sample) -> None:
        native = DECLARATIONS[op_type].native
        assert isinstance(native, RowSource)
        self.native, self.op_type, self.sample = native, op_type, sample
        self.is_bound = self.is_refused = self.is_exact = False
        dynamic = native.sizes is not None
        self.alone = Alone(op_type, sample, Call(make=self._bind, direct=True, dynamic=dynamic))
        self.arrays: tuple[Any, ...]

    def _bind(self, context: Any, *arrays: Any) -> Callable[[], Any]:
        self.context, self.arrays = context, arrays
        return self._run

    def _size(self) -> None:
        """Output shapes that follow from values."""
        if self.native.sizes is not None:
            self.context.output_shapes = self.native.sizes(self.context, *self.arrays)

    def prepare(self) -> None:
        """Begins to compile. NotImplementedError where there is no function for the sample."""
        self._size()
        source = self._piece(self.arrays).source
        prepare_source(*source)  # type: ignore[misc]

    def _piece(self, arrays: Any) -> Piece:
        return row_piece(self.native, self.context, arrays, lambda size: np.empty(size, np.uint8))

    def _run(self) -> Any:
        arrays, results = self.arrays, []
        if self.native.sizes is not None:
            self._size()
            shapes = self.context.output_shapes
            types = [dtype.as_numpy_dtype for dtype in self.context.output_types]
            results = [np.full(shape, 91, dtype) for shape, dtype in zip(shapes, types)]
            counted = rows_counted_by(self.native, len(types))
            arrays = *arrays, *results, np.zeros(max(1, len(counted)), np.int64)
        piece = self._piece(arrays)
        code = prepare_source(*piece.source).get(wait=True)  # type: ignore[misc]
        assert code is not None
        self.is_exact = piece.is_exact
        self.is_refused = bool(piece.bind(code).calls[0]())
        if self.is_refused and self.op_type in MAY_REFUSE:
            self.is_refused = False
            kernel = host_kernel(self.op_type, self.sample)
            return kernel.bind(self.context, self.arrays if results else arrays)()
        if results:
            for rows, count in zip(counted, arrays[-1].tolist()):
                for slot in rows.slots:
                    results[slot] = results[slot][:count]
        return results


def agrees(results: Any, wanted: Any, is_exact: bool) -> bool:
    """To the bit, or to the last digits of a sum."""
    if is_exact:
        return are_equal(results, wanted, True)
    return all(
        np.array_equal(a, b)
        if b.dtype.kind in "iu"
        else np.allclose(a, b, 0, 64 * np.finfo(b.dtype).eps * _size(b), equal_nan=True)
        for a, b in zip(results, wanted, strict=True)
    )


def _size(array: np.ndarray) -> float:
    """Return the size of the largest number that is finite, and at least 1."""
    sizes = np.abs(array)
    return max(1.0, float(sizes[np.isfinite(sizes)].max(initial=0)))


def large() -> Iterator[tuple[str, Sample]]:
    """Many rows, wide and narrow, with some that come often: several parts and threads."""
    axis, one = np.array(0, np.int32), np.float32(0.3)
    for width in (1, 2, 3, 70):
        table, rows = numbers(900, width), numbers(7000, width, seed=2)
        where = indices(7000, 900)
        where[::3] = 5
        yield "GatherV2", case(table, where, axis)
        yield "GatherV2", case(table.astype(np.float16), where.astype(np.int64), axis)
        yield "GatherNd", case(table, where[:, None])
        yield "ScatterNd", case(where[:, None], rows, np.array([900, width], np.int32))
        yield "TensorScatterAdd", case(table, where[:, None], rows)
        yield "SparseApplyAdagrad", case(table, np.abs(table) + 1, one, rows, where)
        for kind in ("Sum", "Prod", "Max", "Min"):
            op_type, count = f"UnsortedSegment{kind}", np.array(900, np.int32)
            yield op_type, case(rows, where - 5, count)
            yield op_type, case(rows.astype(np.int64), where, count)
            yield f"Segment{kind}", case(rows, np.sort(where))
        yield "SegmentMean", case(rows.astype(np.int32) * 9, np.sort(where))
        for kind in ("Sum", "Mean", "SqrtN"):
            yield f"SparseSegment{kind}", case(table, where, np.sort(where) // 2)
            counted = case(table, where, np.sort(where) // 3, np.array(999, np.int32))
            yield f"SparseSegment{kind}WithNumSegments", counted
        for kind in ("Update", "Add", "Sub", "Mul", "Min", "Max"):
            yield f"Scatter{kind}", case(table, where, rows)
    ranked = np.round(numbers(40, 700))  # many are equal
    ranked[::3, ::50], ranked[::5, ::11], ranked[7] = np.nan, -0.0, np.nan
    for k in (1, 8, 64, 65, 700):
        yield "TopKV2", case(ranked, np.array(k, np.int32))
        yield "TopKV2", case(ranked[1:3, :k].astype(np.int64), np.array(k, np.int32))
        yield "TopKV2", case(ranked[2, 3:, None] - numbers(20_000), np.array(k, np.int32))
        yield "InTopKV2", case(ranked, indices(40, 750) - 9, np.array(k, np.int32))
        yield "InTopKV2", case(numbers(90, 700), indices(90, 700), np.array(k, np.int32))
    for dtype in (np.float64, np.int32, np.int64):
        wide = (numbers(3, 9000) * 2.0**20).astype(dtype)
        yield "TopKV2", case(wide, np.array(900, np.int32))
        yield "TopKV2", case(wide, np.array(9000, np.int32))
    yield "GatherV2", case(numbers(30, 40, 50), indices(600, 40), np.array(1, np.int32))
    for shape, form in [
        ((3, 7, 9, 70), "NHWC"),
        ((3, 5, 97, 99), "NCHW"),
        ((2, 60, 60, 5), "NHWC"),
    ]:
        channels = shape[3 if form == "NHWC" else 1]
        vector, none = np.abs(numbers(channels)) + 1, np.zeros(0, np.float32)
        x, dy = numbers(*shape) + 3, numbers(*shape, seed=2)
        for training in (True, False):
            options = {"data_format": form, "is_training": training}
            moments = [none, none] if training else [vector, vector]
            yield "FusedBatchNormV2", case(x, vector, vector, *moments, **options)
            gradient = case(dy, x, vector, vector, vector, none, **options)
            yield "FusedBatchNormGradV3", gradient
    for axis in range(3):
        running = case(numbers(3, 700, 601) / 9, np.array(axis, np.int32), exclusive=axis == 1)
        yield "Cumsum", running
        yield "Cumprod", running
    sparse = numbers(5, 7, 300) * (np.random.default_rng(3).random((5, 7, 300)) > 0.8)
    for dtype in (np.float16, np.float64, np.uint8, np.int16, np.int64, np.complex64, bool):
        yield "Where", case(sparse.astype(dtype))
        yield "Where", case(sparse.ravel().astype(dtype))
        yield "Where", case(np.where(numbers(5000) > 9, 3.0, -0.0).astype(dtype))
    yield from images()
    yield from boxes_and_colors()
    yield from special_functions()
    yield from texts()
    yield from transforms()
    yield from sparse_tensors()
    yield from factors()
    yield from recurrent()
    yield "Unique", case(indices(20_000, 3000, np.int64))
    yield "UniqueWithCounts", case(indices(20_000, 3000) - 1500, out_idx=tf.int64)


def images() -> Iterator[tuple[str, Sample]]:
    """Images of several blocks of rows, of few and of many channels, enlarged and reduced."""
    for channels, dtype in ((1, np.float32), (3, np.uint8), (3, np.float64), (37, np.float32)):
        pixels = np.abs(numbers(2, 61, 83, channels)).astype(dtype)
        for size in ((150, 201), (17, 200), (130, 9)):
            modes = {"half_pixel_centers": size[0] == 17, "align_corners": size[0] == 130}
            new = np.array(size, np.int32)
            for kind in ("Bilinear", "Bicubic", "NearestNeighbor"):
                yield f"Resize{kind}", case(pixels, new, **modes)
            yield "ResizeArea", case(pixels, new)
            if pixels.dtype != np.float32:
                continue
            for kind in ("Bilinear", "Bicubic"):
                grads = numbers(2, *size, channels)
                yield f"Resize{kind}Grad", case(grads, pixels, **modes)
            yield "ResizeNearestNeighborGrad", case(grads, np.array([61, 83], np.int32), **modes)
        corners = np.random.default_rng(4).uniform(-0.3, 1.3, (40, 4)).astype(np.float32)
        which, crops = indices(40, 2), numbers(40, 9, 11, channels)
        for method in ("bilinear", "nearest"):
            size = np.array([9, 11], np.int32)
            yield "CropAndResize", case(pixels, corners, which, size, method=method)
            shape = np.array(pixels.shape, np.int32)
            back = case(crops, corners, which, shape, T=tf.float32, method=method)
            yield "CropAndResizeGradImage", back
        yield "CropAndResizeGradBoxes", case(crops, pixels, corners, which)


def boxes_and_colors() -> Iterator[tuple[str, Sample]]:
    """Boxes that overlap, with equal scores and NaN; colours with several of the same size."""
    random = np.random.default_rng(9)
    corners = random.random((300, 4)).astype(np.float32)
    corners[::17] = corners[5]
    scores = np.round(random.random(300), 2).astype(np.float32)
    scores[7], corners[8, 2] = np.nan, np.nan
    most, half, low = np.array(60, np.int32), np.float32(0.3), np.float32(0.2)
    yield "NonMaxSuppression", case(corners, scores, most, iou_threshold=0.4)
    yield "NonMaxSuppressionV2", case(corners, scores, most, half)
    yield "NonMaxSuppressionV3", case(corners, scores, most, half, low)
    shared = random.random((300, 300)).astype(np.float32)
    yield "NonMaxSuppressionWithOverlaps", case(shared, scores, most, np.float32(0.9), low)
    for pads in (False, True):
        options = {"pad_to_max_output_size": pads}
        yield "NonMaxSuppressionV4", case(corners, scores, most, half, low, **options)
        for sigma in (0.0, 0.4):
            limits = half, low, np.float32(sigma)
            yield "NonMaxSuppressionV5", case(corners, scores, most, *limits, **options)
    pixels = random.random((2, 70, 67, 3)).astype(np.float32)
    pixels[0, :9] = np.round(pixels[0, :9] * 3) / 3
    pixels[1, 3, 3, 1] = np.nan
    for dtype in (np.float32, np.float64):
        yield "RGBToHSV", case(pixels.astype(dtype))
        yield "HSVToRGB", case(pixels.astype(dtype))
    for op_type, by in (("AdjustContrastv2", 1.7), ("AdjustSaturation", 0.6), ("AdjustHue", -0.3)):
        yield op_type, case(np.nan_to_num(pixels), np.float32(by))
    yield "AdjustContrastv2", case(numbers(3, 40, 41, 7), np.float32(0.5))


def special_functions() -> Iterator[tuple[str, Sample]]:
    """Numbers of all sizes and special ones, of float32 and float64."""
    random = np.random.default_rng(5)
    special = [0.0, -0.0, 1.0, 2.0, -1.0, -2.5, 1e-30, 1e30, np.inf, -np.inf, np.nan]
    for dtype in (np.float32, np.float64):
        usual = np.concatenate([10.0 ** random.uniform(-3, 3, 500), random.uniform(0, 30, 500)])
        usual = usual.astype(dtype)
        wide = np.concatenate([usual, -usual[:100], special]).astype(dtype)
        for op_type in ("Lgamma", "Digamma", "BesselI0", "BesselI0e", "BesselI1", "BesselI1e"):
            yield op_type, case(wide if "I0" not in op_type[-3:] else np.minimum(wide, dtype(50)))
            yield op_type, case(np.minimum(usual, dtype(30)))
        shares = np.concatenate([random.random(700), 10.0 ** random.uniform(-30, 0, 300)])
        for op_type in ("Erfinv", "Ndtri"):
            yield op_type, case(np.concatenate([shares, -shares, special]).astype(dtype))
        pairs = np.array([(a, b) for a in special for b in special if a != b]).T
        a = np.concatenate([usual, random.uniform(0.1, 9, 300), pairs[0]]).astype(dtype)
        b = np.concatenate([usual[::-1], random.uniform(0.1, 9, 300), pairs[1]]).astype(dtype)
        for op_type in ("Igamma", "Igammac", "IgammaGradA", "RandomGammaGrad", "Zeta"):
            yield op_type, case(a, b)
        small = np.minimum(np.round(a[:1000]), 20), np.clip(b[:1000], 0.5, None)
        yield "Polygamma", case(*(array.astype(dtype) for array in small))
        x = random.random(len(a)).astype(dtype)
        a, b = (
            np.where(np.isfinite(c) & (c > 0), np.clip(c, 0.1, 6), c).astype(dtype) for c in (a, b)
        )
        yield "Betainc", case(a, b, x)


def sparse_tensors() -> Iterator[tuple[str, Sample]]:
    """Sparse matrices with many elements in one row, sums that share positions."""
    random = np.random.default_rng(7)

    def places(count: int) -> np.ndarray:
        flat = np.sort(random.choice(300 * 200, count, replace=False))
        return np.stack([flat // 200, flat % 200], 1)

    shape = np.array([300, 200])
    for dtype in (np.float32, np.float64):
        a, b = places(9000), places(7000)
        values = [numbers(len(part), seed=3, dtype=dtype) for part in (a, b)]
        for turned in (False, True):
            dense = numbers(300 if turned else 200, 65, dtype=dtype)
            yield "SparseTensorDenseMatMul", case(a, values[0], shape, dense, adjoint_a=turned)
        mixed = random.permutation(len(a))
        dense = numbers(300, 200, dtype=dtype)
        yield "SparseTensorDenseAdd", case(a[mixed], values[0][mixed], shape, dense)
        total = case(a, values[0], shape, b, values[1], shape, dtype(0.5))
        yield "SparseAdd", total
        kept = Alone("SparseAdd", total, host_kernel("SparseAdd", total))()
        yield "SparseAddGrad", case(kept[1], a, b, kept[0])
        for kind in ("Maximum", "Minimum"):
            yield f"SparseSparse{kind}", case(a, values[0], shape, b, values[1], shape)
        yield from _slices(a, values[0], shape, np.array([20, 30]), np.array([200, 500]))
        cubes = np.stack([a[:, 0] // 20, a[:, 0] % 20, a[:, 1]], 1)
        sizes = np.array([15, 20, 200])
        yield from _slices(cubes, values[0], sizes, np.array([2, 0, 5]), np.array([9, 7, 100]))
        yield (
            "SparseSparseMaximum",
            case(cubes, values[0], sizes, cubes[::3], -values[0][::3], sizes),
        )
        yield "SparseToDense", case(a, shape, values[0], dtype(-1))
        default = np.array(7, dtype)
        yield "SparseFillEmptyRows", case(a[mixed][:90], values[0][:90], shape, default)
        yield "SparseFillEmptyRowsGrad", case(mixed[:90], numbers(9000, seed=4, dtype=dtype))
        repeated = case(a[mixed], shape, values[0], dtype(3), validate_indices=False)
        yield "SparseToDense", repeated


def _slices(
    places: np.ndarray, values: np.ndarray, shape: np.ndarray, start: np.ndarray, size: np.ndarray
) -> Iterator[tuple[str, Sample]]:
    cut = case(places, values, shape, start, size)
    yield "SparseSlice", cut
    kept = Alone("SparseSlice", cut, host_kernel("SparseSlice", cut))()
    yield "SparseSliceGrad", case(kept[1], places, start, kept[0])


def factors() -> Iterator[tuple[str, Sample]]:
    """Matrices of sizes that fill vectors and that do not."""
    for size, columns in ((33, 100), (64, 16), (5, 1), (100, 70)):
        for dtype in (np.float32, np.float64):
            matrices = numbers(3, size, size, dtype=dtype) / 8
            yield "Lu", case(matrices)
            factors = matrices + 4 * np.eye(size, dtype=dtype)
            yield "CholeskyGrad", case(factors, numbers(3, size, size, seed=3, dtype=dtype))
            yield "Lu", case(matrices, output_idx_type=tf.int64)
            systems = (
                numbers(3, 3, size, seed=4, dtype=dtype),
                numbers(3, size, columns, dtype=dtype),
            )
            yield "TridiagonalSolve", case(*systems)
            dominant = systems[0] + np.array([[0], [9], [0]], dtype)
            yield "TridiagonalSolve", case(dominant, systems[1], partial_pivoting=False)
            yield "TridiagonalSolve", case(0 * dominant, systems[1])  # singular
            # a diagonal that dominates: solutions do not grow
            triangles = matrices / size + 2 * np.eye(size, dtype=dtype)
            right = numbers(3, size, columns, seed=2, dtype=dtype)
            for lower in (True, False):
                for adjoint in (True, False):
                    options = {"lower": lower, "adjoint": adjoint}
                    yield "MatrixTriangularSolve", case(triangles, right, **options)
    yield "MatrixTriangularSolve", case(np.eye(300)[None], np.ones((1, 300, 1)))


def recurrent() -> Iterator[tuple[str, Sample]]:
    """LSTMs whose rows fill vectors and blocks, and do not; the last products are those of the
    BLAS.
    """
    for batch, inputs, size in ((3, 5, 7), (2, 16, 24), (9, 33, 40), (64, 64, 64), (64, 300, 300)):
        weights = [
            numbers(*shape, seed=place) / 16
            for place, shape in enumerate(
                [(batch, size)] * 2 + [(inputs + size, 4 * size)] + [(size,)] * 3 + [(4 * size,)]
            )
        ]
        x, steps = numbers(6, batch, inputs) / 8, np.array(4)
        parts = [numbers(6, batch, size, seed=place) / 8 for place in range(9)]
        for peeps in (False, True):
            yield "LSTMBlockCell", case(x[0], *weights, use_peephole=peeps, cell_clip=0.5)
            for op_type in ("BlockLSTM", "BlockLSTMV2"):
                yield op_type, case(steps, x, *weights, use_peephole=peeps)
            yield "BlockLSTMGrad", case(steps, x, *weights, *parts, use_peephole=peeps)
    for width, paths, merge in ((1, 1, True), (20, 3, False), (60, 2, True)):
        attrs = {"beam_width": width, "top_paths": paths, "merge_repeated": merge}
        lengths = np.array([15, 9, 12], np.int32)
        yield "CTCBeamSearchDecoder", case(numbers(15, 3, 9) / 4, lengths, **attrs)


def transforms() -> Iterator[tuple[str, Sample]]:
    """Complex numbers whose last axes are powers of 2, in blocks that are not full."""
    yield "RFFT2D", case(numbers(30, 12, 16), np.array([16, 16], np.int32))
    shapes = {
        "": [(33, 8), (20, 16), (9, 2048), (8, 4096), (3, 3, 32)],
        "2D": [(2, 16, 64), (16, 8, 8)],
        "3D": [(3, 64, 16, 32)],
    }
    for suffix, of_rank in shapes.items():
        for shape in of_rank:
            x = (numbers(*shape) + 1j * numbers(*shape, seed=2)).astype(np.complex64)
            for kind in ("FFT", "IFFT", "BatchFFT", "BatchIFFT"):
                yield f"{kind}{suffix}", case(x)
            lengths = np.array(shape[len(shape) - int(suffix[:1] or 1) :], np.int32)
            yield f"RFFT{suffix}", case(x.real.copy(), lengths)
            for width in (lengths[-1] * 3 // 4 - 1, 5, lengths[-1] + 9):
                yield f"RFFT{suffix}", case(numbers(*shape[:-1], width), lengths)


@pytest.fixture(scope="module")
def natives() -> list[tuple[str, Sample, Native]]:
    """Return all samples that have native code, which is compiled at once."""
    output, met = [], set()
    samples = [(name, sample) for name in OP_TYPES for sample in TABLE[name].samples]
    for op_type, sample in [*samples, *large()]:
        native = Native(op_type, sample)
        if not native.native.takes_empty and not all(array.size for array in native.arrays):
            continue
        has_bfloat16 = any(is_bfloat16(array.dtype) for array in native.arrays)
        if has_bfloat16 and native.native.element is not None:
            continue
        try:
            native.prepare()
        except NotImplementedError as error:
            met.add(next(reason for reason in LEFT_OUT if str(error).startswith(reason)))
            continue
        output.append((op_type, sample, native))
    assert met == set(LEFT_OUT)
    return output


def test_functions_of_rows_give_the_numbers_of_the_host(
    natives: list[tuple[str, Sample, Native]],
) -> None:
    failures = []
    assert {op_type for op_type, *_ in natives} == set(OP_TYPES)
    for op_type, sample, native in natives:
        wanted = Alone(op_type, sample, host_kernel(op_type, sample))()
        result = native.alone()
        assert not native.is_refused, f"{op_type} of {sample.label}"
        if not agrees(result, wanted, native.is_exact):
            failures.append(f"{op_type} of {sample.label}: {result} instead of {wanted}"[:600])
    assert not failures, "\n".join(["", *failures])


@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
def test_a_mean_is_infinite_where_an_element_is(form: str) -> None:
    images, vector, none = numbers(2, 20, 20, 20), numbers(20), np.zeros(0, np.float32)
    images[0, 0, 0, 0], images[0, 3, 3, 3], images[1, 3, 3, 3] = -np.inf, -np.inf, np.inf
    sample = case(images, vector, vector, none, none, data_format=form, is_training=True)
    native = Native("FusedBatchNormV2", sample)
    native.prepare()
    wanted = Alone("FusedBatchNormV2", sample, host_kernel("FusedBatchNormV2", sample))()
    for result, host in zip(native.alone()[:3], wanted[:3], strict=True):
        np.testing.assert_allclose(result, host, 1e-4, 1e-4)
    assert np.isneginf(wanted[1][0]) and np.isnan(wanted[1][3]) and np.isfinite(wanted[1][1])


OUTSIDE = {
    "GatherV2": 1,
    "GatherNd": 1,
    "ScatterNd": 0,
    "TensorScatterAdd": 1,
    "ScatterAdd": 1,
    "SparseSegmentSumWithNumSegments": 1,
    "SparseSegmentMeanWithNumSegments": 2,
    "ScatterUpdate": 1,
    "ScatterNdSub": 1,
    "UnsortedSegmentMax": 1,
    "SparseApplyMomentum": 4,
}
"""The input that has the indices, by op type."""


@pytest.mark.parametrize("op_type", OUTSIDE)
@pytest.mark.parametrize("value", [-1, -(2**31), 1 << 20])
def test_an_index_outside_is_refused_before_anything_is_written(op_type: str, value: int) -> None:
    slot = OUTSIDE[op_type]
    sample = next(sample for sample in TABLE[op_type].samples if sample.flat[0].size > 1)
    native = Native(op_type, sample)
    written = [array.copy() for array in native.arrays]
    where = native.alone.inputs[slot]
    where.reshape(-1)[-1] = value
    native.alone.run()
    is_dropped = op_type.startswith("Unsorted") and value < 0
    assert native.is_refused != is_dropped
    if not is_dropped:
        for index, (array, before) in enumerate(zip(native.arrays, written)):
            assert index == slot or array.tobytes() == before.tobytes()
