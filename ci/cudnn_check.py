"""Checks the binding of cuDNN against released packages, without a GPU.

    python ci/cudnn_check.py [nvidia-cudnn-cu12 nvidia-cudnn-cu13] [--find-links FOLDER]

For each package, which is installed into a temporary folder (0.7 GB to fetch each):

- each number of gpugraph/devices/cuda/driver/cudnn_numbers.py equals that of cudnn_graph.h;
- tests/devices/cuda/driver/test_cudnn.py passes with a fake library that is compiled against this
  header;
- the library loads, has the functions that are called, and reports its version and CUDA's;
- the library itself accepts the descriptors and graphs of convolutions, and refuses one with a
  wrong size. A stub of libcuda.so.1, with functions that fail, lets it load; plans, which need a
  GPU, are not tried.

Exit status: 0 if all is well, 1 if not, 2 if no package could be fetched.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gpugraph.devices.cuda.driver.convolution_record import ConvolutionRecord, StridedTensor  # noqa: E402
from gpugraph.devices.cuda.driver.cudnn import Cudnn, Descriptor  # noqa: E402
from gpugraph.devices.cuda.driver.cudnn_numbers import NUMBERS  # noqa: E402
from gpugraph.devices.cuda.driver.driver_interface import DriverError  # noqa: E402

PACKAGES = ("nvidia-cudnn-cu12", "nvidia-cudnn-cu13")
TESTS = "tests/devices/cuda/driver/test_cudnn.py"


def accepted(library: Any) -> str:
    """Return a sentence about the graphs that cuDNN, a loaded library, accepts. Raises DriverError
    if it refuses a graph, and ValueError if it accepts one with a wrong size.
    """
    cudnn = Cudnn(library)
    images = StridedTensor(4096, (2, 8, 5, 6), (240, 1, 48, 8))
    filter = StridedTensor(8192, (16, 8, 3, 3), (72, 1, 24, 8))
    results = StridedTensor(1 << 16, (2, 16, 5, 6), (480, 1, 96, 16))
    record = ConvolutionRecord("forward", "float16", images, filter, results, *[(1, 1)] * 4)
    forms = [("forward", 256, False), ("forward", 256, True)]
    forms += [(kind, 0, False) for kind in ("forward", "input", "filter")]
    count = 0
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        for kind, bias, relu in forms:
            it = record._replace(dtype=dtype, kind=kind, bias=bias, relu=relu)
            graph = Descriptor(library, "OPERATIONGRAPH")
            operations = cudnn.graph(it).operations
            graph.set("OPERATIONGRAPH_OPS", "BACKEND_DESCRIPTOR", *operations).finalized()
            count += 1
    try:
        cudnn.graph(record._replace(results=results._replace(sizes=(2, 16, 6, 6))))
    except DriverError:
        name = f"cuDNN {cudnn.version} for CUDA {cudnn.cuda}"
        return f"{name}: {count} graphs accepted, a wrong one not"
    raise ValueError("a result of a wrong size was accepted")


def fetch(package: str, folder: Path, links: str) -> bool:
    """Install a package into a folder, without dependencies; return whether that succeeded."""
    how = ["--quiet", "--no-deps", "--only-binary", ":all:", "--target", str(folder)]
    how += ["--find-links", links] if links else []
    command = [sys.executable, "-m", "pip", "install", *how, package]
    environment = os.environ | {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return subprocess.run(command, env=environment).returncode == 0


def wrong_numbers(header: str) -> Iterator[str]:
    """Yield a sentence for each number that differs from the header's."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    for name, number in NUMBERS.items():
        match = re.search(rf"\b{name}\b(?:\s+CUDNN_DEPRECATED_ENUM)?\s*=\s*(\d+)", text)
        if match is None or int(match[1]) != number:
            yield f"{name} is {match and match[1]} in the header, not {number}"


def stub_of_libcuda(libraries: list[Path], folder: Path) -> None:
    """Compile a libcuda.so.1 with the functions that the libraries require, which fail."""
    names: set[str] = set()
    for library in libraries:
        command = ["nm", "-D", "--undefined-only", str(library)]
        listing = subprocess.run(command, capture_output=True, text=True).stdout
        names |= set(re.findall(r"\bU (cu[A-Z]\w+)", listing))
    source = folder / "stub.c"
    source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in sorted(names)))
    command = ["cc", "-shared", "-fPIC", "-w", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([*command, "-o", str(folder / "libcuda.so.1"), str(source)], check=True)


def check(folder: Path) -> Iterator[str]:
    """Yield the faults of a package that is installed in a folder."""
    (header,) = folder.rglob("cudnn_graph.h")
    (library,) = folder.rglob("libcudnn.so.9")
    yield from wrong_numbers(header.read_text("utf-8", "replace"))
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    tests = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", TESTS]
    fake = {"GPUGRAPH_CUDNN_HEADERS": str(header.parent)}
    if subprocess.run(tests, cwd=ROOT, env=settings | fake).returncode:
        yield "the tests fail with a library that is compiled against the real header"
    stub_of_libcuda(sorted(library.parent.glob("*.so.*")), folder)
    paths = {"LD_LIBRARY_PATH": str(folder)}
    command = [sys.executable, __file__, "--library", str(library)]
    done = subprocess.run(command, cwd=ROOT, env=settings | paths, capture_output=True, text=True)
    print(done.stdout.strip())
    if done.returncode:
        yield f"the library refuses what it should accept: {done.stderr.strip()[-600:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    parser.add_argument("--find-links", default="", help="a folder with wheels")
    parser.add_argument("--library", help="only check which graphs this library accepts")
    options = parser.parse_args()
    if options.library:
        print(accepted(ctypes.CDLL(options.library)))
        return 0
    num_checked, faults = 0, []
    for package in options.packages:
        with tempfile.TemporaryDirectory() as name:
            if not fetch(package, Path(name), options.find_links):
                print(f"{package} could not be fetched")
                continue
            num_checked += 1
            faults += [f"{package}: {fault}" for fault in check(Path(name))]
    for fault in faults:
        print(f"FAILED: {fault}", file=sys.stderr)
    print(f"{len(NUMBERS)} numbers in {num_checked} packages: {len(faults)} faults")
    return 1 if faults else 0 if num_checked else 2


if __name__ == "__main__":
    sys.exit(main())
