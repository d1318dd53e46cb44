"""Every op on a GPU: each of its samples gives the same as its NumPy kernel on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.kernel import reference
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS

from ..ops.one_op import Alone, Built, gpu_refusal
from ..ops.samples import RANDOM, TABLE
from ..ops.sampling import Sample
from .machine import EMULATED, check, chosen, graph_options, on_gpus

pytestmark = pytest.mark.gpu(or_emulated=True)

TOGETHER = 6 if EMULATED else 12
"""Ops that share a session."""

WITHOUT_ORDER = {"Svd", "Qr", "SelfAdjointEigV2"}
"""Ops whose outputs are one of several right ones, by the order in which they are computed."""


def on_gpu(op_type: str) -> list[Sample]:
    """Return the samples that may be placed on a GPU; on emulated ones the first that has
    elements.
    """
    samples = [sample for sample in TABLE[op_type].samples if not gpu_refusal(op_type, sample)]
    if not EMULATED:
        return samples
    full = [sample for sample in samples if all(array.size for array in sample.flat)]
    single = [each for each in full if any(array.dtype == np.float32 for array in each.flat)]
    return (single or full)[:1]


OPS = chosen([op for op in sorted(set(TABLE) - WITHOUT_ORDER) if on_gpu(op)])
GROUPS = [OPS[start : start + TOGETHER] for start in range(0, len(OPS), TOGETHER)]


def wanted(op_type: str, sample: Sample) -> list[np.ndarray]:
    attrs = sample.all_attrs(DECLARATIONS[op_type].op_def)
    entry = find_kernel(op_type, "CPU", attrs)
    assert entry is not None
    return Alone(op_type, sample, reference(entry.kernel))()


def compare(session: tf.Session, op_type: str, sample: Sample) -> None:
    results = wanted(op_type, sample)
    built = Built(op_type, sample, "/gpu:0")
    turns = ("at first",) if op_type in RANDOM else ("at first", "captured")
    for turn in turns:  # the second run of a plan captures it, and draws other numbers
        result = built(session)
        assert len(result) == len(results)
        for slot, (one, other) in enumerate(zip(result, results)):
            try:
                check(one, other, TABLE[op_type].tolerance)
            except AssertionError as error:
                raise AssertionError(f"output {slot}, {turn}: {error}") from None


@pytest.mark.parametrize("ops", GROUPS, ids=lambda ops: f"{ops[0]}-{ops[-1]}")
def test_samples_give_on_a_gpu_what_they_give_on_the_cpu(ops: list[str]) -> None:
    failures = []
    with tf.Graph().as_default(), on_gpus(graph_options=graph_options()) as session:
        for op_type in ops:
            for sample in on_gpu(op_type):
                try:
                    compare(session, op_type, sample)
                except Exception as error:
                    message = " ".join(str(error).split())[:600]
                    failures.append(
                        f"{op_type} of {sample.label}: {type(error).__name__}: {message}"
                    )
    assert not failures, "\n".join(["", *failures])


def test_every_op_that_a_gpu_may_have_is_met() -> None:
    met = {op for group in GROUPS for op in group}
    assert met == set(OPS)
    assert EMULATED or len(met) > 300
