"""The walk over the registry's texts: each, as a native kernel, computes the same as its host
`Call`.

One kernel per op, dtype and kind of sample, all compiled as one text; then samples, special values
and extreme integers go through both. Ops without a native kernel are data, with reasons.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.bfloat16 import finfo, kind_of
from gpugraph.base.dtypes import as_dtype
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import (
    NOT_NATIVE,
    Fused,
    Fusion,
    NotNativeError,
    Prepared,
    not_native,
    prepare,
)
from gpugraph.graph.client.op_inference import output_types
from gpugraph.graph.op_def import host_slots
from gpugraph.kernel import Elementwise, Reduction
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.reductions.reduction_ops import reduced_axes

from .one_op import Alone
from .samples import TABLE
from .sampling import Sample

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

ULPS = 8
"""Units in the last place between both: 4 are allowed to each."""

SPECIAL = {
    "f": [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.7, 1e-3, 20.0, -20.0, np.inf, -np.inf, np.nan],
    "i": [0, 1, -1, 2, -2, 5, -7, 100],
    "u": [0, 1, 2, 3, 5, 7, 100, 255],
    "b": [True, False],
}
SHAPED = {"ApplyGradientDescent", "BiasAdd", "BiasAddV1", "PlaceholderWithDefault"}
"""Ops whose inputs have different shapes, or that have a shape attr."""

UNDEFINED = {"Cast": "C leaves open what a NaN or an infinity is as an integer"}


@dataclass
class Case:
    """An op on a sample, as a program and as its host `Call`."""

    op_type: str
    sample: Sample
    inputs: list[np.ndarray]
    alone: Alone
    fused: Fused

    def run(self, prepared: Prepared[Any]) -> list[np.ndarray]:
        function = prepared.get(wait=True)
        assert function is not None, prepared.reason
        outputs = [np.empty(array.shape, array.dtype) for array in self.alone.outputs]
        function.bind(self.inputs, outputs, self.fused.sizes)()
        return outputs


def kernel_of(op_type: str, sample: Sample) -> Any:
    entry = find_kernel(op_type, "GPU", sample.all_attrs(DECLARATIONS[op_type].op_def))
    return entry.kernel if entry is not None else None


def make(op_type: str, sample: Sample) -> Case | None:
    """Return the case of a sample; None of ops without text. NotNativeError with the reason."""
    kernel = kernel_of(op_type, sample)
    if not isinstance(kernel, (Elementwise, Reduction)):
        return None
    if sample.attrs.get("incompatible_shape_error") is False:
        return None  # shapes may not fit: there is nothing to compute of elements
    op_def = DECLARATIONS[op_type].op_def
    attrs = sample.all_attrs(op_def)
    result = output_types(op_def, attrs)[0].base_dtype
    reason = not_native(*(as_dtype(array.dtype) for array in sample.flat), result)
    if reason:
        raise NotNativeError(reason)
    alone = Alone(op_type, sample, kernel.host)
    host = host_slots(op_def.inputs, op_def.host_inputs, attrs)
    inputs = [np.array(item) for slot, item in enumerate(sample.flat) if slot not in host]
    fusion = Fusion()
    source = [fusion.input(as_dtype(array.dtype), array.shape) for array in inputs]
    if isinstance(kernel, Elementwise):
        if op_type == "Select" and inputs[0].ndim == 1 and inputs[1].ndim > 1:
            fusion = Fusion()  # a vector chooses along the first axis
            first = fusion.input(tf.bool, (len(inputs[0]), *(1,) * (inputs[1].ndim - 1)))
            source = [first, *(fusion.input(result, array.shape) for array in inputs[1:])]
        value = fusion.apply(kernel, source, result)
    else:
        axes = None
        if host:
            axes = sorted(reduced_axes(sample.flat[min(host)], inputs[0].ndim))
        value = fusion.reduce(kernel, source[0], axes)
    shape = alone.outputs[0].shape
    fusion.output(value, shape if isinstance(kernel, Elementwise) else None)
    return Case(op_type, sample, inputs, alone, fusion.finish())


def texts() -> Iterator[tuple[str, Sample]]:
    for op_type, entry in sorted(TABLE.items()):
        for sample in entry.samples:
            if isinstance(kernel_of(op_type, sample), (Elementwise, Reduction)):
                yield op_type, sample


def with_values(op_type: str, sample: Sample) -> Sample | None:
    """Return the op on special values of the sample's dtypes, each with each."""
    op_def = DECLARATIONS[op_type].op_def
    kinds = [array.dtype for array in sample.flat]
    if op_def.host_inputs or any(kind_of(dtype) not in SPECIAL for dtype in kinds):
        return None
    pools = [SPECIAL[kind_of(dtype)] for dtype in kinds]
    if not isinstance(kernel_of(op_type, sample), Elementwise) or len(pools) != len(op_def.inputs):
        return None
    if op_type in SHAPED:
        return None
    rows = list(product(*pools))
    columns = [np.array(item, dtype) for item, dtype in zip(zip(*rows), kinds)]
    if ("Div" in op_type or "Mod" in op_type) and kinds[-1].kind in "iu":
        columns[-1][columns[-1] == 0] = 3
    return Sample(tuple(columns), sample.attrs)


@pytest.fixture(scope="module")
def cases() -> list[tuple[Case, Prepared[Any]]]:
    """Return all cases, compiled in one go; of float32 every kind of shapes, of other dtypes the
    first.
    """
    output, programs = [], {}
    for op_type, sample in texts():
        try:
            case = make(op_type, sample)
        except NotNativeError:
            continue
        if case is None:
            continue
        kinds = tuple(array.dtype.name for array in sample.flat)
        known = programs.setdefault((op_type, kinds, str(sample.attrs)), set())
        if "float32" in kinds or not known or case.fused.program in known:
            known.add(case.fused.program)
            output.append(case)
    return list(zip(output, prepare([case.fused.program for case in output])))


def differs(result: np.ndarray, wanted: np.ndarray, ulps: int) -> str:
    """Where they differ, or nothing."""
    if kind_of(result.dtype) != "f":
        return "" if result.tolist() == wanted.tolist() else f"{result} instead of {wanted}"
    with np.errstate(all="ignore"):
        size = np.spacing(np.maximum(np.abs(wanted), finfo(wanted.dtype).tiny))
        error = np.abs(result.astype(np.longdouble) - wanted) / size
        good = (result == wanted) | (np.isnan(result) & np.isnan(wanted)) | (error <= ulps)
        if wanted.dtype.itemsize == 2:  # a text is computed in float32: nothing overflows within
            good |= ~np.isfinite(result) & ~np.isfinite(wanted)
    if good.all():
        return ""
    return f"{result[~good].ravel()[:4]} instead of {wanted[~good].ravel()[:4]}"


def test_what_is_not_native_is_so_by_dtypes_or_axes() -> None:
    refused = {}
    for op_type, sample in texts():
        try:
            make(op_type, sample)
        except NotNativeError as error:
            refused[op_type, str(error)] = {as_dtype(array.dtype) for array in sample.flat}
    assert refused, "complex samples, at least"
    for (op_type, reason), types in refused.items():
        by_axes = reason.startswith("a reduction over axes")
        assert by_axes or types & set(NOT_NATIVE), f"{op_type} is refused: {reason}"


def test_samples_agree_with_the_host(cases: list[tuple[Case, Prepared[Any]]]) -> None:
    failures = []
    assert len(cases) > 400
    for case, prepared in cases:
        (result,), (wanted,) = case.run(prepared), case.alone()
        message = differs(result, wanted, ULPS)
        if message:
            failures.append(f"{case.op_type} of {case.sample.label}: {message}")
    assert not failures, "\n".join(["", *failures])


def test_special_values_agree_with_the_host(cases: list[tuple[Case, Prepared[Any]]]) -> None:
    failures, seen = [], set()
    for case, _ in cases:
        kinds = tuple(array.dtype for array in case.sample.flat)
        if (case.op_type, kinds, str(case.sample.attrs)) in seen:
            continue
        seen.add((case.op_type, kinds, str(case.sample.attrs)))
        sample = with_values(case.op_type, case.sample)
        if sample is None:
            continue
        output = make(case.op_type, sample)
        assert output is not None
        try:
            (wanted,) = output.alone()
        except tf.errors.InvalidArgumentError:
            continue
        [prepared] = prepare([output.fused.program])
        (result,) = output.run(prepared)
        if case.op_type in UNDEFINED:
            defined = np.isfinite(sample.flat[0].astype(np.float64))
            defined &= sample.flat[0].astype(np.float64) >= 0
            result, wanted = result[defined], wanted[defined]
        message = differs(result, wanted, ULPS)
        if message:
            failures.append(f"{case.op_type} of {kinds[0]}: {message}")
    assert len(seen) > 200
    assert not failures, "\n".join(["", *failures])
