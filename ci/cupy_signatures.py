"""Compares the bindings of CuPy that the CUDA driver uses with released versions of CuPy.

    python ci/cupy_signatures.py             # fetches each release in RELEASES, and compares
    python ci/cupy_signatures.py --write     # also writes the table from the first release

The table is tests/devices/cuda/cupy_signatures.txt. tests/devices/cuda/fake_cupy.py, on which the
driver runs in tests, refuses calls that differ from it. The wheels (70 to 137 MB each) are
installed into a temporary folder, without their dependencies. The bindings import without a GPU
and without a driver. Exit status: 0 if all are equal, 1 if not, 2 if no release could be fetched.
"""

from __future__ import annotations

import argparse
import difflib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests/devices/cuda/cupy_signatures.txt"
RELEASES = ("cupy-cuda12x==14.1.*", "cupy-cuda12x==14.2.*", "cupy-cuda13x==14.2.*")

_PROGRAM = """
import sys
from cupy_backends.cuda.api import driver, runtime
for line in sys.stdin:
    line = line.strip()
    if not line or line[0] == "#":
        print(line)
        continue
    module, _, rest = line.partition(".")
    name = rest.partition("(")[0].partition(" =")[0]
    value = getattr({"driver": driver, "runtime": runtime}[module], name, None)
    is_function = callable(value)
    words = (value.__doc__ or name).splitlines()[0] if is_function else f"{name} = {value}"
    print(f"{module}.{words}")
for error in driver.CUDADriverError, runtime.CUDARuntimeError:
    assert issubclass(error, RuntimeError), error
"""


def lines_of(folder: str) -> list[str]:
    """Return the table's lines as the CuPy that is installed in a folder has them."""
    settings = os.environ | {"PYTHONPATH": folder}
    command = [sys.executable, "-W", "ignore", "-c", _PROGRAM]
    table = TABLE.read_text("utf-8")
    done = subprocess.run(command, input=table, env=settings, capture_output=True, text=True)
    if done.returncode:
        return [f"the bindings can't be imported: {done.stderr.strip()[-500:]}"]
    return done.stdout.splitlines()


def fetch(release: str, folder: str) -> bool:
    """Install a release into a folder, without dependencies; return whether that succeeded."""
    how = ["--quiet", "--no-deps", "--only-binary", ":all:", "--target", folder]
    environment = os.environ | {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [sys.executable, "-m", "pip", "install", *how, release]
    return subprocess.run(command, env=environment).returncode == 0


def differences(lines: Iterable[str], release: str) -> list[str]:
    """Return the differences between the table and a release, as lines of a diff."""
    table = TABLE.read_text("utf-8").splitlines()
    return list(difflib.unified_diff(table, list(lines), TABLE.name, release, "", "", 0, ""))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the table, too")
    options = parser.parse_args()
    num_compared, faults = 0, []
    for release in RELEASES:
        with tempfile.TemporaryDirectory() as folder:
            if not fetch(release, folder):
                print(f"{release} could not be fetched")
                continue
            lines = lines_of(folder)
        if options.write and not num_compared:
            TABLE.write_text("\n".join(lines) + "\n")
        num_compared += 1
        faults += differences(lines, release)
    for fault in faults:
        print(fault)
    num_names = sum(line[:1] not in ("", "#") for line in TABLE.read_text("utf-8").splitlines())
    releases = f"{num_compared} of {len(RELEASES)} releases"
    print(f"{num_names} names in {releases}: {len(faults)} lines differ")
    return 1 if faults else 0 if num_compared else 2


if __name__ == "__main__":
    sys.exit(main())
