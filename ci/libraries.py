"""The libraries of TensorFlow 1: the names that they ask for, and small programs that run them.

    python ci/libraries.py install FOLDER [LIBRARY...]    unpack them, each in a separate folder
    python ci/libraries.py names FOLDER [--list missing|refused|other] [--by library]
    python ci/libraries.py calls FOLDER [--list]          compare calls with the signatures here
    python ci/libraries.py attributes FOLDER [--list]     and attributes with the classes here
    python ci/libraries.py run FOLDER [PROGRAM...]        run the programs of library_programs/
    python ci/libraries.py test FOLDER [LIBRARY...]       run the tests that the libraries ship

`names` reads the sources of all libraries below FOLDER (imports, and chains of attributes below
`tensorflow`), and counts the names: those that are here, those that are refused at the call with a
reason, and those that are missing; by library, and by the number of uses. With `--tensorflow`,
1.15's unpacked wheel (`names_of_version_1.py`), names that 1.15 lacks too are counted apart. It
fails where a name is missing. `calls` and `attributes` (`library_calls.py`) count by the number of
uses, and fail where a use has no reason in `library_reasons.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from library_calls import Call, fault_of_call, lacks, read_calls
from library_reasons import reason_for
from library_tests import test_files
from library_versions import VERSIONS
from names_of_version_1 import Version1

from gpugraph.tensorflow_import.checking.program_check import check_source
from gpugraph.tensorflow_import.import_switch import install as install_answers
from gpugraph.tensorflow_import.missing_names import advice, shown

_ROOT = str(Path(__file__).resolve().parents[1])
_BUILDERS = ("setuptools<71", "wheel")
"""The packages with which pip reads the names and versions of sources of the time."""

_TESTS = "{:40} {:>6} {:>8} {:>8} {:>8}"
_OUTCOMES = ("passed", "skipped", "failed")
_COLUMNS = "{:40} {:>6} {:>6} {:>8} {:>8} {:>6} {:>7}"


class Asked(NamedTuple):
    """The names that one library asks for, with the number of uses of each."""

    here: Counter[str]
    refused: Counter[str]
    missing: Counter[str]
    other: Counter[str]
    places: dict[str, str]
    unread: list[str]


def read_library(folder: Path, version_1: Version1 | None) -> Asked:
    """Read all sources below a folder and return the names that they ask for.

    Names that TensorFlow 1.15 lacks too are `other`, if its sources are given.
    """
    asked = Asked(Counter(), Counter(), Counter(), Counter(), {}, [])
    assigned: set[str] = set()
    for file in sorted(folder.rglob("*.py")):
        if is_test(file):
            continue
        program = check_source(file.read_bytes(), str(file))
        if program.fault:
            asked.unread.append(str(file))
        assigned |= {path.removeprefix("compat.v1.") for path in program.assigned}
        for use in program.uses:
            counts = asked.refused if use.refusal else asked.here
            if not use.is_there:
                is_known = version_1 is None or version_1.has(use.path)
                counts = asked.missing if is_known else asked.other
            counts[use.path] += len(use.lines)
            asked.places.setdefault(use.path, f"{file.relative_to(folder)}:{use.lines[0]}")
    for path in [path for path in asked.missing if path.removeprefix("compat.v1.") in assigned]:
        asked.here[path] += asked.missing.pop(path)
    return asked


def is_test(file: Path) -> bool:
    """Return whether a source is a test: tests ask for internals that no user's program needs."""
    return file.stem.endswith("_test") or file.stem.startswith("test_") or "tests" in file.parts


def report(libraries: dict[str, Asked], listed: str | None, by: str) -> None:
    """Print the table by library, and the list of names of a kind, most used first."""
    print(_COLUMNS.format("library", "names", "here", "refused", "missing", "other", "unread"))
    total = Asked(Counter(), Counter(), Counter(), Counter(), {}, [])
    users: dict[str, list[str]] = defaultdict(list)
    for library, asked in libraries.items():
        _line(library, asked)
        for whole, part in zip(total[:4], asked[:4]):
            whole.update(part)
        total.unread.extend(asked.unread)
        for name in (*asked.refused, *asked.missing, *asked.other):
            users[name].append(f"{library} {asked.places[name]}" if by == "library" else library)
    _line("all", total)
    if listed:
        for name, count in getattr(total, listed).most_common():
            print(f"{count:5} {shown(name)}  [{', '.join(users[name][:4])}]{advice(name)}")


def _line(library: str, asked: Asked) -> None:
    sizes = [len(counts) for counts in asked[:4]]
    print(_COLUMNS.format(library, sum(sizes), *sizes, len(asked.unread)))


def install(folder: Path, chosen: list[str]) -> None:
    """Fetch the libraries from the package registry, without dependencies, and unpack each."""
    with tempfile.TemporaryDirectory() as builders:
        pip = [sys.executable, "-m", "pip"]
        subprocess.run([*pip, "install", "-q", "--target", builders, *_BUILDERS], check=True)
        for library, version in VERSIONS.items():
            target = folder / f"{library}-{version}"
            if (chosen and library not in chosen) or any(target.rglob("*.py")):
                continue
            command = [*pip, "download", "--no-deps", "--no-build-isolation", "-q"]
            command += ["--ignore-requires-python", "-d", str(target), f"{library}=={version}"]
            if subprocess.run(command, env=os.environ | {"PYTHONPATH": builders}).returncode:
                print(f"{library}=={version} could not be fetched", file=sys.stderr)
            for archive in target.glob("*"):
                unpack(archive)


def unpack(archive: Path) -> None:
    """Unpack a wheel or a source archive beside itself."""
    if archive.suffix in (".whl", ".zip"):
        zipfile.ZipFile(archive).extractall(archive.parent)
    elif archive.name.endswith((".tar.gz", ".tgz")):
        with tarfile.open(archive) as whole:
            whole.extractall(archive.parent, filter="data")


def import_path(library: Path) -> Path:
    """Return the folder of an unpacked library that belongs on Python's path."""
    (inner, *_) = [*(path.parent for path in library.glob("*/setup.py")), library]
    return inner / "src" if (inner / "src").is_dir() else inner


def environment_of(folder: Path) -> dict[str, str]:
    """Return the environment in which programs find the unpacked libraries.

    Further packages come from PYTHONPATH, or from the environment of this Python.
    """
    paths = [str(import_path(path)) for path in sorted(folder.iterdir()) if path.is_dir()]
    further = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    joined = [_ROOT, *paths, *(path for path in further if path and path != _ROOT)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(joined)}


def run_tests(folder: Path, chosen: list[str], limit: int, every: int, results: Path) -> int:
    """Run the tests that libraries ship, and print a table; return how many tests failed.

    The outcomes, with the reason of each failure, are written to `results`, a file by library.
    """
    results.mkdir(parents=True, exist_ok=True)
    program = str(Path(__file__).with_name("library_tests.py"))
    print(_TESTS.format("library", "files", "passed", "skipped", "failed"))
    failed = 0
    for library in sorted(path for path in folder.iterdir() if path.is_dir()):
        if (chosen and library.name.rpartition("-")[0] not in chosen) or not test_files(library):
            continue
        result = results / f"{library.name}.json"
        command = [sys.executable, "-W", "ignore", "-m", "gpugraph", "run", program]
        command += [str(library), str(result), "--limit", str(limit), "--every", str(every)]
        subprocess.run(command, env=environment_of(folder), stderr=subprocess.DEVNULL)
        outcomes = json.loads(result.read_text()).values()
        counts = [sum(outcome["counts"][key] for outcome in outcomes) for key in _OUTCOMES]
        print(_TESTS.format(library.name, len(outcomes), *counts), flush=True)
        failed += counts[-1]
    return failed


def programs_of_libraries() -> list[Path]:
    """Return the programs over libraries, the short ones first."""
    folder = Path(__file__).parent / "library_programs"
    kinds = ("*.py", "longer/*.py", "of_the_time/*.py", "networks/*.py")
    return [program for kind in kinds for program in sorted(folder.glob(kind))]


def run_programs(folder: Path, chosen: list[str]) -> int:
    """Run the programs with the unpacked libraries on the path; return how many failed."""
    environment = environment_of(folder)
    failed = 0
    for program in programs_of_libraries():
        if chosen and program.stem not in chosen:
            continue
        began = time.monotonic()
        command = [sys.executable, "-W", "ignore", "-m", "gpugraph", "run", str(program)]
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        print(f"{program.stem:32} {'runs' if result.returncode == 0 else 'FAILS':6}", end="")
        print(f"{time.monotonic() - began:6.0f} s", flush=True)
        if result.returncode:
            failed += 1
            print("\n".join(result.stderr.splitlines()[-8:]))
    return failed


def report_calls(folder: Path, is_listed: bool) -> int:
    """Print how many calls the functions here accept. Return how many faults have no reason."""
    calls: Counter[Call] = Counter()
    users: dict[Call, set[str]] = defaultdict(set)
    for file in _sources(folder):
        read = read_calls(file).calls
        calls.update(read)
        for call in read:
            users[call].add(file.relative_to(folder).parts[0])
    faults: Counter[tuple[str, str]] = Counter()
    where: dict[tuple[str, str], set[str]] = defaultdict(set)
    for call, count in calls.items():
        if fault := fault_of_call(call):
            key = shown(call.path), fault
            faults[key] += count
            where[key] |= users[call]
    print(f"{calls.total()} calls of {len({call.path for call in calls})} names; ", end="")
    return _report_faults("calls", faults, where, is_listed)


def report_attributes(folder: Path, is_listed: bool) -> int:
    """Print how many attributes the classes here have. Return how many lack without a reason."""
    uses: Counter[tuple[str, str]] = Counter()
    users: dict[tuple[str, str], set[str]] = defaultdict(set)
    for file in _sources(folder):
        read = read_calls(file).attributes
        uses.update(read)
        for use in read:
            users[use].add(file.relative_to(folder).parts[0])
    missing = Counter({use: count for use, count in uses.items() if lacks(*use)})
    faults = Counter({(f"{shown(use[0])}.{use[1]}", "missing"): missing[use] for use in missing})
    where = {(f"{shown(use[0])}.{use[1]}", "missing"): users[use] for use in missing}
    print(f"{uses.total()} uses of {len(uses)} attributes; ", end="")
    return _report_faults("attributes", faults, where, is_listed)


def _report_faults(
    kind: str,
    faults: Counter[tuple[str, str]],
    where: dict[tuple[str, str], set[str]],
    is_listed: bool,
) -> int:
    """Print the faults of libraries with their reasons. Return how many faults have no reason.

    Args:
      faults: how often each (name, fault) occurs.
      where: the libraries in which each (name, fault) occurs.
    """
    reasons = {
        key: [reason_for(kind, library, key[0]) for library in sorted(where[key])] for key in faults
    }
    unknown = [key for key in faults if not all(reasons[key])]
    print(f"{faults.total()} are not accepted, of {len(faults)} kinds; ", end="")
    print(f"{sum(faults[key] for key in unknown)} without a reason")
    for key, count in faults.most_common():
        if is_listed or key in unknown:
            text = ", ".join(sorted(where[key])[:4])
            print(f"{count:5} {key[0]}: {key[1]}  [{text}] {'; '.join(sorted({*reasons[key]}))}")
    return sum(faults[key] for key in unknown)


def _sources(folder: Path) -> list[Path]:
    """Return the sources of all libraries below a folder, which may be links."""
    libraries = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    files = [file for library in libraries for file in sorted(library.rglob("*.py"))]
    return [file for file in files if not is_test(file)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    names = commands.add_parser("names", help="count the names that libraries ask for")
    names.add_argument("folder", type=Path)
    names.add_argument("--list", choices=("missing", "refused", "other"))
    names.add_argument("--tensorflow", type=Path, help="1.15's unpacked wheel")
    names.add_argument("--by", choices=("name", "library"), default="name")
    for command in ("calls", "attributes"):
        mode = commands.add_parser(command, help=f"compare {command} with those here")
        mode.add_argument("folder", type=Path)
        mode.add_argument("--list", action="store_true")
    fetch = commands.add_parser("install", help="fetch and unpack the libraries")
    fetch.add_argument("folder", type=Path)
    fetch.add_argument("libraries", nargs="*")
    run = commands.add_parser("run", help="run the programs over the libraries")
    run.add_argument("folder", type=Path)
    run.add_argument("programs", nargs="*")
    shipped = commands.add_parser("test", help="run the tests that the libraries ship")
    shipped.add_argument("folder", type=Path)
    shipped.add_argument("libraries", nargs="*")
    shipped.add_argument("--limit", type=int, default=120, help="processor seconds for each file")
    shipped.add_argument("--every", type=int, default=1, help="run one file in so many")
    shipped.add_argument("--results", type=Path, default=Path("library_test_results"))
    options = parser.parse_args()
    if options.command == "test":
        arguments = options.limit, options.every, options.results
        return int(run_tests(options.folder, options.libraries, *arguments) > 0)
    if options.command == "run":
        return run_programs(options.folder, options.programs)
    if options.command == "install":
        install(options.folder, options.libraries)
        return 0
    install_answers()
    if options.command in ("calls", "attributes"):
        reporter = report_calls if options.command == "calls" else report_attributes
        return int(bool(reporter(options.folder, options.list)))
    version_1 = Version1(options.tensorflow) if options.tensorflow else None
    folders = sorted(path for path in options.folder.iterdir() if path.is_dir())
    libraries = {path.name: read_library(path, version_1) for path in folders}
    report(libraries, options.list, options.by)
    return int(any(asked.missing for asked in libraries.values()))


if __name__ == "__main__":
    sys.exit(main())
