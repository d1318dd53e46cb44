"""Benchmark, whose methods time operations and report each time under a name.

`tf.test.main()` runs the benchmarks of a program whose names match `--benchmark_filter=PATTERN`
("all" for all of them) instead of its tests.
"""

from __future__ import annotations

import inspect
import re
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any, ClassVar

from gpugraph.config import ConfigProto, RunMetadata, RunOptions
from gpugraph.graph.client.default_graph_functions import get_default_session
from gpugraph.session import Session

_FLAG = "--benchmark_filter="


def benchmark_config() -> ConfigProto:
    """Return a session config that keeps all control inputs, so that each op of a benchmark
    runs.
    """
    config = ConfigProto()
    rewriting = config.graph_options.rewrite_options
    rewriting.dependency_optimization = rewriting.OFF
    return config


class Benchmark:
    """Base class of benchmarks. The methods whose names start with `benchmark` are run, and their
    times are reported.
    """

    classes: ClassVar[list[type[Benchmark]]] = []

    def __init_subclass__(cls) -> None:
        Benchmark.classes.append(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """Return whether this is the base class, which has no benchmarks."""
        return cls is Benchmark

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        """Print a line of measurements, under the names of the class and the method.

        Args:
          iters: the number of runs.
          cpu_time, wall_time: the time of one run in seconds.
          throughput: the throughput in MB per second.
          extras: a dict of additional values to print.
          name: a name to print instead of the method's name.
        """
        values = {
            "iters": iters, "cpu_time": cpu_time, "wall_time": wall_time,
            "throughput": throughput, **(extras or {}),
        }  # fmt: skip
        shown = ", ".join(f"{key}: {value}" for key, value in values.items() if value is not None)
        print(f"{type(self).__name__}.{name or self._calling_method()}: {shown}")

    def _calling_method(self) -> str:
        """Return the name of the outermost method of this object on the call stack."""
        frame, name = inspect.currentframe(), ""
        while frame is not None:
            if frame.f_locals.get("self") is self:
                name = frame.f_code.co_name
            frame = frame.f_back
        return name

    def run_op_benchmark(
        self,
        sess: Session,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Run an op `burn_iters` times, then time `min_iters` runs, and report the median time.

        Return a dict from names to the reported values, the mean time and the standard deviation of
        the times. The function raises the errors of `Session.run`.

        Args:
          store_trace: whether to trace one more run. The trace is in the result under the name
            "step_stats".
          store_memory_usage: whether the peak of each device's memory is reported, in bytes.
          mbs: the number of MB that a run processes, for the throughput.
        """
        seconds = []
        for index in range(burn_iters + min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict=feed_dict)
            if index >= burn_iters:
                seconds.append(time.perf_counter() - start)
        extras = dict(extras or {})
        if store_memory_usage:
            for device, stats in sess.memory_stats().items():
                extras[f"allocator_maximum_num_bytes_{device}"] = stats.peak_bytes_in_use
        median = statistics.median(seconds) if seconds else -1.0
        values: dict[str, Any] = {
            "iters": min_iters, "wall_time": median, "extras": extras, "name": name,
            "throughput": mbs / median,
        }  # fmt: skip
        self.report_benchmark(**values)
        extras["wall_time_mean"] = statistics.fmean(seconds) if seconds else -1
        extras["wall_time_stdev"] = statistics.stdev(seconds) if len(seconds) > 1 else -1
        if store_trace:
            metadata = RunMetadata()
            traced = RunOptions(trace_level=RunOptions.FULL_TRACE)
            sess.run(op_or_tensor, feed_dict=feed_dict, options=traced, run_metadata=metadata)
            extras["step_stats"] = metadata.step_stats
        return values

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of a structure of tensors, in the same structure. The default session
        evaluates them.
        """
        session = get_default_session()
        if session is None:
            raise ValueError("Cannot evaluate tensors: no default session is registered")
        return session.run(tensors)


def requested_benchmarks(argv: list[str] | None = None) -> str | None:
    """Remove `--benchmark_filter=PATTERN` from the command line, and return the pattern. If the
    command line does not contain it, return None.
    """
    arguments = sys.argv if argv is None else argv
    for argument in arguments:
        if argument.lstrip("-").startswith(_FLAG.lstrip("-")) and argument.startswith("-"):
            arguments.remove(argument)
            return argument.partition("=")[2]
    return None


def run_benchmarks(pattern: str) -> None:
    """Run the benchmarks whose name `module.Class.method` matches the pattern. Raises ValueError if
    no name matches.
    """
    matching = [
        (kind, method)
        for kind in Benchmark.classes
        for method in _methods(kind)
        if pattern == "all" or re.search(pattern, f"{kind.__module__}.{kind.__name__}.{method}")
    ]
    if not matching:
        raise ValueError(f"No benchmarks matched the pattern: '{pattern}'")
    instances: dict[type[Benchmark], Benchmark] = {}
    for kind, method in matching:
        if kind not in instances:
            instances[kind] = kind()
        getattr(instances[kind], method)()


def _methods(kind: type[Benchmark]) -> Iterator[str]:
    return (n for n in dir(kind) if n.startswith("benchmark") and callable(getattr(kind, n)))
