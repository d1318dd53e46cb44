"""The rows of docs/speed.md beside those of an earlier commit of gpugraph.

    python benchmarks/against_commit.py COMMIT [--rows WORD ...] [--rounds 5]

The files of the commit are unpacked into a temporary folder, with the current benchmarks. Each
measurement is a separate process, and the processes of the two commits alternate. The table shows
the medians of a step, of its preparation, of the first step, and of the processor time of a row
that runs once, including compilers. It also shows the medians of the ratios. Above 1, the earlier
commit is slower.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import control_flow
import cpu
from peers import Record, with_cache

FOLDER = Path(__file__).resolve().parent
KEYS = ("us", "build_ms", "first_ms", "cpu_ms")
CACHES = dict.fromkeys((cpu.FIRST, cpu.WHOLE, cpu.COLD), "cold") | {cpu.WARM: "warm"}


def unpack(commit: str, folder: Path) -> Path:
    """Unpack a commit, and replace its benchmarks by the current ones. Return their new folder."""
    command = ["git", "archive", commit]
    archive = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    shutil.rmtree(folder / "benchmarks")
    return Path(shutil.copytree(FOLDER, folder / "benchmarks"))


def rows(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the file and the name of each row whose name contains one of the words."""
    names = dict.fromkeys(cpu.rows(cpu.TINY), "cpu.py")
    names |= {name: "control_flow.py" for name in control_flow.ROWS if name not in names}
    for name, file in names.items():
        if any(word in name for word in words):
            yield file, name


def measure(file: str, row: str, before: Path, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return for each key the values of now and before, a pair for each round."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for number in range(rounds):
        found: dict[Path, Record] = {}
        for folder in [FOLDER, before] if number % 2 else [before, FOLDER]:
            record = with_cache(str(folder / file), row, "gpugraph", CACHES.get(row, ""))
            found[folder] = record or {}
        for key in KEYS:
            if all(key in record for record in found.values()):
                pairs.setdefault(key, []).append((found[FOLDER][key], found[before][key]))
    return pairs


def main() -> None:
    """Print a line for each row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commit")
    parser.add_argument("--rows", nargs="*", default=[""], metavar="WORD")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        before = unpack(options.commit, Path(folder))
        for file, row in rows(options.rows):
            parts = []
            for key, pairs in measure(file, row, before, options.rounds).items():
                now, earlier = map(median, zip(*pairs))
                ratio = median(old / new for new, old in pairs)
                parts.append(f"{key} {now:,.1f}, before {earlier:,.1f}: {ratio:.2f}")
            print(f"{row:52} {'; '.join(parts) or 'no result'}", flush=True)


if __name__ == "__main__":
    main()
