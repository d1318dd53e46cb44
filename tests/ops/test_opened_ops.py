"""Every op with native code in a plan that runs several sizes: its words change, not its binding.

A session runs an op over growing sizes. From the third on, the plan of the second is opened
(`compile/binding/open_plan.py`). Each run gives the same bits, or the same error, as a session that
never saw other sizes.
"""

from __future__ import annotations

import shutil
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.compile.steps import native_stretches

from .one_op import Built, same_bits
from .samples import RANDOM, TABLE
from .sampling import Sample
from .test_open_sizes import is_plain, result

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

EVERY = [op_type for op_type in sorted(TABLE) if op_type not in RANDOM]

STEPS = 0, 1, 2, 3
"""By how much each size above 1 grows: equal ones stay equal."""

BOUND_FOR_EACH_SET = {
    *("AvgPool", "AvgPool3D", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "MaxPool", "MaxPool3D"),
    "MaxPoolGrad",
    *("MaxPoolGradGrad", "MirrorPad", "ResizeArea", "ResizeBicubic", "ResizeBicubicGrad"),
    *("ResizeBilinear", "ResizeBilinearGrad", "ResizeNearestNeighbor"),
    *("ResizeNearestNeighborGrad", "_FusedConv2D"),
}
"""Ops with calls that have no form with open sizes: copies within an output, tables of weights that
are computed from the sizes, windows in some dtypes and layouts. They are bound for each set.
"""

OTHER_CODE = {"SparseSoftmaxCrossEntropyWithLogits"}
"""Ops whose code contains a size, so that with open sizes NumPy computes them: other last bits."""

SORTED = {"LowerBound", "UpperBound"}
"""Ops of sorted rows. The rows of larger inputs are not sorted, so any result is right."""

FAMILIES = {"MatMul", "BatchMatMulV2", "Conv2D", "GatherV2", "Softmax", "StridedSlice", "Transpose"}
"""Ops of all kinds of native calls."""


@pytest.fixture(autouse=True)
def _native_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each op is native, however small, and code is there in the first run."""
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    monkeypatch.setattr(native_stretches, "SMALL", 0)


def counts(session: tf.Session) -> tuple[int, int]:
    """Return how many native steps of opened plans change by words, and how many there are."""
    runners = session._backend.runners.values()  # type: ignore[attr-defined]
    plans = [cached.plan for runner in runners for cached in runner.plans.exact.values()]
    pairs = [plan.sizes.num_native for plan in plans if plan.sizes is not None]
    return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)


def run_all(op_type: str, sample: Sample) -> tuple[int, int]:
    """Compare the results of both ways for a sample; return the counts of native steps."""
    with tf.Graph().as_default() as graph:
        built = Built(op_type, sample, known=False)
    if built.variables or not built.outputs:
        return 0, 0
    with tf.Session(graph=graph) as varying:
        for by in STEPS:
            got: Any = result(varying, built, by)
            with tf.Session(graph=graph) as fresh:
                expected: Any = result(fresh, built, by)
            where = f"{op_type} of {sample.label}, sizes + {by}: {got} and {expected}"
            assert isinstance(got, list) == isinstance(expected, list), where
            if isinstance(got, list):
                assert all(map(same_bits, got, expected)), where
            else:
                assert got is expected, where
        return counts(varying)


def walk(op_type: str, samples: list[Sample]) -> None:
    """Check samples of an op: all of its native steps change by words, unless it is known."""
    for sample in filter(is_plain, samples):
        opened, native = run_all(op_type, sample)
        if op_type not in BOUND_FOR_EACH_SET:
            assert opened == native, f"{op_type} of {sample.label}: {opened} of {native} steps"


@pytest.mark.parametrize("op_type", sorted({*EVERY[::8], *FAMILIES} - OTHER_CODE - SORTED))
def test_an_op_of_other_sizes_gives_what_a_fresh_session_gives(op_type: str) -> None:
    walk(op_type, TABLE[op_type].samples[:1])


@pytest.mark.exhaustive
@pytest.mark.parametrize("op_type", sorted(set(EVERY) - OTHER_CODE - SORTED))
def test_every_op_of_other_sizes(op_type: str) -> None:
    walk(op_type, TABLE[op_type].samples)
