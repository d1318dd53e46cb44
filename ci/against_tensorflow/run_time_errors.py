"""Compare the errors that every sampled op raises in a run for inputs that do not fit.

    python ci/against_tensorflow/run_time_errors.py --tensorflow PYTHON [--only OP ...]

Each input of a sample is fed through a placeholder of unknown shape, so that nothing can be refused
while the graph is built. Each in turn is changed: one dimension more or less, one element more
along the first or the last axis, no elements, and, of integers, all of them large or negative.
Compared are whether a run accepts that, the class of the error, and its first words: those before
a value, a shape or a name. It prints the counts and the cases by op type, and fails where a case
differs without a reason in `known_run_time_differences.py`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pickle
import re
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from every_op import answers, one_side, run_to_the_end
from known_differences import APART
from known_run_time_differences import reason
from op_cases import Case, as_attr, draw, flat_outputs, said
from sides import ROOT, add_options, library, python_of_tensorflow

LARGE, NEGATIVE = 99, -7
LONG = 10
"""Length of the first words that identify a check."""

KINDS = ("acceptance", "class", "words")
_FIRST_WORDS = re.compile(r"[^\[\]{}():'\"\d<>=]*")
_STRINGS = ("O", "S")


# -- cases


def changes(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (change, changed array) of an input."""
    yield "rank + 1", array[np.newaxis]
    if not array.size:
        return
    if array.ndim:
        yield "rank - 1", array.reshape(-1) if array.ndim > 1 else array[0, ...]
        yield "no rows", array[:0]
    for axis in sorted({0, array.ndim - 1} if array.ndim else ()):
        longer = np.concatenate([array, array.take([0], axis)], axis)
        yield f"axis {axis} longer", longer
    if array.dtype.kind in "iu":
        yield "large", np.full_like(array, LARGE)
    if array.dtype.kind == "i":
        yield "negative", np.full_like(array, NEGATIVE)


def misfits(case: Case) -> Iterator[Case]:
    """Yield the case with one of its inputs changed, in all ways."""
    for place, (source, is_ref) in enumerate(zip(case["inputs"], case["refs"])):
        if is_ref:
            continue
        first = source[0] if isinstance(source, list) else source
        if isinstance(source, list) and not source:
            continue
        for change, array in changes(np.asarray(first)):
            inputs = list(case["inputs"])
            inputs[place] = [array, *source[1:]] if isinstance(source, list) else array
            yield {**case, "inputs": inputs, "change": f"{case['names'][place]}: {change}"}


def cases_of(op_type: str, declarations: Any, table: Any, samples: int) -> list[Case]:
    """Return the misfits of the first samples whose attrs and ranks differ."""
    seen, result = set(), []
    for case in draw(op_type, declarations, table, 0):
        shapes = [
            [np.ndim(item) for item in source] if isinstance(source, list) else np.ndim(source)
            for source in case["inputs"]
        ]
        key = str((sorted(case["attrs"].items(), key=str), shapes))
        if key not in seen and len(seen) < samples:
            seen.add(key)
            result += misfits(case)
    return result


# -- one side


def _forked_side(side: str, folder: Path) -> int:
    """Answer in a child process, since many cases crash TensorFlow; the next one goes on."""
    library(side)
    status, done = 1, -1
    while status and done != (done := sum(len(answers(path)) for path in folder.glob(f"*.{side}"))):
        child = os.fork()
        if not child:
            one_side(side, folder, _answer_all)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
    return int(status != 0)


def _answer_all(tf: Any, make: Any, cases: list[Case], file: BinaryIO) -> None:
    for case in cases:
        pickle.dump(_answer(tf, make, case), file)
        file.flush()


def _answer(tf: Any, make: Any, case: Case) -> dict[str, Any]:
    """The error of a run, or of the building of the graph; empty where there is none."""
    config = tf.ConfigProto(operation_timeout_in_ms=10_000)
    stage = "build"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with tf.Graph().as_default(), tf.Session(config=config) as session:
                outputs, starts, feeds = _built(tf, make, case)
                stage = "run"
                session.run(starts)
                session.run([getattr(item, "op", item) for item in outputs], feeds)
        except Exception as error:
            return {"error": said(error), "stage": stage}
    return {"error": "", "stage": stage}


def _built(tf: Any, make: Any, case: Case) -> tuple[list[Any], list[Any], dict[Any, Any]]:
    attrs = {key: as_attr(tf, value) for key, value in case["attrs"].items()}
    arguments, starts, feeds = [], [], {}
    for source, is_ref in zip(case["inputs"], case["refs"]):
        tensors = []
        for array in source if isinstance(source, list) else [source]:
            kind = tf.string if array.dtype.kind in _STRINGS else tf.as_dtype(array.dtype)
            if is_ref:
                tensors.append(tf.raw_ops.VariableV2(shape=array.shape, dtype=kind))
                starts.append(tf.assign(tensors[-1], tf.constant(array, kind)))
            else:
                tensors.append(tf.placeholder(kind))
                feeds[tensors[-1]] = array
        arguments.append(tensors if isinstance(source, list) else tensors[0])
    return flat_outputs(make(tf, case, arguments, attrs)), starts, feeds


# -- comparing


def first_words(error: str) -> str:
    """Return the words of an error that come before a value, a shape or a name."""
    message = error.partition(": ")[2]
    return " ".join(_FIRST_WORDS.match(message)[0].split()).lower()  # type: ignore[index]


def is_left_out(theirs: dict[str, Any]) -> bool:
    """Return whether TensorFlow has no op type, dtype or attr for the case, or crashes."""
    error, stage = theirs["error"], theirs.get("stage")
    return bool(error) and (stage != "run" or "No OpKernel was registered" in error)


def difference(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[str, str] | None:
    """Return (kind, difference) of the answers to a case; None where they agree."""
    one, other = ours["error"], theirs["error"]
    if not one and not other:
        return None
    if not one or not other:
        return "acceptance", f"{one or 'accepted'}, not {other or 'accepted'}"
    if one.partition(":")[0] != other.partition(":")[0]:
        return "class", f"{one}, not {other}"
    words = first_words(other)
    if first_words(one) != words and not (
        len(words) >= LONG and first_words(one).startswith(words)
    ):
        return "words", f"{one}, not {other}"
    return None


def words_of_wheel(folder: Path | None) -> str | None:
    """Return all text in the library of TensorFlow 1.15, in lower case; None without a wheel."""
    if folder is None:
        return None
    (library_file,) = folder.rglob("_pywrap_tensorflow_internal.so")
    text = b"\n".join(re.findall(rb"[ -~]{6,}", library_file.read_bytes()))
    return " ".join(text.decode("ascii").lower().split(" "))


@lru_cache(None)
def _stands_in(words: str, part: str) -> bool:
    return part in words


def is_later(words: str | None, kind: str, ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Return whether 1.15 has gpugraph's words, and not those of the later TensorFlow."""
    if words is None:
        return False
    known = [_stands_in(words, first_words(item["error"])) for item in (ours, theirs)]
    if len(first_words(theirs["error"])) < LONG or known[1]:
        return False
    return not ours["error"] if kind == "acceptance" else kind == "class" or known[0]


def report(folder: Path, limit: int, words: str | None = None) -> int:
    """Print the differences by op type, and the counts, and return how many have no reason."""
    counts, explained, refused, total, unbuilt = Counter[str](), Counter[str](), 0, 0, 0
    for path in sorted(folder.glob("*.cases")):
        cases = pickle.loads(path.read_bytes())
        sides = [answers(path.with_suffix(f".{side}")) for side in ("gpugraph", "tensorflow")]
        by_kind: dict[str, list[str]] = defaultdict(list)
        for case, ours, theirs in zip(cases, *sides, strict=True):
            if is_left_out(theirs):
                unbuilt += 1
                continue
            total += 1
            refused += bool(theirs["error"])
            differs = difference(ours, theirs)
            if differs is None:
                continue
            kind, what = differs
            why = reason(path.stem, case["change"], kind, what)
            if is_later(words, kind, ours, theirs):
                why = "TensorFlow 1.15 does not say that"
            if why is not None:
                explained[why] += 1
                continue
            counts[kind] += 1
            by_kind[kind].append(f"{case['label'][:60]} | {case['change']}: {what}")
        for kind in KINDS:
            for line in by_kind[kind][:limit]:
                print(f"{kind:10} {path.stem} {line}")
    for why, count in explained.most_common():
        print(f"known, {count} times: {why}")
    print(f"{unbuilt} cases left out: TensorFlow has no such op, dtype or attr, or crashes")
    print(f"{total} cases, of which TensorFlow refuses {refused}; without a reason differ", end="")
    print("".join(f" {kind} {counts[kind]}" for kind in KINDS))
    return counts.total()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--samples", type=int, default=2, help="how many samples of an op type")
    parser.add_argument("--only", nargs="*", help="these op types")
    parser.add_argument("--limit", type=int, default=10, help="lines of an op type and kind")
    parser.add_argument("--wheel", type=Path, help="an unpacked wheel of 1.15")
    parser.add_argument("--keep", type=Path, help="a folder for TensorFlow's answers, to reuse")
    options = parser.parse_args()
    if options.side:
        return _forked_side(options.side[0], Path(options.side[1]))
    python = python_of_tensorflow(options.tensorflow)
    sys.path.insert(0, str(ROOT))
    declarations = importlib.import_module("gpugraph.ops.framework.op_declaration").DECLARATIONS
    table = importlib.import_module("tests.ops.samples").TABLE
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(exist_ok=True)
        for op_type in options.only or sorted(set(table) - set(APART)):
            cases = cases_of(op_type, declarations, table, options.samples)
            (folder / f"{op_type}.cases").write_bytes(pickle.dumps(cases))
        for path in folder.glob("*.gpugraph"):
            path.unlink()
        for side, program in (("gpugraph", sys.executable), ("tensorflow", python)):
            run_to_the_end(program, __file__, side, folder)
        return int(report(folder, options.limit, words_of_wheel(options.wheel)) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
