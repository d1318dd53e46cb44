"""Ops whose native code is several functions with copies between them (`SourceStages`) give the
numbers of the NumPy kernels, on all samples and on volumes with NaN and infinities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gpugraph.compile.steps.native_node_code import stages_piece
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import prepare_source
from gpugraph.kernel import Call, SourceStages
from gpugraph.ops.framework.op_declaration import DECLARATIONS

from .one_op import Alone
from .samples import TABLE
from .sampling import Sample, case
from .test_native_rows import host_kernel, numbers

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

OP_TYPES = [
    op_type
    for op_type, decl in sorted(DECLARATIONS.items())
    if isinstance(decl.native, SourceStages) and op_type in TABLE
]


class Stages:
    """The native code of an op, as a `Call`; `refused` is the reason if there is none."""

    def __init__(self, op_type: str) -> None:
        self.native = DECLARATIONS[op_type].native
        self.refused = ""
        self.call = Call(make=self._bind, direct=True)

    def _bind(self, context: Any, *arrays: Any) -> Callable[[], Any]:
        assert isinstance(self.native, SourceStages)
        try:
            piece = stages_piece(
                self.native,
                context,
                arrays,
                lambda size: np.empty(size, np.uint8),
                lambda number, shape, dtype: np.full(shape, 7, dtype),
            )
        except NotImplementedError as error:
            self.refused = str(error)
            return lambda: None
        code = prepare_source(*piece.source).get(wait=True)  # type: ignore[misc]
        calls = piece.bind(code).calls

        def run() -> None:
            assert not any(call() for call in calls)

        return run


def host(op_type: str, sample: Sample) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return list(Alone(op_type, sample, host_kernel(op_type, sample))())


def volumes() -> Iterator[tuple[str, Sample]]:
    """Yield convolutions and pooling of volumes, with channels last and first."""
    for stride, padding, dilation, form in (
        (1, "SAME", 1, "NDHWC"),
        (2, "SAME", 1, "NDHWC"),
        (1, "VALID", 2, "NDHWC"),
        (2, "VALID", 1, "NCDHW"),
    ):
        source, filter = numbers(2, 7, 9, 8, 16), numbers(3, 3, 2, 16, 24, seed=2)
        place = 1 if form == "NDHWC" else 2

        def spread(values: list[int], place: int = place) -> list[int]:
            return [1] * place + values + [1] * (2 - place)

        if form == "NCDHW":
            source = np.ascontiguousarray(source.transpose(0, 4, 1, 2, 3))
        shape = np.array(source.shape, np.int32)
        attrs: dict[str, Any] = {"padding": padding, "data_format": form}
        attrs["strides"] = spread([stride] * 3)
        convolved = {**attrs, "dilations": spread([dilation] * 3)}
        forward = case(source, filter, **convolved)
        yield "Conv3D", forward
        (result,) = host("Conv3D", forward)
        yield "Conv3DBackpropInputV2", case(shape, filter, result, **convolved)
        sizes = np.array(filter.shape, np.int32)
        yield "Conv3DBackpropFilterV2", case(source, sizes, result, **convolved)
        attrs["ksize"] = spread([3, 2, 2])
        pixels = np.round(source)
        pixels[0, 0], pixels[1, 0, 1, 1] = -np.inf, np.nan
        yield "MaxPool3D", case(pixels, **attrs)
        (largest,) = host("MaxPool3D", case(pixels, **attrs))
        slope = numbers(*largest.shape, seed=4)
        yield "MaxPool3DGrad", case(pixels, largest, slope, **attrs)
        yield "AvgPool3D", case(source, **attrs)
        yield "AvgPool3DGrad", case(shape, slope, **attrs)


def error_of(result: np.ndarray, wanted: np.ndarray) -> float:
    """Return the maximum difference relative to the largest number; infinite if NaN differ."""
    finite = np.isfinite(wanted)
    if not np.array_equal(result[~finite], wanted[~finite], equal_nan=True):
        return np.inf
    size = max(1.0, float(np.abs(wanted[finite]).max(initial=0)))
    return float(np.abs(result[finite] - wanted[finite]).max(initial=0)) / size


def test_stages_give_the_numbers_of_the_host() -> None:
    failures, native = [], set()
    samples = [(op_type, sample) for op_type in OP_TYPES for sample in TABLE[op_type].samples]
    for op_type, sample in [*samples, *volumes()]:
        if not all(array.size for array in sample.flat) or 0 in sample.flat[0]:
            continue
        wanted, stages = host(op_type, sample), Stages(op_type)
        results = Alone(op_type, sample, stages.call)()
        if stages.refused:
            assert stages.refused.startswith("its functions are of float32 and float64, not ")
            continue
        native.add(op_type)
        for result, array in zip(results, wanted, strict=True):
            if error_of(result, array) > 64 * np.finfo(array.dtype).eps:
                failures.append(f"{op_type} of {sample.label}: {error_of(result, array)}")
    assert native == set(OP_TYPES) and len(OP_TYPES) >= 7
    assert not failures, "\n".join(["", *failures])
