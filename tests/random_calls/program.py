"""Makes random wrong calls and prints those with a wrong outcome.

    python -m tests.random_calls.program SEED COUNT

Half of them are calls of public functions, half are ops on wrong inputs; their results are run.
Each succeeds, or raises an error of TensorFlow's classes, within seconds. The process's memory is
limited, so that a size too large is an error here as well, and a crash ends only this process.
"""

from __future__ import annotations

import contextlib
import io
import random
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import gpugraph as tf

from .op_runs import random_run
from .public_calls import public_functions, random_call

SECONDS = 20
"""Time limit of a call, on a machine that has other work too."""

MEMORY = 3 << 29
"""Bytes that the calls may use, beside the program's own use at first."""


WORDS: dict[type[Exception], tuple[str, ...]] = {
    AssertionError: ("communication must be a CollectiveCommunication", "No duplicates allowed"),
    KeyError: ("not in the graph",),
    ModuleNotFoundError: ("need the package", "needs the package"),
    OSError: ("SavedModel file does not exist",),
    RuntimeError: (
        *("The Session graph is empty", "Graph is finalized and cannot be modified"),
        "Unexpected write_version",
        *("Mismatching ReplicaContext", "Need to be inside", "Mixing different tf.distribute"),
    ),
}
"""Of Python's errors that TensorFlow raises as well, its words; and those of missing extras."""


class HangError(BaseException):
    """A call took too long."""


def fetchable(value: Any, depth: int = 100) -> list[Any]:
    """Return the tensors and operations in a function's result, up to a depth."""
    if isinstance(value, (tf.Tensor, tf.Operation, tf.SparseTensor, tf.IndexedSlices)):
        return [value]
    if isinstance(value, (list, tuple)) and depth:
        return [item for part in value for item in fetchable(part, depth - 1)]
    return []


def is_tensorflows(error: Exception) -> bool:
    """Return whether TensorFlow raises errors of this very class for a program's mistakes."""
    if isinstance(error, tf.errors.OpError):
        return not isinstance(error, tf.errors.UnknownError)
    if type(error) in WORDS:
        return any(words in str(error) for words in WORDS[type(error)])
    module = type(error).__module__.partition(".")[0]  # NumPy's own refuse comparisons
    plain = type(error) in (TypeError, ValueError, NotImplementedError)
    return plain or (module in ("gpugraph", "numpy") and isinstance(error, (TypeError, ValueError)))


def fault_of(make: Callable[[], tuple[str, Callable[[], Any]]]) -> str:
    """Return the arguments and the traceback of a call that does not end as it should; "" for
    others.
    """
    text = ""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        try:
            text, call = make()
            fetches = fetchable(call())
            if fetches and not graph.finalized:  # as sessions of trainings leave it
                session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
                session.run(fetches)
        except HangError:
            return f"({text})\n{traceback.format_exc()}"
        except Exception as error:
            return "" if is_tensorflows(error) else f"({text})\n{traceback.format_exc()}"
    return ""


def main(seed: int, count: int) -> int:
    """Return the number of faults."""
    chance = random.Random(seed)
    functions = list(public_functions().items())
    faults = 0
    for index in range(count):
        if index % 2:
            name, make = random_run(chance)
        else:
            name, make = random_call(chance, *chance.choice(functions))
        print(name, file=sys.stderr, flush=True)  # the last line, after a crash
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            fault = fault_of(make)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if fault:
            faults += 1
            print(f"=== {index}: {name}{fault}", flush=True)
    print(f"{count} calls, {faults} faults")
    return faults


def _limit_memory() -> None:
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def _hang(*_: Any) -> None:
    raise HangError


if __name__ == "__main__":
    with contextlib.suppress(OSError):  # a system without /proc
        _limit_memory()
    signal.signal(signal.SIGALRM, _hang)
    warnings.simplefilter("ignore")
    sys.exit(min(1, main(int(sys.argv[1]), int(sys.argv[2]))))
