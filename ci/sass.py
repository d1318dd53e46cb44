"""Counts the machine instructions of hot kernels, without a GPU, and holds the counts to bounds.

    python ci/sass.py [--rotate N] [--only NAME] [--arch sm_90 ...] [--write] [--table]

NVRTC compiles each kernel for sm_80, sm_90 and sm_120, and nvdisasm (the package
nvidia-cuda-nvdisasm) lists its instructions. `KERNELS` are those in which programs spend most of
their time. The columns:

    hmma       products by tensor cores in the innermost loop that contains any
    loop       instructions of that loop
    wide       loads of 128 bits from device memory, LDGSTS (cp.async) included, in the kernel
    registers  of a thread; `spills`: bytes that it spills to local memory

ci/sass_bounds.txt has a row for each kernel and GPU. It fails if a loop, the registers or the
spills exceed the row, or if there are fewer wide loads. A few instructions more are allowed
(`SLACK`), since each release of the compiler schedules differently. --write writes the table of
today; --rotate N compiles each kernel for N of the GPUs, in turn; --table prints all rows.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "ci")]

from nvrtc_sweep import definitions, resources  # noqa: E402
from sass_programs import PROGRAMS, generated_text  # noqa: E402

from gpugraph.devices.cuda.driver.cuda_libraries import cuda_roots  # noqa: E402
from gpugraph.devices.cuda.driver.nvrtc import Nvrtc, find_nvrtc  # noqa: E402

BOUNDS = ROOT / "ci/sass_bounds.txt"
ARCHS = ("sm_80", "sm_90", "sm_120")
SLACK = 1.03
"""The factor by which a loop may exceed its bound."""
REGISTERS_SLACK = 8
"""The number of registers by which a kernel may exceed its bound: their unit of allocation."""

_TILES = {"GG_ROWS": 128, "GG_COLUMNS": 64, "GG_OWN_ROWS": 64, "GG_OWN_COLUMNS": 32}
_PACKED = {"GG_PACK_A": 8, "GG_PACK_B": 8, "PLACE": "int32_t", "GG_LAST": 1, "GG_VOLUME": 0}
_ALIGNED = {"GG_ALIGNED_A": 1, "GG_ALIGNED_B": 1}
_ROWS = {"PACKED_Q": 1, "PACKED_K": 1, "PACKED_V": 1}
_HALF = {"T": "half", "BRAIN": 0}
_BRAIN = {"T": "bfloat16", "BRAIN": 1}
_PLAIN = {"GG_BIAS": 0, "GG_CUT": 0}
_FLOAT = {"T": "float", "PLACE": "int32_t", "GG_LAST": 1, "GG_VOLUME": 0}
_SQUARE = {"GG_ROWS": 128, "GG_COLUMNS": 128, "GG_OWN_ROWS": 8, "GG_OWN_COLUMNS": 8}
_FOUR = {"GG_PACK_A": 4, "GG_PACK_B": 4}


class Kernel(NamedTuple):
    """A kernel of a file with its macros, or a generated one (`file` is empty)."""

    name: str
    file: str
    function: str
    macros: dict[str, str | int]

    def text(self) -> str:
        """Return the source."""
        if not self.file:
            return generated_text(self.name)
        words = {name: str(value) for name, value in self.macros.items()}
        return definitions(words) + f'#include "{self.file}"\n'


class Row(NamedTuple):
    """The counts of one kernel for one GPU."""

    kernel: str
    arch: str
    hmma: int
    loop: int
    wide: int
    registers: int
    spills: int

    def line(self) -> str:
        """Return the row as text, as it is in the table."""
        numbers = "".join(f"{number:>10}" for number in self[2:])
        return f"{self.kernel:<34}{self.arch:<8}{numbers}"


def _convolution(name: str, mode: int, **macros: str | int) -> Kernel:
    every = {**_HALF, **_PACKED, **_ALIGNED, **_TILES, **_PLAIN, "GG_MODE": mode, **macros}
    return Kernel(name, "convolution_mma.cu", "gg_convolution_mma", every)


def _attention(name: str, head: int, masked: int, **macros: str | int) -> Kernel:
    every = {
        **_HALF,
        "HEAD": head,
        "ACROSS": 0,
        "MASKED": masked,
        "STATISTICS": 0,
        **_ROWS,
        **macros,
    }
    return Kernel(name, "attention_mma.cu", "gg_attention_mma", every)


def _attention_gradient(name: str, head: int, by_keys: int, **macros: str | int) -> Kernel:
    every = {**_HALF, "HEAD": head, "ACROSS": 0, "MASKED": 0, "BY_KEYS": by_keys, **_ROWS}
    every |= {"PACKED_D": 1, **macros}
    return Kernel(name, "attention_gradient_mma.cu", "gg_attention_back_mma", every)


KERNELS = (
    _convolution("convolution 16 forward", 0),
    _convolution("convolution 16 bias relu", 0, GG_BIAS=1, GG_CUT=1),
    _convolution("convolution 16 forward bfloat16", 0, **_BRAIN),
    _convolution("convolution 16 by images", 1),
    _convolution("convolution 16 by filter", 2),
    _attention("attention 16 head 64", 64, 0),
    _attention("attention 16 head 64 bfloat16", 64, 0, **_BRAIN),
    _attention("attention 16 head 128 masked", 128, 1),
    _attention_gradient("attention 16 by queries head 64", 64, 0),
    _attention_gradient("attention 16 by keys head 64", 64, 1),
    _attention_gradient("attention 16 by queries head 128", 128, 0, MASKED=1),
    _attention_gradient("attention 16 by keys head 128", 128, 1, MASKED=1),
    *(
        Kernel(
            f"convolution 32 {name}",
            "convolution.cu",
            "gg_convolution",
            {**_FLOAT, **_ALIGNED, **_SQUARE, **_FOUR, **_PLAIN, "GG_MODE": mode},
        )
        for mode, name in enumerate(("forward", "by images", "by filter"))
    ),
    *(Kernel(name, "", "", {}) for name in PROGRAMS),
)

# -- machine code

_INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
_LABEL = re.compile(r"^\s*(\.L_x_\d+):")
_SECTION = re.compile(r"^\.text\.(\w+):")
_WIDE = re.compile(r"\bLDG[A-Z]*\.E\S*\.128\b|\bLDG[A-Z]*\S*\.BYPASS\S*\.128\b|\bLDGSTS\S*\.128\b")


def find_nvdisasm() -> str | None:
    """Return the path of nvdisasm, from its package or a toolkit; None if there is none."""
    for root in cuda_roots():
        path = os.path.join(root, "bin", "nvdisasm")
        if os.path.isfile(path):
            return path
    return None


def disassembled(nvdisasm: str, cubin: bytes) -> str:
    """Return the listing of a cubin."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        # wheels are unpacked without the permission to execute
        os.chmod(nvdisasm, os.stat(nvdisasm).st_mode | 0o111)
        done = subprocess.run([nvdisasm, "-c", file.name], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"nvdisasm: {done.stderr.strip()[:300]}")
    return done.stdout


def functions(listing: str) -> Iterator[tuple[str, list[str], dict[str, int]]]:
    """Yield the name of each function, its instructions, and the index of each label."""
    name, code, labels = "", list[str](), dict[str, int]()
    for line in listing.splitlines():
        if match := _SECTION.match(line):
            if name:
                yield name, code, labels
            name, code, labels = match[1], [], {}
        elif match := _LABEL.match(line):
            labels[match[1]] = len(code)
        elif match := _INSTRUCTION.match(line):
            code.append(match[2])
    if name:
        yield name, code, labels


def hot_loop(code: Sequence[str], labels: dict[str, int]) -> tuple[int, int]:
    """Return the number of HMMA, and of all instructions, of the smallest loop that contains half
    of the kernel's HMMA or more; (0, 0) if there is none. A loop is the code between the target of
    a backward branch and the branch.
    """
    products = [index for index, text in enumerate(code) if "HMMA" in text]
    best = (0, 0)
    for index, text in enumerate(code):
        match = re.search(r"\bBRA\S*\s.*`\((\.L_x_\d+)\)", text)
        start = labels.get(match[1], index + 1) if match else index + 1
        inside = sum(start <= product <= index for product in products)
        if start <= index and products and 2 * inside >= len(products):
            size = index + 1 - start
            if not best[1] or size < best[1]:
                best = inside, size
    return best


def row_of(kernel: Kernel, nvrtc: Nvrtc, nvdisasm: str, arch: str) -> Row:
    """Compile a kernel and return its counts."""
    cubin = nvrtc.compile(kernel.text(), kernel.name, arch)
    used = {it.kernel: it for it in resources(kernel.name, arch, cubin.log)}
    listings = {name: rest for name, *rest in functions(disassembled(nvdisasm, cubin.content))}
    name = kernel.function or min(listings)  # of several, the first one launched
    code, labels = listings[name]
    hmma, loop = hot_loop(code, labels)
    wide = sum(bool(_WIDE.search(text)) for text in code)
    return Row(kernel.name, arch, hmma, loop, wide, used[name].registers, used[name].spills)


# -- the table


def read_bounds(text: str) -> dict[tuple[str, str], Row]:
    """Return the rows of a table by kernel and GPU."""
    rows = {}
    for line in text.splitlines():
        match = re.match(r"(\S.*?)\s+(sm_\d+)((?:\s+\d+){5})$", line)
        if match:
            row = Row(match[1], match[2], *map(int, match[3].split()))
            rows[row.kernel, row.arch] = row
    return rows


def faults(row: Row, bound: Row | None) -> list[str]:
    """Return the sentences about counts that exceed their bounds."""
    where = f"{row.kernel} for {row.arch}"
    if bound is None:
        return [f"{where} has no row in {BOUNDS.name}; --write adds it"]
    found = []
    if row.hmma != bound.hmma and not (row.hmma > bound.hmma > 0):
        found.append(f"{where}: {row.hmma} HMMA in its loop instead of {bound.hmma}")
    if row.hmma and row.loop * max(bound.hmma, 1) > bound.loop * row.hmma * SLACK:
        found.append(f"{where}: {row.loop} instructions for {row.hmma} HMMA, not {bound.loop}")
    if row.wide < bound.wide:
        found.append(f"{where}: {row.wide} loads of 128 bits instead of {bound.wide}")
    if row.registers > bound.registers + REGISTERS_SLACK:
        found.append(f"{where}: {row.registers} registers, more than {bound.registers}")
    if row.spills > bound.spills:
        found.append(f"{where} spills {row.spills} bytes, more than {bound.spills}")
    return found


HEAD = f"{'kernel':<34}{'GPU':<8}" + "".join(f"{name:>10}" for name in Row._fields[2:])


def measured(
    row: Callable[[Kernel, str], Row], kernels: Sequence[Kernel], archs: Sequence[str], rotate: int
) -> list[Row]:
    """Return the rows of the kernels for all GPUs, or for `rotate` of them in turn."""
    pairs = []
    for index, kernel in enumerate(kernels):
        count = min(rotate or len(archs), len(archs))
        pairs += [(kernel, archs[(index * count + step) % len(archs)]) for step in range(count)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda pair: row(*pair), pairs))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rotate", type=int, default=0, metavar="N", help="GPUs for each kernel")
    parser.add_argument("--only", default="", help="kernels with this in their name")
    parser.add_argument("--arch", nargs="*", default=ARCHS)
    parser.add_argument("--write", action="store_true", help="write the table of today")
    parser.add_argument("--table", action="store_true", help="print all rows")
    options = parser.parse_args(arguments)
    nvrtc, reason = find_nvrtc()
    nvdisasm = find_nvdisasm()
    if nvrtc is None or nvdisasm is None:
        print(reason or "no nvdisasm was found (pip install nvidia-cuda-nvdisasm)", file=sys.stderr)
        return 2
    began = time.perf_counter()
    kernels = [kernel for kernel in KERNELS if options.only in kernel.name]
    for kernel in kernels:
        kernel.text()  # sources are recorded in one thread
    rows = measured(
        lambda kernel, arch: row_of(kernel, nvrtc, nvdisasm, arch),
        kernels,
        options.arch,
        options.rotate,
    )
    version = ".".join(map(str, nvrtc.version))
    if options.write:
        known = {**read_bounds(BOUNDS.read_text("utf-8") if BOUNDS.exists() else "")}
        known.update({(row.kernel, row.arch): row for row in rows})
        names = [kernel.name for kernel in KERNELS]
        kept = [row for row in known.values() if row.kernel in names]
        kept.sort(key=lambda row: (names.index(row.kernel), ARCHS.index(row.arch)))
        about = f"# Counts of ci/sass.py, by NVRTC {version}. The columns are described there.\n"
        BOUNDS.write_text("\n".join([about + HEAD, *(row.line() for row in kept)]) + "\n")
    bounds = read_bounds(BOUNDS.read_text("utf-8"))
    if options.table:
        print("\n".join([HEAD, *(row.line() for row in rows)]))
    found = [fault for row in rows for fault in faults(row, bounds.get((row.kernel, row.arch)))]
    for fault in found:
        print(f"FAILED: {fault}", file=sys.stderr)
    took = time.perf_counter() - began
    print(f"{len(rows)} kernels by NVRTC {version} in {took:.1f} s, {len(found)} faults")
    return 1 if found or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
