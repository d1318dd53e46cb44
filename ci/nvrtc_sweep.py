"""Compiles every CUDA text for every GPU there is, without one: NVRTC, sm_70 to sm_120.

    python ci/nvrtc_sweep.py [--corpus kernels samples joined] [--arch sm_90 ...] [--rotate N]
                             [--most N] [--only NAME] [--most-spills BYTES] [--json FILE]

Compiled are the corpora (`CORPORA`: functions that yield names and texts): `kernels`, the files
kernels/**/*.cu in each variant that their comments list; `samples`, what is generated for samples
of every op, and `joined`, for launches that are joined (ci/cuda_corpus.py). A file lists variants
as

    variants: T=float,half,int64 GG_RANK=1,3,8

which are all combinations; several such lines add up. A value that is a dtype's name gives the
macros of `kernel.Launch.types` (T, T_VALUE, T_LOAD, T_STORE), any other one plain macro. A file
whose comment says `needs: sm_80`, and what includes it, is for such GPUs and newer ones.

It fails where a text does not compile, or a kernel spills more than the limit to local memory. It
prints what was compiled, seconds, and the kernels with the most registers and spills. Nothing is
taken from the cache, so every run is a full one; with --rotate each text is compiled for N of the
GPUs, in turn, so that all texts and all GPUs are met in a part of the time, and with --most only N
texts of each corpus, evenly picked.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "ci")]

from cuda_corpus import joined_texts, sample_texts  # noqa: E402

from gpugraph.base.dtypes import DType, as_dtype  # noqa: E402
from gpugraph.devices.cuda.driver.driver_interface import DriverError  # noqa: E402
from gpugraph.devices.cuda.driver.kernel_includes import with_includes  # noqa: E402
from gpugraph.devices.cuda.driver.nvrtc import Nvrtc, find_nvrtc  # noqa: E402
from gpugraph.devices.cuda.launching.type_macros import type_macros  # noqa: E402

__all__ = ["CORPORA", "Resources", "Text", "kernel_texts", "main", "resources", "sweep", "variants"]

ARCHS = (70, 75, 80, 86, 89, 90, 100, 120)
MOST_SPILLS = 0
"""Bytes that a kernel may spill: stores and loads together."""
MOST_SAID = 700
"""Characters of a fault: the text and the whole log are in the file that it names."""


class Text(NamedTuple):
    """One text to compile."""

    name: str
    text: str


class Resources(NamedTuple):
    """What ptxas says of one kernel."""

    text: str
    kernel: str
    arch: str
    registers: int
    spills: int
    stack: int
    shared: int


class Outcome(NamedTuple):
    """One text compiled for one architecture: its kernels, or why there are none."""

    kernels: tuple[Resources, ...]
    error: str


# -- what is compiled

_VARIANTS = re.compile(r"\bvariants:((?:[ \t]+\w+=[^\s*]+)+)")
_NEEDS = re.compile(r"\bneeds: sm_(\d+)")
_TYPES = {"half": "float16", "float": "float32", "double": "float64"}


def variants(text: str) -> list[dict[str, str]]:
    """The combinations of macros that a text's comments list; one without macros if none."""
    found = []
    for line in _VARIANTS.findall(text):
        pairs = [each.partition("=")[::2] for each in line.split()]
        names = [name for name, _ in pairs]
        values = itertools.product(*(value.split(",") for _, value in pairs))
        found += [dict(zip(names, each)) for each in values]
    return found or [{}]


def defined(macros: dict[str, str]) -> str:
    """The lines that go in front of a text for these macros."""
    types = {name: dtype for name, value in macros.items() if (dtype := _dtype(value))}
    return type_macros(types, {name: value for name, value in macros.items() if name not in types})


def needed(text: str) -> int:
    """The least compute capability, times 10, of GPUs that a text is for."""
    try:
        return max(map(int, _NEEDS.findall(with_includes(text))), default=0)
    except KeyError:  # an include that is not there: its compilation says so
        return 0


def _dtype(value: str) -> DType | None:
    try:
        return as_dtype(_TYPES.get(value, value)) if not value.isdigit() else None
    except TypeError:
        return None


def kernel_texts(folder: Path = ROOT / "kernels") -> Iterator[Text]:
    """Every variant of every file."""
    for path in sorted(folder.rglob("*.cu")):
        text = path.read_text("utf-8")
        for macros in variants(text):
            words = " ".join(f"{name}={value}" for name, value in macros.items())
            yield Text(f"{path.name} {words}".strip(), defined(macros) + text)


CORPORA: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {
    "kernels": kernel_texts,
    "samples": sample_texts,
    "joined": joined_texts,
}
"""Where texts come from: functions that yield names and texts."""


def all_texts(corpora: Sequence[str], only: str, most: int) -> list[Text]:
    """The texts of these corpora with `only` in their names, at most so many of each."""
    found = []
    for corpus in corpora:
        texts = [Text(*each) for each in CORPORA[corpus]() if only in each[0]]
        found += texts[:: max(1, -(-len(texts) // most)) if most else 1]
    return found


# -- compiling

_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def resources(text: str, arch: str, log: str) -> tuple[Resources, ...]:
    """What `--ptxas-options=-v` said of each kernel of a text."""
    found = []
    parts = _ENTRY.split(log)
    for kernel, said in zip(parts[1::2], parts[2::2]):
        stack, used, shared = _STACK.search(said), _USED.search(said), _SHARED.search(said)
        frame, stores, loads = (int(each) for each in stack.groups()) if stack else (0, 0, 0)
        registers = int(used.group(1)) if used else 0
        kept = int(shared.group(1)) if shared else 0
        found.append(Resources(text, kernel, arch, registers, stores + loads, frame, kept))
    return tuple(found)


def compiled(nvrtc: Nvrtc, text: Text, arch: str) -> Outcome:
    try:
        cubin = nvrtc.compile(text.text, text.name, arch)
    except DriverError as error:
        return Outcome((), f"{text.name} for {arch}: {error}")
    kernels = resources(text.name, arch, cubin.log)
    if not kernels:
        return Outcome((), f"{text.name} for {arch}: no kernel in it, or none that ptxas speaks of")
    return Outcome(kernels, "")


def sweep(
    nvrtc: Nvrtc, texts: Sequence[Text], archs: Sequence[str], rotate: int = 0
) -> list[Outcome]:
    """Every text for every architecture, or for `rotate` of them in turn, on all processors."""
    pairs = []
    for place, text in enumerate(texts):
        least = needed(text.text)
        own = [arch for arch in archs if int(arch.removeprefix("sm_")) >= least]
        each = min(rotate or len(own), len(own))
        pairs += [(text, own[(place * each + step) % len(own)]) for step in range(each)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda pair: compiled(nvrtc, *pair), pairs))


# -- said


def report(outcomes: Sequence[Outcome], most_spills: int) -> list[str]:
    """Prints the table; what is wrong."""
    kernels = [each for outcome in outcomes for each in outcome.kernels]
    print(f"{'registers':>9} {'spills':>7} {'stack':>6} {'shared':>7}  kernel")
    for each in sorted(kernels, key=lambda one: (-one.spills, -one.registers))[:12]:
        print(
            f"{each.registers:9} {each.spills:7} {each.stack:6} {each.shared:7}  "
            f"{each.kernel} ({each.text}) {each.arch}"
        )
    return [outcome.error for outcome in outcomes if outcome.error] + [
        f"{each.kernel} of {each.text} for {each.arch} spills {each.spills} bytes, more than "
        f"{most_spills}"
        for each in kernels
        if each.spills > most_spills
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", nargs="*", choices=list(CORPORA), help="by default all")
    parser.add_argument("--most", type=int, default=0, metavar="N", help="texts of each corpus")
    parser.add_argument("--arch", nargs="*", help="sm_90, say; by default all that NVRTC has")
    parser.add_argument("--rotate", type=int, default=0, metavar="N", help="GPUs for each text")
    parser.add_argument("--only", default="", help="texts with this in their name")
    parser.add_argument("--most-spills", type=int, default=MOST_SPILLS, metavar="BYTES")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all kernels' resources")
    options = parser.parse_args(arguments)
    nvrtc, reason = find_nvrtc()
    if nvrtc is None:
        print(reason, file=sys.stderr)
        return 2
    archs = options.arch or [f"sm_{each}" for each in ARCHS if each in nvrtc.archs]
    texts = all_texts(options.corpus or list(CORPORA), options.only, options.most)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = sweep(nvrtc.with_cache(Path(folder)), texts, archs, options.rotate)
    took = time.perf_counter() - began
    faults = report(outcomes, options.most_spills)
    if options.json:
        kernels = [each._asdict() for outcome in outcomes for each in outcome.kernels]
        options.json.write_text(json.dumps(kernels, indent=1))
    for fault in faults:
        print(f"FAILED: {fault[:MOST_SAID]}", file=sys.stderr)
    print(
        f"{len(texts)} texts for {', '.join(archs)} by NVRTC {nvrtc.version[0]}."
        f"{nvrtc.version[1]}: {len(outcomes)} compiled in {took:.1f} s, {len(faults)} faults"
    )
    return 1 if faults or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
