"""host_rejection.h: numbers with gamma and Poisson distributions are those of NumPy's kernels,
except for the last digits of doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import prepare_source
from gpugraph.ops.random.philox import Philox
from gpugraph.ops.random.rejection_sampling import gamma, poisson

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

RANDOM = np.random.RandomState(0)
ALPHAS = [RANDOM.rand(3000) * 3, np.full(500, 0.05), np.full(300, 1.0), np.full(300, 400.0)]
RATES = [RANDOM.rand(3000) * 12, RANDOM.rand(1000) * 500, [9.999, 10.0, 1e5, 1e12]]
UNUSUAL = [0.0, -0.0, -1.0, 1e-300, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize(
    ("function", "law", "parameters"),
    [
        ("gg_gamma", gamma, np.concatenate([*ALPHAS, UNUSUAL])),
        ("gg_poisson", poisson, np.concatenate([*RATES, UNUSUAL])),
    ],
)
def test_numbers_are_those_of_numpy(
    function: str, law: Callable[[Philox, Any], Any], parameters: Any
) -> None:
    place = Philox(0x0123456789ABCDEF, 2**64 - 77)  # a position at which the counter carries
    with np.errstate(all="ignore"):
        expected = law(place, parameters)
    prepared = prepare_source("host_rejection.h", "float32")
    file = prepared.get(wait=True)
    assert file is not None, prepared.reason
    numbers = np.empty(parameters.size)
    position = np.array([place.counter, 0, place.key, 0], np.uint64).view(np.float32)
    arrays = [position, parameters.view(np.float32), numbers.view(np.float32)]
    file.bind(function, [parameters.size], arrays)()
    np.testing.assert_allclose(numbers, expected, rtol=4 * np.finfo(np.float64).eps)
    usual = expected[np.isfinite(expected)]
    assert usual.size > 4000 and len(set(usual.tolist())) > 100
