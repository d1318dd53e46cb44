"""Programs that both sides run, and their records: answers, errors, events and log lines.

A script defines programs by `@program`, each a function of the library (gpugraph, or TensorFlow
as TensorFlow 1) and a `Record`, and calls `main`. Answers are compared by key: numbers to 1e-5,
errors by class and first line, events by step, kind, tags and values.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import glob
import json
import logging
import math
import re
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sides import add_options, library, python_of_tensorflow, run_side

__all__ = ["Program", "Programs", "Record", "Varying", "adding_to", "main"]
__all__ += ["counting", "in_thread", "recorder", "run_new", "shapes", "until_the_end"]

SECONDS, TOLERANCE, WORDS = 240, 1e-5, 6
NEAR = 3e-5
"""The maximum relative or absolute difference of the numbers that `Record.near` records."""
THREADS_OF_GRPC = ("(_serve)", "(_run)")
"""How the names of threads end that serve and connect as long as the process lives."""
LINES_OF_2 = "Calling checkpoint listeners"
"""Start of lines of logs that 1.15 lacks."""


class Record:
    """A program's records, in order, by name."""

    def __init__(self, tf: Any, folder: Path) -> None:
        self.tf, self.folder = tf, folder
        self.answers: dict[str, Any] = {}

    def __call__(self, key: str, value: Any) -> None:
        """Record an answer."""
        if key in self.answers:
            raise KeyError(f"{key} is recorded twice")
        self.answers[key] = plain(value)

    def near(self, key: str, value: Any) -> None:
        """Record numbers of a longer computation, which are compared to `NEAR`."""
        self(key, ["near", value])

    def error(self, key: str, action: Callable[[], Any]) -> None:
        """Record the class and the first line of the action's error, or its result."""
        try:
            self(key, ["no error", str(action())[:80]])
        except Exception as error:  # any error is an answer
            line = getattr(error, "message", None) or str(error)
            self(key, ["error", self.class_of(error), self._hidden(first_line(line))])

    def class_of(self, error: Exception) -> str:
        """Return the name of an error's class, as programs catch it: Python's own, or of
        tf.errors.
        """
        errors = vars(self.tf.errors).values()
        known = (c for c in type(error).__mro__ if c.__module__ == "builtins" or c in errors)
        return next(known).__name__

    def events(self, key: str, folder: Path | str) -> None:
        """Record the events of a folder's files, in the order of the files' names."""
        self.tf.summary.FileWriterCache.clear()
        paths = sorted(glob.glob(f"{folder}/events*"))
        found = [
            event for path in paths for event in self.tf.train.summary_iterator(path)
        ]  # fmt: skip
        self(key, [line for event in found for line in event_lines(self.tf, event)])

    @contextlib.contextmanager
    def log(self, key: str) -> Iterator[None]:
        """Record the lines that are logged meanwhile, numbers of seconds left out."""
        lines: list[str] = []
        handler = logging.Handler()
        handler.emit = lambda entry: lines.append(entry.getMessage())  # type: ignore[method-assign]
        logger = self.tf.get_logger()
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
        kept = [line for line in lines if not line.startswith(LINES_OF_2)]
        self(key, [self._hidden(line) for line in kept])

    def _hidden(self, line: str) -> str:
        line = line.replace(str(self.folder), "FOLDER")
        return re.sub(r"\d+\.\d+ sec|sec: \d+(\.\d+)?(e[+-]\d+)?|\d+\.\d+ secs?", "SECONDS", line)


class Varying(NamedTuple):
    """An error of one class whose first line varies between runs of TensorFlow.

    own: gpugraph's line, in all runs. lines: the observed lines of TensorFlow.
    """

    own: str
    lines: Sequence[str]
    reason: str

    def explains(self, expected: Any, actual: Any) -> bool:
        """Return whether these are such errors, of the same class."""
        if not (is_error(expected) and is_error(actual)):
            return False
        is_known = expected[2] in self.lines and actual[2] == self.own
        return bool(expected[1] == actual[1]) and is_known


Explained = Mapping[str, str | Varying]
"""By program and key, why answers differ."""

Program = Callable[[Any, Record], None]
Programs = dict[str, Program]


def adding_to(programs: Programs) -> Callable[[Program], Program]:
    """Return a decorator that adds a program, under its function's name."""

    def add(function: Program) -> Program:
        programs[function.__name__] = function
        return function

    return add


def first_line(text: str) -> str:
    """Return the first line of an error, without addresses and numbers of private names.

    TensorFlow 2 writes where a node was made before the error itself, and numbers several errors.
    """
    _, _, later = str(text).partition("Graph execution error:")
    lines = (later or str(text)).strip().splitlines() or [""]
    starts = [number for number, line in enumerate(lines) if line.startswith("Node: ")]
    if later and starts:
        lines = lines[starts[-1] + 1 :]
    if "root error(s) found" in lines[0]:
        lines = lines[1:]
    line = re.sub(r"^\s*\(\d\) [A-Z_]+: ", "", lines[0])
    line = re.sub(r" at 0x[0-9a-f]+", "", line)
    return re.sub(r"'_\d+_", "'_N_", line)


def plain(value: Any) -> Any:
    """Return a value as JSON holds it."""
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "dense_shape"):  # of a SparseTensor, a named tuple on one side only
        return [plain(part) for part in (value.indices, value.values, value.dense_shape)]
    if isinstance(value, (list, tuple, set)):
        items = sorted(value) if isinstance(value, set) else value
        return [plain(item) for item in items]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def event_lines(tf: Any, event: Any) -> list[Any]:
    """Return the contents of an event, except for times."""
    kind = event.WhichOneof("what")
    if kind == "summary":
        return [[event.step, kind, *summary_line(tf, value)] for value in event.summary.value]
    if kind == "session_log":
        log = event.session_log
        return [[event.step, kind, int(log.status), Path(log.checkpoint_path).name]]
    if kind == "tagged_run_metadata":
        return [[event.step, kind, event.tagged_run_metadata.tag]]
    return [[event.step, kind]]


def summary_line(tf: Any, value: Any) -> list[Any]:
    """Tag, kind and content of a summary's value."""
    kind = value.WhichOneof("value")
    line = [value.tag, kind, value.metadata.plugin_data.plugin_name]
    if kind == "simple_value":
        # the rate of steps is another one each time
        return [*line, 0.0 if value.tag.endswith("/sec") else value.simple_value]
    if kind == "histo":
        histogram = value.histo
        numbers = [histogram.min, histogram.max, histogram.num, histogram.sum]
        return [*line, numbers, list(histogram.bucket_limit), list(histogram.bucket)]
    if kind == "image":
        with tf.Graph().as_default(), tf.Session() as session:
            pixels = session.run(tf.image.decode_png(value.image.encoded_image_string))
        return [*line, value.image.height, value.image.width, value.image.colorspace, plain(pixels)]
    if kind == "audio":
        audio = value.audio
        return [*line, audio.sample_rate, audio.num_channels, plain(audio.encoded_audio_string)]
    return [*line, plain(tf.make_ndarray(value.tensor))]


# -- shared by programs


def in_thread(record: Record, key: str, action: Callable[[], Any]) -> threading.Thread:
    """Return a thread that records the error, or the result, of an action."""
    thread = threading.Thread(target=lambda: record.error(key, action))
    thread.start()
    time.sleep(0.3)
    return thread


def shapes(tensors: Any) -> list[str]:
    """Return the static shapes of tensors, as text."""
    tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    return [str(tensor.get_shape()).replace("None", "?") for tensor in tensors]


def run_new(tf: Any, fetches: Any) -> Any:
    """Return the fetched values of a new session."""
    with tf.Session() as session:
        return session.run(fetches)


def counting(tf: Any) -> tuple[Any, Any]:
    """Return a global step, and an operation that counts it."""
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1, name="count")


def recorder(tf: Any, log: list[str], name: str = "", **actions: Callable[..., Any]) -> Any:
    """Return a hook that records its calls; `actions` are additional effects of its methods."""

    class Recorder(tf.train.SessionRunHook):  # type: ignore[misc, name-defined]
        """Records its calls."""

        def _note(self, method: str, *arguments: Any) -> Any:
            log.append(f"{name}{method}")
            return actions[method](*arguments) if method in actions else None

        def begin(self) -> Any:
            return self._note("begin")

        def after_create_session(self, session: Any, coord: Any) -> Any:
            return self._note("after_create_session", session, coord)

        def before_run(self, run_context: Any) -> Any:
            return self._note("before_run", run_context)

        def after_run(self, run_context: Any, run_values: Any) -> Any:
            return self._note("after_run", run_context, run_values)

        def end(self, session: Any) -> Any:
            return self._note("end", session)

    return Recorder()


def until_the_end(tf: Any, session: Any, fetches: Any) -> list[Any]:
    """Return the results of runs until the input ends."""
    results = []
    try:
        while True:
            results.append(session.run(fetches))
    except tf.errors.OutOfRangeError:
        return results


# -- one side


def run_programs(programs: Programs, side: str, folder: Path, only: Sequence[str]) -> None:
    """Run the programs, and write their records to a file of the folder."""
    tf = library(side)
    answers: dict[str, Any] = {}
    for name, function in programs.items():
        if only and name not in only:
            continue
        work = folder / side / name
        work.mkdir(parents=True)
        record = Record(tf, work)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        before = set(threading.enumerate())
        try:
            with tf.Graph().as_default():
                function(tf, record)
        except Exception as error:  # compared as any other answer
            place = traceback.extract_tb(error.__traceback__)[1].lineno
            record(
                "ended by", ["error", record.class_of(error), f"{place} {first_line(str(error))}"]
            )
        faulthandler.cancel_dump_traceback_later()
        left = [thread.name for thread in set(threading.enumerate()) - before if thread.is_alive()]
        left = [name for name in left if not name.endswith(THREADS_OF_GRPC)]
        record(
            "threads left", [name for name in left if not name.startswith(("EventLogger", "gpug"))]
        )
        answers[name] = record.answers
    (folder / f"{side}.json").write_text(json.dumps(answers))


# -- both sides


def difference(
    expected: Any, actual: Any, tolerances: tuple[float, float] = (TOLERANCE, 1e-7)
) -> str:
    """Return the first difference, or an empty string.

    Args:
      tolerances: the relative and the absolute tolerance of numbers.
    """
    if is_error(expected) and is_error(actual):
        return error_difference(expected, actual)
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return f"{expected} != {actual}"
        if expected[:1] == actual[:1] == ["near"]:
            return difference(expected[1], actual[1], (NEAR, NEAR))
        found = (difference(*pair, tolerances) for pair in zip(expected, actual))
        return next(filter(None, found), "")
    if isinstance(expected, dict) and isinstance(actual, dict):
        if list(expected) != list(actual):
            return f"{list(expected)} != {list(actual)}"
        return difference(list(expected.values()), list(actual.values()), tolerances)
    if isinstance(expected, float) and isinstance(actual, float):
        relative, absolute = tolerances
        same = math.isclose(expected, actual, rel_tol=relative, abs_tol=absolute)
        if same or (math.isnan(expected) and math.isnan(actual)):
            return ""
    elif type(expected) is type(actual) and expected == actual:
        return ""
    return f"{expected!r} != {actual!r}"


def is_error(value: Any) -> bool:
    """Return whether an answer is an error."""
    return isinstance(value, list) and len(value) == 3 and value[0] == "error"


def error_difference(expected: Sequence[str], actual: Sequence[str]) -> str:
    """Errors differ in class, or in their first words."""
    lines = [[word.strip(".,:") for word in line[2].split()] for line in (expected, actual)]
    count = min(WORDS, len(lines[0]))
    if expected[1] == actual[1] and lines[0][:count] == lines[1][:count]:
        return ""
    return f"{expected[1]}: {expected[2]}\n      != {actual[1]}: {actual[2]}"


def is_explained(reason: str | Varying | None, expected: Any, actual: Any) -> bool:
    """Return whether a difference is the one that a reason explains."""
    if isinstance(reason, Varying):
        return reason.explains(expected, actual)
    return reason is not None


def compare(
    expected: dict[str, Any], actual: dict[str, Any], explained: Explained, words: bool
) -> int:
    """Print a line for each program, and its differences, and return the number of those not
    explained.
    """
    bad = count = 0
    used: set[str] = set()
    for name, answers in expected.items():
        own = actual[name]
        keys = list(dict.fromkeys([*answers, *own]))
        found = {key: difference(answers.get(key), own.get(key)) for key in keys}
        open_keys = [
            key
            for key in keys
            if found[key]
            and not is_explained(explained.get(f"{name}: {key}"), answers.get(key), own.get(key))
        ]
        used |= {f"{name}: {key}" for key in keys if found[key]}
        count, bad = count + len(keys), bad + len(open_keys)
        known = sum(bool(text) for text in found.values()) - len(open_keys)
        print(f"{name:32} {len(keys):3} answers, {len(open_keys)} differ, {known} explained")
        for key in open_keys:
            print(f"    {key}: {found[key][:1500]}")
        for key in keys if words else ():
            pair = answers.get(key), own.get(key)
            if all(map(is_error, pair)) and pair[0][2] != pair[1][2]:
                print(f"    words of {key}:\n      {pair[0][2]}\n      {pair[1][2]}")
    constant = {key for key, reason in explained.items() if not isinstance(reason, Varying)}
    unused = sorted(key for key in constant - used if key.partition(":")[0] in expected)
    print(*(f"nothing differs in {key}" for key in unused), sep="\n")
    print(f"{len(expected)} programs, {count} answers, {bad} differences that nothing explains")
    return bad


def main(programs: Programs, explained: Explained, script: str, about: str) -> int:
    """Return the command line of a script of programs."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    add_options(parser)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", choices=programs)
    parser.add_argument("--words", action="store_true", help="show whole first lines that differ")
    options = parser.parse_args()
    if options.side:
        run_programs(programs, options.side[0], Path(options.side[1]), options.only)
        return 0
    tensorflow = python_of_tensorflow(options.tensorflow)
    only = [part for name in options.only for part in ("--only", name)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_side(tensorflow, script, "tensorflow", folder, *only)
        run_side(sys.executable, script, "gpugraph", folder, *only)
        sides = [json.loads((folder / f"{s}.json").read_text()) for s in ("tensorflow", "gpugraph")]
    return int(bool(compare(sides[0], sides[1], explained, options.words)))
