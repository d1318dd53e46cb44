"""Compare the errors that every sampled op raises at graph construction for shapes that do not fit.

    python ci/against_tensorflow/graph_errors.py --tensorflow PYTHON [--only OP ...]

The inputs of a sample are placeholders with static shapes; inputs that shape inference reads are
constants. Each in turn is changed as in `run_time_errors.py`: one dimension more or less, one
element more along the first or the last axis, no elements, integers out of range. Compared are
whether the graph can be built, the class of the error, and its words before the name of the node:
"Dimensions must be equal, but are 4 and 5". It prints the counts by kind, the commonest pairs of
words, and the cases by op type. The script fails if more cases differ than LIMITS say.
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
from pathlib import Path
from typing import Any, BinaryIO

from every_op import answers, one_side, run_to_the_end
from known_differences import APART
from op_cases import Case, as_attr, flat_outputs
from run_time_errors import cases_of
from sides import ROOT, add_options, library, python_of_tensorflow

LIMITS = {"acceptance": 1682, "class": 0, "words": 996}
"""How many cases may differ, by kind."""

_STRINGS = ("O", "S")
_NODE = re.compile(r" for (name )?'|\. Made at |, made at | \[Op:")
_NUMBERS = re.compile(r"\d+")


def _forked_side(side: str, folder: Path) -> int:
    """Answer in a child process, since some cases crash TensorFlow; the next one goes on."""
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
    """Return the error of the building of the graph; empty where there is none."""
    with warnings.catch_warnings(), tf.Graph().as_default():
        warnings.simplefilter("ignore")
        attrs = {key: as_attr(tf, value) for key, value in case["attrs"].items()}
        arguments = [
            [_tensor(tf, part, is_ref, is_constant) for part in source]
            if isinstance(source, list)
            else _tensor(tf, source, is_ref, is_constant)
            for source, is_ref, is_constant in zip(case["inputs"], case["refs"], case["constant"])
        ]
        try:
            flat_outputs(make(tf, case, arguments, attrs))
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
    return {"error": ""}


def _tensor(tf: Any, array: Any, is_ref: bool, is_constant: bool) -> Any:
    kind = tf.string if array.dtype.kind in _STRINGS else tf.as_dtype(array.dtype)
    if is_ref:
        return tf.raw_ops.VariableV2(shape=array.shape, dtype=kind)
    if is_constant:
        return tf.constant(array, kind)
    return tf.placeholder(kind, array.shape)


def words_of(error: str) -> str:
    """Return the words of an error before the name of the node."""
    message = " ".join(error.partition(": ")[2].split())
    return _NODE.split(message)[0].rstrip(".")


def difference(ours: str, theirs: str) -> str | None:
    """Return the kind of the difference of two errors, None if they agree."""
    if not ours and not theirs:
        return None
    if not ours or not theirs:
        return "acceptance"
    if ours.partition(":")[0] != theirs.partition(":")[0]:
        return "class"
    return None if words_of(ours).startswith(words_of(theirs)) else "words"


def is_left_out(theirs: str) -> bool:
    """Return whether TensorFlow has no such op type, dtype or attr, or crashes."""
    return theirs.startswith(("NotImplementedError", "TypeError")) or "crashes" in theirs


def report(folder: Path, limit: int) -> bool:
    """Print the differences and the counts; return whether there are too many."""
    counts, total, refused, left_out = Counter[str](), 0, 0, 0
    pairs: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for path in sorted(folder.glob("*.cases")):
        cases = pickle.loads(path.read_bytes())
        sides = [answers(path.with_suffix(f".{side}")) for side in ("gpugraph", "tensorflow")]
        shown = 0
        for case, ours, theirs in zip(cases, *sides, strict=True):
            one, other = ours["error"], theirs["error"]
            if is_left_out(other):
                left_out += 1
                continue
            total, refused = total + 1, refused + bool(other)
            kind = difference(one, other)
            if kind is None:
                continue
            counts[kind] += 1
            texts = [_NUMBERS.sub("N", words_of(text)) or "accepted" for text in (one, other)]
            pairs[kind][texts[0], texts[1]] += 1
            if shown < limit:
                shown += 1
                print(f"{kind:10} {path.stem} {case['label'][:40]} | {case['change']}:")
                print(f"    {one or 'accepted'}\n    {other or 'accepted'}"[:700])
    for kind, counter in pairs.items():
        for (one, other), count in counter.most_common(40):
            print(f"{count:4} times {kind}: {one[:150]} | {other[:150]}")
    print(f"{left_out} cases left out: TensorFlow has no such op, dtype or attr, or crashes")
    found = ", ".join(f"{kind} {counts[kind]}" for kind in LIMITS)
    print(f"{total} cases, of which TensorFlow refuses {refused}; differ: {found}")
    return any(counts[kind] > bound for kind, bound in LIMITS.items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--samples", type=int, default=2, help="how many samples of an op type")
    parser.add_argument("--only", nargs="*", help="these op types")
    parser.add_argument("--limit", type=int, default=3, help="how many cases of a type to print")
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
        return int(report(folder, options.limit))


if __name__ == "__main__":
    raise SystemExit(main())
