"""Every declared op by gpugraph and by TensorFlow: values, dtypes, shapes, gradients, twice.

    python ci/against_tensorflow/every_op.py --tensorflow PYTHON [--draws 2] [--only OP ...]

Cases are drawn from the samples of tests/ops (`op_cases.py`). Gradients are taken along random
directions; the second ones by the inputs and by the incoming gradients. With --special, some
elements of real inputs are NaN, infinities and zeros of both signs instead, and only values are
compared, with the signs of zeros; 4 draws hold all kinds. For each op type it prints how many
cases there are and how many compared, and the largest differences of values, first and second
gradients, in units of the last place of an array's largest element. It fails where something
differs by more than LIMITS, or in kind, without a reason in `known_differences.py`.
"""

from __future__ import annotations

import argparse
import importlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from known_differences import APART, SINGLE, reason
from op_cases import Answer, Case, answer, blank, draw, is_inexact
from sides import ROOT, add_options, library, python_of_tensorflow, side_environment

LIMITS = {"values": 32.0, "first": 128.0, "second": 1024.0}
"""How far results may be apart, in units of the last place of the largest element."""

SECONDS = 30
"""A side that computes longer at one case is ended, as if the case crashed it."""


AnswerAll = Callable[[Any, Any, list[Case], BinaryIO], None]
"""`answer_all(tf, make, cases, file)` pickles the answer to each case into the file."""


# -- one side


def _name(case: Case) -> str:
    """Return a node's name: no name begins as some op types do."""
    return str(case["op"]).lstrip("_")


def _make_graph_older(tf: Any, deprecation: Any) -> None:
    """Return the graph the version of the last producer that had a deprecated op type."""
    if deprecation.version:
        graph_def = tf.GraphDef()
        graph_def.versions.producer = deprecation.version - 1
        tf.import_graph_def(graph_def)


def _by_gpugraph(tf: Any, case: Case, inputs: list[Any], attrs: dict[str, Any]) -> list[Any]:
    declared = importlib.import_module("gpugraph.ops.framework.op_declaration").DECLARATIONS
    messages = importlib.import_module("gpugraph.graph.client.node_messages")
    op_def = messages.op_def_message(declared[case["op"]].op_def)
    _make_graph_older(tf, op_def.deprecation)
    output = getattr(tf.raw_ops, case["op"])(*inputs, **attrs, name=_name(case))
    return list(output) if isinstance(output, (list, tuple)) else [output]


def _by_tensorflow(tf: Any, case: Case, inputs: list[Any], attrs: dict[str, Any]) -> list[Any]:
    """By NodeDef, so that ops without a function of their own are there too."""
    registry, op_def_library = map(
        importlib.import_module,
        (f"tensorflow.python.framework.op_def_{item}" for item in ("registry", "library")),
    )
    op_def = registry.get(case["op"])
    if op_def is None:
        raise NotImplementedError(f"TensorFlow has no op type {case['op']}")
    _make_graph_older(tf, op_def.deprecation)
    named = dict(zip((arg.name for arg in op_def.input_arg), inputs))
    for arg in op_def.input_arg:
        if arg.name not in named and arg.number_attr:
            named[arg.name] = []  # outputs of later versions of the op only
    implied = {
        name
        for arg in op_def.input_arg
        for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)
    }
    named |= {attr.name: attrs.get(attr.name) for attr in op_def.attr if attr.name not in implied}
    output = op_def_library.apply_op(case["op"], **named, name=_name(case))
    return list(output) if isinstance(output, (list, tuple)) else [output]


def one_side(side: str, folder: Path, answer_all: AnswerAll | None = None) -> None:
    """Answers all cases, and writes each answer down at once: a case may crash the process."""
    tf = library(side)
    make = _by_gpugraph if side == "gpugraph" else _by_tensorflow
    answer_all = answer_all or _answer_all
    for path in sorted(folder.glob("*.cases")):
        cases, target = pickle.loads(path.read_bytes()), path.with_suffix(f".{side}")
        begun, count = target.exists(), len(answers(target))
        if count == len(cases):
            continue
        with target.open("ab") as file:
            if begun:  # and not finished: by this case
                pickle.dump(blank("it crashes"), file)
                file.flush()
                count += 1
            answer_all(tf, make, cases[count:], file)


def _answer_all(tf: Any, make: Any, cases: list[Case], file: BinaryIO) -> None:
    """In one graph, until something is refused: TensorFlow runs no graph that has that in it."""
    rest = iter(cases)
    result: Answer | None = blank("")
    while result is not None:
        with tf.Graph().as_default(), tf.Session() as session:
            for case in rest:
                signal.alarm(SECONDS)
                result = answer(tf, make, case, session)
                pickle.dump(result, file)
                file.flush()
                if result["error"] or any(_refused(result[what]) for what in LIMITS):
                    break
            else:
                result = None


def answers(path: Path) -> list[Answer]:
    """Return the answers that a side has written so far."""
    result = []
    if path.exists():
        with path.open("rb") as file:
            while file.peek(1):
                result.append(pickle.load(file))
    return result


def run_to_the_end(python: str, script: str, side: str, folder: Path) -> None:
    """Run a side of a script, again after each case that crashes it."""
    done = -1
    while True:
        command = [python, script, "--side", side, str(folder)]
        env = {**side_environment(), "TF_ENABLE_ONEDNN_OPTS": "0"}  # whose pooling crashes
        ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        if ran.returncode == 0:
            return
        before, done = done, sum(len(answers(path)) for path in folder.glob(f"*.{side}"))
        if before == done:
            raise SystemExit(f"the side of {side} failed:\n{ran.stderr[-4000:]}")


# -- comparing


class Found(NamedTuple):
    """The result of one case: the differences, their size, or why it can't be compared."""

    differs: list[str]
    apart: dict[str, float]
    skipped: str = ""


def distance(
    one: Any, other: Any, least: float = 0.0, single: bool = False, signs: bool = False
) -> float | str:
    """Return the distance between two arrays; in words where they differ in kind.

    least: the minimum for the largest element, where the array is a remainder of others.
    single: whether the units are those of float32, whatever the arrays are.
    signs: whether zeros of different signs differ, of real numbers.
    """
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype != other.dtype and "O" not in (one.dtype.kind, other.dtype.kind):
        return f"{one.dtype} instead of {other.dtype}"
    if one.shape != other.shape:
        return f"shape {one.shape} instead of {other.shape}"
    if not is_inexact(one):
        return 0.0 if one.tolist() == other.tolist() else "other values"
    eps, tiny = _units(one.dtype)
    if one.dtype.name == "bfloat16":
        one, other = one.astype(np.float32), other.astype(np.float32)
    with np.errstate(all="ignore"):
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        if signs and one.dtype.kind != "c":
            zeros = (one == 0) & (other == 0) & (np.signbit(one) != np.signbit(other))
            if zeros.any():
                return f"{one[zeros][0]} instead of {other[zeros][0]}"
        if same.all():
            return 0.0
        unlike = ~same & ~(np.isfinite(one) & np.isfinite(other))
        if unlike.any():
            return f"{one[unlike][0]} instead of {other[unlike][0]}"
        wide = np.complex128 if one.dtype.kind == "c" else np.float64
        finite = np.abs(other[np.isfinite(other)].astype(wide))
        scale = max(float(finite.max(initial=0)), least, tiny)
        away = np.abs(one[~same].astype(wide) - other[~same].astype(wide)).max()
        unit = max(eps, float(np.finfo(np.float32).eps) if single else 0.0)
        return float(away / (scale * unit))


def _units(dtype: Any) -> tuple[float, float]:
    """Return the distance from 1 to the next number, and the smallest normal number."""
    if dtype.name == "bfloat16":
        return 2.0**-7, 2.0**-126
    return float(np.finfo(dtype).eps), float(np.finfo(dtype).tiny)


def compare(case: Case, ours: Answer, theirs: Answer) -> Found:
    """Holds one answer against the other."""
    if ours["error"] or theirs["error"]:
        if ours["error"] and theirs["error"]:
            return Found([], {}, "both refuse")
        if theirs["error"]:
            return Found([], {}, f"TensorFlow refuses: {_shortened(theirs['error'])}")
        return Found([f"only gpugraph refuses: {ours['error'][:200]}"], {})
    differs: list[str] = []
    apart: dict[str, float] = {}
    skipped = ""
    for what in ("values", "first", "second"):
        if _undeclared(theirs[what]):
            if not _undeclared(ours[what]):
                skipped = f"its {what} gradients: TensorFlow declares none"
            break
        if _refused(theirs[what]):
            skipped = f"its {what} gradients: TensorFlow {_shortened(theirs[what])}"
            break
        for index, (one, other) in enumerate(_pairs(ours[what], theirs[what], what, differs)):
            if (one is None) != (other is None):
                value = other if one is None else one
                if np.any(np.asarray(value) != 0):
                    whose = "TensorFlow" if one is None else "gpugraph"
                    differs.append(f"{what}: only {whose} has one by {index}")
                continue
            if one is None:
                continue
            least = 0.0 if what == "values" else 0.01
            away = distance(one, other, least, case["op"] in SINGLE, case["special"])
            if isinstance(away, str):
                differs.append(f"{what} {index}: {away}")
            else:
                apart[what] = max(apart.get(what, 0.0), away)
    for one, other in zip(ours["shapes"], theirs["shapes"]):
        if other is not None and not _knows(one, other):
            differs.append(f"inferred shape {one} instead of {other}")
    differs += [f"{what}: {away:.0f} ulps" for what, away in apart.items() if away > LIMITS[what]]
    return Found(differs, apart, skipped)


def _refused(answered: Any) -> bool:
    return isinstance(answered, str) and answered.startswith("refused")


def _undeclared(answered: Any) -> bool:
    return isinstance(answered, str) and answered.startswith("LookupError")


def _shortened(error: str) -> str:
    """Return an error of TensorFlow without the node's name and all its attrs."""
    return re.sub(r" (used by|for) ('?\{\{|'\w+/).*|_\d+\b|Forward operation.*", "", error)[:150]


def _knows(one: list[int | None] | None, other: list[int | None]) -> bool:
    """Return whether an inferred shape implies another one."""
    if one is None or len(one) != len(other):
        return False
    return all(b is None or a == b for a, b in zip(one, other))


def _pairs(ours: Any, theirs: Any, what: str, differs: list[str]) -> Iterator[tuple[Any, Any]]:
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            differs.append(f"{what}: {len(ours)} instead of {len(theirs)}")
        yield from zip(ours, theirs)
    elif isinstance(ours, list) and any(item is not None and np.any(item) for item in ours):
        if theirs is None or isinstance(theirs, str):
            differs.append(f"{what}: TensorFlow has none{f' ({theirs})' if theirs else ''}")
    elif isinstance(theirs, list) and any(item is not None and np.any(item) for item in theirs):
        differs.append(f"{what}: gpugraph has none{f' ({ours})' if ours else ''}")


def report(folder: Path) -> int:
    """Prints the table; 1 where something differs without a known reason."""
    faults = compared = total = 0
    print(f"{'op type':34} {'cases':>5} {'equal':>5}  {'values':>8} {'first':>8} {'second':>8}")
    notes: list[str] = []
    for path in sorted(folder.glob("*.cases")):
        cases = pickle.loads(path.read_bytes())
        sides = [answers(path.with_suffix(f".{side}")) for side in ("gpugraph", "tensorflow")]
        op_type = path.stem
        result = [compare(case, *both) for case, both in zip(cases, zip(*sides), strict=True)]
        total += len(result)
        compared += sum(bool(comparison.apart) for comparison in result)
        worst = {
            what: max((comparison.apart.get(what, -1.0) for comparison in result), default=-1.0)
            for what in LIMITS
        }
        cells = " ".join(f"{item:8.1f}" if item >= 0 else f"{'-':>8}" for item in worst.values())
        equal = sum(bool(comparison.apart) and not comparison.differs for comparison in result)
        print(f"{op_type:34} {len(result):5} {equal:5}  {cells}")
        faults += _explain(op_type, cases, result, notes)
    print("\n" + "\n".join(notes))
    print(f"\n{compared} of {total} cases compared; differences without a reason: {faults}")
    return int(faults > 0)


def _explain(op_type: str, cases: list[Case], result: list[Found], notes: list[str]) -> int:
    """Note each difference or omission once, and return how many have no reason."""
    faults = 0
    skipped = Counter(comparison.skipped for comparison in result if comparison.skipped)
    for why, count in skipped.most_common(3):
        notes.append(f"{op_type}: {count} not compared: {why}")
    seen: Counter[str] = Counter()
    for case, item in zip(cases, result):
        for what in item.differs:
            kind = what.split(":")[0].split(" ")[0]
            why = reason(op_type, case["label"], what)
            kind = f"{kind} {why}"
            seen[kind] += 1
            faults += why is None
            if seen[kind] == 1:
                message = f"known: {why}" if why else "NO REASON"
                notes.append(f"{op_type} {case['label'][:90]}: {what} [{message}]")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--draws", type=int, default=2, help="how often each sample is moved")
    parser.add_argument(
        "--special", action="store_true", help="values of NaN, infinities and zeros of both signs"
    )
    parser.add_argument("--only", nargs="*", help="these op types")
    parser.add_argument("--dtype", default="", help="only cases with inputs or attrs of this dtype")
    options = parser.parse_args()
    if options.side:
        one_side(options.side[0], Path(options.side[1]))
        return 0
    python = python_of_tensorflow(options.tensorflow)
    sys.path.insert(0, str(ROOT))
    declarations = importlib.import_module("gpugraph.ops.framework.op_declaration").DECLARATIONS
    table = importlib.import_module("tests.ops.samples").TABLE
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for op_type in options.only or sorted(set(table) - set(APART)):
            cases = draw(op_type, declarations, table, options.draws, options.special)
            cases = [case for case in cases if re.search(rf"\b{options.dtype}\b", case["label"])]
            (folder / f"{op_type}.cases").write_bytes(pickle.dumps(cases))
        for side, program in (("gpugraph", sys.executable), ("tensorflow", python)):
            run_to_the_end(program, __file__, side, folder)
        status = report(folder)
    for op_type, why in APART.items():
        print(f"apart: {op_type}: {why}")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
