"""Native code of all ops in runs that compare it with NumPy (GPUGRAPH_VERIFY=1), on all samples.

Copies, products and functions of files; functions of rows also where sizes are known only in the
run. `test_every_native_op` and `test_native` compile expressions, reductions and decompositions
in fewer sources, and compare them by themselves.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.compile.steps import native_stretches
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.kernel import CSource, MatmulWithEpilogue, MatrixProducts, RowSource, ViewCopies
from gpugraph.ops.framework.op_declaration import DECLARATIONS

from .one_op import Built, run_together
from .samples import TABLE

COPIES = (ViewCopies, MatrixProducts, MatmulWithEpilogue, CSource)


def ops_of(*forms: type) -> list[str]:
    return [name for name in sorted(TABLE) if isinstance(DECLARATIONS[name].native, forms)]


@pytest.fixture(autouse=True)
def waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    monkeypatch.setenv("GPUGRAPH_VERIFY", "1")
    if compiler().reason:
        pytest.skip(compiler().reason)
    monkeypatch.setattr(native_stretches, "SMALL", 0)  # single small steps too


def states(op_type: str, opened: str = "") -> Counter[str]:
    """Run all samples of an op; return how many of its steps each kind of code has run."""
    counts: Counter[str] = Counter()
    for sample in TABLE[op_type].samples:
        with tf.Graph().as_default(), tf.Session() as session:
            built = Built(op_type, sample, opened=opened)
            run_together(session, [built])
            fetches: list[Any] = [*built.outputs, *filter(None, [built.op])]
            codes = session.explain(fetches, built.feeds).codes if fetches else ()
        counts.update(code.state for code in codes if code.op_type == op_type)
    return counts


LEFT_OUT = {
    "ExpandDims": "a view, without a step",
    "Reshape": "a view, without a step",
    "Squeeze": "a view, without a step",
    "_FusedAttention": "samples are too small: see tests/compile/fusion/test_native_attention.py",
}


@pytest.mark.parametrize("op_type", [name for name in ops_of(*COPIES) if name not in LEFT_OUT])
def test_all_samples_give_the_numbers_of_numpy(op_type: str) -> None:
    assert states(op_type)["native"] > 0


_TRANSFORMS = [
    f"{kind}{rank}"
    for kind in ("FFT", "IFFT", "RFFT", "BatchFFT", "BatchIFFT")
    for rank in ("", "2D", "3D")
]
NOT_NATIVE = dict.fromkeys(_TRANSFORMS, "samples are few and not powers of 2: see test_native_rows")
NOT_NATIVE["UnicodeTranscode"] = "samples are not UTF-8: see test_native_rows"


@pytest.mark.parametrize("op_type", [name for name in ops_of(RowSource) if name not in NOT_NATIVE])
def test_rows_sized_in_the_run_do_too(op_type: str) -> None:
    assert states(op_type, "sizes")["native"] > 0
