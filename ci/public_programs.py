"""Reports which calls of public TensorFlow 1 programs run, and which are refused or fail.

    python ci/public_programs.py [--list]

`ci/public_calls.txt` has the calls, in the argument forms that programs use. Each is built in a
separate graph, as `tf` of a program, and its tensors are run. `--list` prints all calls that do
not run, with the errors. The exit status is 1 if a call fails in another way than by a refusal.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import gpugraph

CALLS = Path(__file__).parent / "public_calls.txt"


def calls() -> list[str]:
    """Return the expressions of the list."""
    lines = CALLS.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def values(tf: Any) -> dict[str, Any]:
    """Return the names that the expressions use."""
    random = np.random.RandomState(0)
    return {
        "tf": tf,
        "x": tf.constant(random.rand(4, 6).astype(np.float32)),
        "y": tf.constant(random.rand(4, 6).astype(np.float32)),
        "i": tf.constant([0, 1, 2, 1], tf.int32),
        "img": tf.constant(random.rand(2, 8, 8, 3).astype(np.float32)),
        "seq": tf.constant(random.rand(4, 5, 6).astype(np.float32)),
        "n": tf.constant([5, 3, 4, 2], tf.int32),
        "cell": tf.nn.rnn_cell.BasicLSTMCell(7),
        "v": tf.get_variable("v", [4, 6]),
    }


def run(tf: Any, call: str) -> None:
    """Build a call in a new graph and run its tensors; raise what it raises."""
    with tf.Graph().as_default(), tf.Session() as session:
        result = eval(call, values(tf))
        flat = tf.contrib.framework.nest.flatten(result)
        fetches = [each for each in flat if isinstance(each, (tf.Tensor, tf.Operation))]
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(tf.tables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        session.run(fetches)
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=5)


def outcome(tf: Any, call: str) -> tuple[str, str]:
    """Return "runs", "refused", "missing" or "fails", and the error."""
    try:
        run(tf, call)
    except NotImplementedError as error:
        return "refused", str(error)
    except AttributeError as error:
        return "missing", str(error)
    except Exception as error:
        return "fails", f"{type(error).__name__}: {error}"
    return "runs", ""


def main() -> int:
    """Run all calls and print the counts; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--list", action="store_true", help="print the calls that do not run")
    settings = parser.parse_args()
    counts: Counter[str] = Counter()
    with gpugraph.as_tensorflow():
        import tensorflow as tf  # noqa: PLC0415

        tf.logging.set_verbosity(tf.logging.ERROR)
        for call in calls():
            kind, error = outcome(tf, call)
            counts[kind] += 1
            if settings.list and kind != "runs":
                print(f"{kind:8} {call}\n         {error.splitlines()[0][:200] if error else ''}")
    print(f"{sum(counts.values())} calls: " + ", ".join(f"{n} {k}" for k, n in counts.items()))
    return int(bool(counts["missing"] or counts["fails"]))


if __name__ == "__main__":
    sys.exit(main())
