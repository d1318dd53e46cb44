"""Inputs of each op at the size of real work, for `every_op.py`.

A case is data that both sides read (`ci/against_tensorflow/op_cases.py`). Ops whose work depends on
several sizes have chosen cases (`every_op_chosen.py`), the others a sample of tests/ops that is
repeated along axes on which the op agrees with larger inputs.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.older_types.renamed_op_types import RENAMED

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT), str(ROOT / "ci" / "against_tensorflow")]
samples, one_op, sampling, growth, op_cases, chosen_cases = map(
    importlib.import_module,
    (
        "tests.ops.samples",
        "tests.ops.one_op",
        "tests.ops.sampling",
        "benchmarks.native_or_numpy",
        "op_cases",
        "benchmarks.every_op_chosen",
    ),
)
CHOSEN = chosen_cases.CHOSEN
Case = dict[str, Any]

MOST_TRIED = 3
"""The number of ways of growth that TensorFlow is asked for, among those that gpugraph accepts."""

MOST_GROWTH = 10
"""The maximum number of elements of an output, relative to the size."""


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
