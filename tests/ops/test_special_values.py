"""The contract of native code (docs/native.md) at the values where compilers and NumPy may differ.

Each elementwise op in each dtype, and pairs of them as one kernel: NumPy's bits, or its numbers to
4 units in the last place where a function is computed. NumPy itself gives the same by its vector
and its scalar code.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from gpugraph.base.dtypes import DType
from gpugraph.devices.codegen.c_compiler import compiler

from .special_values import (
    NATIVE,
    Elementary,
    by_numpy,
    differences,
    elementary_ops,
    in_ulps,
    operands,
    ulps_of,
    values_of,
)

compiled = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

Chain = tuple[Elementary, ...]

UNARY = [op for op in elementary_ops() if len(op.inputs) == 1]
OTHERS = [op for op in elementary_ops() if len(op.inputs) > 1]
CASTS = [op for op in UNARY if op.op_type == "Cast"]


def pairs(first: Sequence[Elementary], second: Sequence[Elementary]) -> Iterator[Chain]:
    """Yield the chain of each op after each other op whose result it accepts."""
    takers: dict[DType, list[Elementary]] = defaultdict(list)
    for op in second:
        takers[op.inputs[0]].append(op)
    for op in first:
        yield from ((op, other) for other in takers[op.output])


def sampled(chains: Iterator[Chain], count: int) -> list[Chain]:
    return random.Random(41).sample(list(chains), count)


def check(chains: Sequence[Chain], **how: Any) -> None:
    found = differences(chains, **how)
    assert not found, "\n".join(["", f"{len(found)} of {len(chains)} differ:", *found])


def test_what_is_walked() -> None:
    assert {(op.inputs[0], op.output) for op in CASTS} == {(a, b) for a in NATIVE for b in NATIVE}
    assert len({op.op_type for op in UNARY}) >= 40
    assert len({op.op_type for op in OTHERS}) >= 45
    exact = {op.op_type for op in elementary_ops() if not ulps_of(op)}
    assert {"Cast", "Neg", "Abs", "Floor", "Rint", "Maximum", "Select", "Add", "Sqrt"} <= exact
    for dtype in NATIVE:
        if dtype.is_floating:
            values = values_of(dtype)
            assert {0.0, 1.0, np.inf} <= set(values) and np.isnan(values).sum() == 1
            assert np.signbit(values[values == 0]).tolist() == [False, True]


@compiled
def test_ops_of_one_tensor() -> None:
    check([(op,) for op in UNARY])


@compiled
def test_ops_of_several_tensors() -> None:
    common = {dtype for dtype in NATIVE if dtype.name in ("float16", "float32", "int32", "bool")}
    check([(op,) for op in OTHERS if set(op.inputs) <= common])


@compiled
def test_casts_there_and_back() -> None:
    """gcc makes trunc(x) of a float that becomes an integer and a float again."""
    check([(a, b) for a, b in pairs(CASTS, CASTS) if a.inputs[0] is b.output])


@compiled
def test_some_pairs() -> None:
    check([*sampled(pairs(UNARY, UNARY), 60), *sampled(pairs(OTHERS, OTHERS), 10)])


@pytest.mark.exhaustive
@compiled
@pytest.mark.parametrize("dtype", NATIVE, ids=lambda dtype: dtype.name)
def test_ops_of_several_tensors_in_all_dtypes(dtype: DType) -> None:
    check([(op,) for op in OTHERS if op.inputs[-1] is dtype])


@pytest.mark.exhaustive
@compiled
@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.label)
def test_all_pairs_of_ops_of_one_tensor(op: Elementary) -> None:
    check(list(pairs([op], UNARY)))


@pytest.mark.exhaustive
@compiled
@pytest.mark.parametrize("dtype", NATIVE, ids=lambda dtype: dtype.name)
def test_pairs_with_ops_of_several_tensors(dtype: DType) -> None:
    one, several = ([op for op in ops if op.inputs[0] is dtype] for ops in (UNARY, OTHERS))
    for first, second in [(one, OTHERS), (several, UNARY), (several, OTHERS)]:
        check(sampled(pairs(first, second), 50))


@pytest.mark.parametrize("op", CASTS, ids=lambda op: op.label)
def test_numpys_casts_are_the_same_by_vectors_and_by_elements(op: Elementary) -> None:
    unlike(op)


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", elementary_ops(), ids=lambda op: op.label)
def test_numpy_is_the_same_by_vectors_and_by_elements(op: Elementary) -> None:
    unlike(op)


def unlike(op: Elementary) -> None:
    inputs = operands(op)
    whole = by_numpy(op, inputs)
    for at in range(0, whole.size, 3):
        part = by_numpy(op, [x[at : at + 3] for x in inputs])
        assert in_ulps(part, whole[at : at + 3]).max() == 0, f"{[x[at : at + 3] for x in inputs]}"
