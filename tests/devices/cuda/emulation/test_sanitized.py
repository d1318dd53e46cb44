"""Kernels under AddressSanitizer, as ci/sanitize runs them: a planted fault is found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..gpus import needs_cxx

pytestmark = needs_cxx

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = '''
from contextlib import closing
import numpy as np
from gpugraph.devices.cuda.driver.driver_interface import Geometry
from tests.devices.cuda.gpus import gpu, on_gpu

TEXT = """
extern "C" __global__ void shifted(const float *x, float *out, long long count, long long by) {
    if (threadIdx.x < count) out[threadIdx.x] = x[threadIdx.x + by];
}
"""

def test_it():
    with closing(gpu()) as device:
        x, out = on_gpu(device, np.arange(8, dtype=np.float32)), on_gpu(device, np.zeros(8, "f"))
        module = device.driver.compile(TEXT, "shifted")
        for by in (0, BY):
            spans = [(each.address, each.nbytes) for each in (x, out)]
            device.driver.launcher(
                module, "shifted", Geometry((1, 1, 1), (32, 1, 1)), (x.address, out.address, 8, by),
                device.compute, spans[:1], spans[1:],
            )()
            device.read(out)
'''


@pytest.mark.parametrize("by", [0, 1])
def test_reading_behind_an_array_of_many_is_found(tmp_path: Path, by: int) -> None:
    place = tmp_path / "test_planted.py"
    place.write_text(PROGRAM.replace("BY", str(by)))
    done = subprocess.run(
        [str(ROOT / "ci" / "sanitize"), "-s", "--rootdir", str(tmp_path), str(place)],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHON": sys.executable},
    )
    if done.returncode == 3:
        pytest.skip(done.stderr)
    message = done.stdout + done.stderr
    assert (done.returncode != 0) == bool(by), message
    assert ("heap-buffer-overflow" in message) == bool(by)
