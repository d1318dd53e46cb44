"""One side of `every_op.py`: builds and measures single ops in a process, on request.

    python benchmarks/every_op_side.py gpugraph|tensorflow

Requests and answers are pickles on standard input and output. `("cases_of", op_type, elements,
dtype)` and `("drawn", op_type, seed)` return cases (gpugraph only); `("build", case, what)` builds
the op, or its gradient, over variables, and returns the seconds of a run; `("measure", seconds)`
repeats it for about that time and returns the minimum of wall and the mean of processor time.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

os.environ.setdefault("GPUGRAPH_NATIVE", "wait")
os.environ.setdefault("GPUGRAPH_GPU", "0")
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "ci" / "against_tensorflow"))
every_op, op_cases, sides = map(importlib.import_module, ("every_op", "op_cases", "sides"))

LIMIT_S = 60
"""The time after which an op is given up."""

SLOW_S = 0.2
"""The time from which one run is enough."""

CHUNKS = 6
"""The number of measurements whose minimum counts."""

Case = dict[str, Any]


class Side:
    """The ops of one package; one op is built at a time."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tf = sides.library(name)
        self.make = every_op._by_gpugraph if name == "gpugraph" else every_op._by_tensorflow
        self.session: Any = None
        self.run: Callable[[], Any] = lambda: None

    def build(self, case: Case, what: str) -> float:
        """Build the op or its gradient, run it up to three times; return the last run's seconds."""
        if self.session is not None:
            self.session.close()
        self.run = lambda: None
        gc.collect()
        tf = self.tf
        with tf.Graph().as_default():
            self.session = tf.Session()
            target = self._target(case, what)
            if not tf.get_default_graph().finalized:
                self.run = self.session.make_callable(target)
        for _ in range(3):
            start = perf_counter()
            self.run()
            taken = perf_counter() - start
            if taken > SLOW_S:
                break
        return taken

    def _variable(self, array: Any) -> Any:
        """Return a variable with these contents."""
        tf, kind = self.tf, self.tf.as_dtype(array.dtype)
        variable = tf.raw_ops.VariableV2(shape=array.shape, dtype=kind)
        fed = tf.placeholder(kind, array.shape)
        self.session.run(tf.assign(variable, fed).op, {fed: array})
        return variable

    def _target(self, case: Case, what: str) -> Any:
        """Return the operation that a run executes."""
        tf = self.tf
        attrs = {key: op_cases.as_attr(tf, value) for key, value in case["attrs"].items()}
        flat, arguments = [], []
        for source, constant in zip(case["inputs"], case["constant"]):
            arrays = source if isinstance(source, list) else [source]
            tensors = [
                tf.constant(array, tf.as_dtype(array.dtype)) if constant else self._variable(array)
                for array in arrays
            ]
            flat += tensors
            arguments.append(tensors if isinstance(source, list) else tensors[0])
        outputs = op_cases.flat_outputs(self.make(tf, case, arguments, attrs))
        if what == "op":
            return outputs[0].op
        ys = [y for y in outputs if y.dtype.is_floating or y.dtype.is_complex]
        values = self.session.run(ys)
        dys = [self._variable(value * 0 + 1) for value in values]
        slopes = tf.gradients(ys, [flat[index] for index in case["by"]], dys)
        slopes = [dx for dx in slopes if dx is not None]
        if not slopes:
            raise NotImplementedError("no gradient")
        return [dx.op for dx in slopes]  # not a group: TensorFlow would compute nothing for it

    def measure(self, seconds: float) -> tuple[float, float]:
        """Return the minimum of the wall seconds, and the mean of processor seconds, of one run.

        The kernel counts what threads on other cores used only at their next tick."""
        start = perf_counter()
        self.run()
        once = max(perf_counter() - start, 1e-7)
        repeats = max(1, round(seconds / CHUNKS / once))
        wall, chunks, begun = float("inf"), CHUNKS if once < seconds else 1, process_time()
        for _ in range(chunks):
            start = perf_counter()
            for _ in range(repeats):
                self.run()
            wall = min(wall, (perf_counter() - start) / repeats)
        return wall, (process_time() - begun) / (repeats * chunks)

    def answer(self, request: tuple[Any, ...]) -> Any:
        """Return the answer to a request, or the text of its error."""
        verb, *arguments = request
        makers = ("cases_of", "drawn", "op_types")
        maker = importlib.import_module("every_op_cases") if verb in makers else self
        signal.alarm(LIMIT_S)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return getattr(maker, verb)(*arguments)
        except Exception as error:
            return op_cases.said(error)
        finally:
            signal.alarm(0)


def main() -> None:
    """Answer requests until the input ends."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not disturb the answers
    side = Side(sys.argv[1])
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(side.answer(request), answers)
        answers.flush()


if __name__ == "__main__":
    main()
