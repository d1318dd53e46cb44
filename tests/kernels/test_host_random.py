"""host_random.h: each number that it can compute is NumPy's, to the bit."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pytest

from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native.handwritten_kernels import whole_source

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

EVERY = """
void gg_every(int64_t n, float *radius, float *sine, float *cosine) {
    for (int64_t i = 0; i < n; i++) {
        radius[i] = gg_radius(gg_unit((uint32_t)i));
        gg_turn(gg_unit((uint32_t)i), sine + i, cosine + i);
    }
}
"""

WORDS = 1 << 23
"""Numbers in [0, 1) that a word can give."""


@pytest.fixture(scope="module", params=["fma", "no fma"])
def library(request: pytest.FixtureRequest) -> ctypes.CDLL:
    head = "#define GG_NO_FMA\n" if request.param == "no fma" else ""
    result = compiler().start(head + whole_source("host_random.h") + EVERY, "host_random.h")
    loaded = result.wait()
    assert loaded is not None, result.reason
    return loaded


def every_pair(library: ctypes.CDLL) -> Any:
    arrays = np.empty((3, WORDS), np.float32)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    library.gg_every(ctypes.c_int64(WORDS), *pointers)
    return arrays


def test_every_length_and_direction_is_that_of_numpy(library):
    radius, sine, cosine = every_pair(library)
    units = (np.arange(WORDS, dtype=np.uint32) | np.uint32(0x3F800000)).view(np.float32)
    units = units - np.float32(1)
    logs = np.log(np.maximum(units, np.float32(1e-7)), dtype=np.float64).astype(np.float32)
    np.testing.assert_array_equal(radius, np.sqrt(np.float32(-2) * logs))
    angles = np.multiply(units, 2 * math.pi, dtype=np.float64).astype(np.float32)
    np.testing.assert_array_equal(sine, np.sin(angles.astype(np.float64)).astype(np.float32))
    np.testing.assert_array_equal(cosine, np.cos(angles.astype(np.float64)).astype(np.float32))
