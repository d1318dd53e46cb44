"""Compiles every CUDA source for GPU architectures, without a GPU: NVRTC, sm_70 to sm_120.

    python ci/nvrtc_sweep.py [--corpus kernels samples joined] [--arch sm_90 ...] [--rotate N]
                             [--most N] [--only NAME] [--most-spills BYTES] [--json FILE]

It compiles the corpora (`CORPORA`: functions that yield names and sources): `kernels`, the files
kernels/**/*.cu in each variant that their comments list; `samples`, the sources that are generated
for samples of every op; and `joined`, those for joined launches (ci/cuda_corpus.py). A file lists
variants as

    variants: T=float,half,int64 GG_RANK=1,3,8

for all combinations; several such lines add up. A value that is a dtype's name defines the macros
of `kernel.Launch.types` (T, T_VALUE, T_LOAD, T_STORE), any other value one plain macro. A file with
the comment `needs: sm_80`, and files that include it, are for such GPUs and newer ones.

Several sources are compiled as one program (`merged`), which takes 40 % less time if they are
small. If such a program does not compile, its sources are compiled one by one, so that an error
names its source.

It fails if a source does not compile, or a kernel spills more than the limit to local memory. It
prints the number of compilations, seconds, and the kernels with the most registers and spills. It
does not use the cache. Each source is compiled for some of the architectures, in turn (`TURNS`);
the variants of a file differ little, and together they are compiled for all architectures. With
--rotate N each source is compiled for N architectures, with --rotate 8 for all; with --most only N
sources of each corpus are compiled, evenly picked.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
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

from cuda_corpus import evenly, joined_texts, sample_texts  # noqa: E402

from gpugraph.base.dtypes import DType, as_dtype  # noqa: E402
from gpugraph.devices.cuda.driver.driver_interface import DriverError  # noqa: E402
from gpugraph.devices.cuda.driver.kernel_includes import with_includes  # noqa: E402
from gpugraph.devices.cuda.driver.nvrtc import Nvrtc, find_nvrtc  # noqa: E402
from gpugraph.devices.cuda.launching.type_macros import type_macros  # noqa: E402

__all__ = ["CORPORA", "Resources", "Text", "kernel_texts", "main", "resources", "sweep", "variants"]

ARCHS = (70, 75, 80, 86, 89, 90, 100, 120)
TURNS = {"kernels": 4, "samples": 2}
"""The number of architectures for which a source of a corpus is compiled, if not for all."""
BATCH = 16
"""The number of sources that are compiled as one program."""
MOST_SPILLS = 0
"""Bytes that a kernel may spill: stores and loads together."""
MOST_CHARACTERS = 700
"""Of a fault: the source and the whole log are in the file that it names."""


class Text(NamedTuple):
    """One source to compile."""

    name: str
    text: str


class Resources(NamedTuple):
    """The resources of one kernel, from the log of ptxas."""

    text: str
    kernel: str
    arch: str
    registers: int
    spills: int
    stack: int
    shared: int


class Outcome(NamedTuple):
    """One source compiled for one architecture: its kernels, or the error."""

    kernels: tuple[Resources, ...]
    error: str


# -- corpora

_VARIANTS = re.compile(r"\bvariants:((?:[ \t]+\w+=[^\s*]+)+)")
_NEEDS = re.compile(r"\bneeds: sm_(\d+)")
_TYPES = {"half": "float16", "float": "float32", "double": "float64"}


def variants(text: str) -> list[dict[str, str]]:
    """Return the combinations of macros that a source's comments list; one without macros if
    none.
    """
    combinations = []
    for line in _VARIANTS.findall(text):
        pairs = [word.partition("=")[::2] for word in line.split()]
        names = [name for name, _ in pairs]
        rows = itertools.product(*(value.split(",") for _, value in pairs))
        combinations += [dict(zip(names, row)) for row in rows]
    return combinations or [{}]


def definitions(macros: dict[str, str]) -> str:
    """Return the lines in front of a source that define these macros."""
    types = {name: dtype for name, value in macros.items() if (dtype := _dtype(value))}
    return type_macros(types, {name: value for name, value in macros.items() if name not in types})


def needed(text: str) -> int:
    """Return the minimum compute capability, times 10, of GPUs that a source is for."""
    try:
        return max(map(int, _NEEDS.findall(with_includes(text))), default=0)
    except KeyError:  # a missing include, which is an error of the compilation
        return 0


def _dtype(value: str) -> DType | None:
    try:
        return as_dtype(_TYPES.get(value, value)) if not value.isdigit() else None
    except TypeError:
        return None


def kernel_texts(folder: Path = ROOT / "kernels") -> Iterator[Text]:
    """Yield every variant of every file."""
    for path in sorted(folder.rglob("*.cu")):
        text = path.read_text("utf-8")
        for macros in variants(text):
            words = " ".join(f"{name}={value}" for name, value in macros.items())
            yield Text(f"{path.name} {words}".strip(), definitions(macros) + text)


CORPORA: dict[str, Callable[[int], Iterable[tuple[str, str]]]] = {
    "kernels": lambda most: kernel_texts(),
    "samples": lambda most: sample_texts(most=most),
    "joined": lambda most: joined_texts(),
}
"""Functions that yield names and sources: all, or a part with at least the given number."""


def texts_of(corpus: str, only: str, most: int) -> Sequence[Text]:
    """Return the sources of a corpus with `only` in their names, at most `most` of them."""
    wanted = 0 if only else most
    return evenly([Text(*pair) for pair in CORPORA[corpus](wanted) if only in pair[0]], most)


# -- compiling

_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


def resources(text: str, arch: str, log: str) -> tuple[Resources, ...]:
    """Return the resources of each kernel of a source, from the log of `--ptxas-options=-v`."""
    kernels = []
    parts = _ENTRY.split(log)
    for kernel, lines in zip(parts[1::2], parts[2::2]):
        stack, used, shared = _STACK.search(lines), _USED.search(lines), _SHARED.search(lines)
        frame, stores, loads = map(int, stack.groups()) if stack else (0, 0, 0)
        registers = int(used.group(1)) if used else 0
        num_bytes = int(shared.group(1)) if shared else 0
        kernels.append(Resources(text, kernel, arch, registers, stores + loads, frame, num_bytes))
    return tuple(kernels)


def compile_text(nvrtc: Nvrtc, text: Text, arch: str) -> Outcome:
    """Return one compilation."""
    try:
        cubin = nvrtc.compile(text.text, text.name, arch)
    except DriverError as error:
        return Outcome((), f"{text.name} for {arch}: {error}")
    kernels = resources(text.name, arch, cubin.log)
    if not kernels:
        return Outcome((), f"{text.name} for {arch}: it has no kernel, or none in the log of ptxas")
    return Outcome(kernels, "")


def merged(texts: Sequence[Text]) -> str:
    """Return one source that contains several sources, each in a namespace. Their kernels are no
    longer C functions, since kernels of different sources may have equal names.

    Raises KeyError if a source includes a file that does not exist.
    """
    included: set[str] = set()
    head = with_includes('#include "gpu_kernel.cuh"\n', included=included)
    kept = set(_MACRO.findall(head))
    parts = [head]
    for index, text in enumerate(texts):
        body = with_includes(text.text, included=set(included))
        macros = dict.fromkeys(name for name in _MACRO.findall(body) if name not in kept)
        parts += [f"namespace text{index}_ {{", body.replace('extern "C" ', ""), "}"]
        parts += [f"#undef {name}" for name in macros]
    return "\n".join(parts)


def compile_batch(nvrtc: Nvrtc, texts: Sequence[Text], arch: str) -> list[Outcome]:
    """Return the compilations of several sources for one architecture."""
    if len(texts) > 1:
        with contextlib.suppress(DriverError, KeyError):
            cubin = nvrtc.compile(merged(texts), f"{len(texts)} sources", arch)
            found: list[list[Resources]] = [[] for _ in texts]
            for it in resources("", arch, cubin.log):
                index, kernel = _member(it.kernel)
                found[index].append(it._replace(text=texts[index].name, kernel=kernel))
            if all(found):
                return [Outcome(tuple(kernels), "") for kernels in found]
    return [compile_text(nvrtc, text, arch) for text in texts]


def _member(mangled: str) -> tuple[int, str]:
    """Return the index of the source of a kernel in a merged source, and the kernel's name."""
    space, rest = _counted(mangled.removeprefix("_ZN"))
    return int(space.removeprefix("text").rstrip("_")), _counted(rest)[0]


def _counted(text: str) -> tuple[str, str]:
    """Return a name that follows its length in `text`, as in mangled names, and what remains."""
    digits = re.match(r"\d+", text)
    assert digits is not None, text
    end = digits.end() + int(digits[0])
    return text[digits.end() : end], text[end:]


def sweep(
    nvrtc: Nvrtc, texts: Sequence[Text], archs: Sequence[str], rotate: int = 0
) -> list[Outcome]:
    """Return every source for every architecture, or for `rotate` of them in turn, on all
    processors. The outcomes of one source are adjacent.
    """
    members: dict[str, list[int]] = {arch: [] for arch in archs}
    for index, text in enumerate(texts):
        least = needed(text.text)
        possible = [arch for arch in archs if int(arch.removeprefix("sm_")) >= least]
        count = min(rotate or len(possible), len(possible))
        for step in range(count):
            members[possible[(index * count + step) % len(possible)]].append(index)
    jobs = [
        (arch, indices[start : start + BATCH])
        for arch, indices in members.items()
        for start in range(0, len(indices), BATCH)
    ]

    def run(job: tuple[str, list[int]]) -> list[tuple[int, Outcome]]:
        arch, indices = job
        return list(zip(indices, compile_batch(nvrtc, [texts[it] for it in indices], arch)))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = [pair for pairs in pool.map(run, jobs) for pair in pairs]
    return [outcome for _, outcome in sorted(done, key=lambda pair: pair[0])]


# -- the report


def report(outcomes: Sequence[Outcome], most_spills: int) -> list[str]:
    """Print the table, and return the faults."""
    kernels = [kernel for outcome in outcomes for kernel in outcome.kernels]
    print(f"{'registers':>9} {'spills':>7} {'stack':>6} {'shared':>7}  kernel")
    for it in sorted(kernels, key=lambda kernel: (-kernel.spills, -kernel.registers))[:12]:
        print(
            f"{it.registers:9} {it.spills:7} {it.stack:6} {it.shared:7}  "
            f"{it.kernel} ({it.text}) {it.arch}"
        )
    return [outcome.error for outcome in outcomes if outcome.error] + [
        f"{it.kernel} of {it.text} for {it.arch} spills {it.spills} bytes, more than {most_spills}"
        for it in kernels
        if it.spills > most_spills
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", nargs="*", choices=list(CORPORA), help="by default all")
    parser.add_argument("--most", type=int, default=0, metavar="N", help="texts of each corpus")
    parser.add_argument("--arch", nargs="*", help="sm_90, say; by default all that NVRTC has")
    parser.add_argument("--rotate", type=int, metavar="N", help="GPUs for each text")
    parser.add_argument("--only", default="", help="texts with this in their name")
    parser.add_argument("--most-spills", type=int, default=MOST_SPILLS, metavar="BYTES")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all kernels' resources")
    options = parser.parse_args(arguments)
    nvrtc, reason = find_nvrtc()
    if nvrtc is None:
        print(reason, file=sys.stderr)
        return 2
    archs = options.arch or [f"sm_{number}" for number in ARCHS if number in nvrtc.archs]
    num_texts, outcomes = 0, list[Outcome]()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for corpus in options.corpus or CORPORA:
            texts = texts_of(corpus, options.only, options.most)
            turns = TURNS.get(corpus, 0) if options.rotate is None else options.rotate
            outcomes += sweep(nvrtc.with_cache(Path(folder)), texts, archs, turns)
            num_texts += len(texts)
    took = time.perf_counter() - began
    faults = report(outcomes, options.most_spills)
    if options.json:
        kernels = [kernel._asdict() for outcome in outcomes for kernel in outcome.kernels]
        options.json.write_text(json.dumps(kernels, indent=1))
    for fault in faults:
        print(f"FAILED: {fault[:MOST_CHARACTERS]}", file=sys.stderr)
    print(
        f"{num_texts} sources for {', '.join(archs)} by NVRTC {nvrtc.version[0]}."
        f"{nvrtc.version[1]}: {len(outcomes)} compiled in {took:.1f} s, {len(faults)} faults"
    )
    return 1 if faults or not num_texts else 0


if __name__ == "__main__":
    sys.exit(main())
