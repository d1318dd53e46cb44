"""Fused elementwise kernels beside NumPy: tanh(1.5x + 0.3) sigmoid(0.7x) + exp(-x x) of 10 million.

    python benchmarks/native.py [--elements N] [--rounds N]

Each figure is the minimum of all rounds, which are interleaved. Then: the cost of a call, and
the size from which on a second thread helps.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from cpu_numpy import expression_into

from gpugraph.base.dtypes import float32
from gpugraph.config.environment import thread_count
from gpugraph.devices.native import (
    CompiledFunction,
    Fused,
    Fusion,
    compiled_functions as function_module,
    prepare,
)


def fused(size: int) -> Fused:
    """Return the expression as one program."""
    fusion = Fusion()
    x = fusion.input(float32, (size,))

    def apply(text: str, *inputs: int) -> int:
        return fusion.apply(text, inputs, float32)

    def number(value: float) -> int:
        return fusion.constant(value, float32)

    bent = apply("tanh(x)", apply("x + y", apply("x * y", x, number(1.5)), number(0.3)))
    gate = apply("(T)1 / ((T)1 + exp(-x))", apply("x * y", x, number(0.7)))
    bell = apply("exp(x)", apply("-x", apply("x * x", x)))
    fusion.output(apply("x + y", apply("x * y", bent, gate), bell))
    return fusion.finish()


def compiled(program: Fused) -> CompiledFunction:
    [prepared] = prepare([program.program])
    function = prepared.get(wait=True)
    if function is None:
        raise SystemExit(prepared.reason)
    return function


def bound(function: CompiledFunction, x: Any, out: Any, threads: int) -> Callable[[], Any]:
    os.environ["GPUGRAPH_THREADS"] = str(threads)
    return function.bind([x], [out], [x.size])


def least(runs: Sequence[Callable[[], Any]], rounds: int, repeat: int = 1) -> list[float]:
    """Return the minimum of seconds that a call of each takes."""
    least_s = [float("inf")] * len(runs)
    for _ in range(rounds):
        for index, run in enumerate(runs):
            start = perf_counter()
            for _ in range(repeat):
                run()
            least_s[index] = min(least_s[index], (perf_counter() - start) / repeat)
    return least_s


def large(function: CompiledFunction, size: int, rounds: int, most: int) -> None:
    x = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    results = [np.empty_like(x) for _ in range(2 + most)]
    names = ["copy", "NumPy", *(f"native, {count} threads" for count in range(1, most + 1))]
    runs = [lambda: np.copyto(results[0], x), expression_into(x, results[1])]
    runs += [bound(function, x, results[1 + count], count) for count in range(1, most + 1)]
    for name, seconds in zip(names, least(runs, rounds)):
        print(f"{name:20} {seconds * 1e3:8.2f} ms  {seconds / size * 1e9:6.2f} ns an element")
    error = max(float(np.abs(result - results[1]).max()) for result in results[2:])
    print(f"largest difference from NumPy: {error:.1e}")


def small(function: CompiledFunction, rounds: int, most: int) -> None:
    function_module.THREAD_NANOSECONDS = 1  # as many threads as are allowed
    print(f"\n{'elements':>10} {'one thread':>12} {most:>4} threads")
    for size in (8, 1024, 16_384, 32_768, 65_536, 131_072, 262_144, 1_048_576):
        x = np.random.default_rng(0).standard_normal(size).astype(np.float32)
        out = np.empty_like(x)
        repeat = max(1, 200_000 // size)
        runs = [bound(function, x, out, count) for count in (1, most)]
        one, all_ = least(runs, rounds, repeat)
        print(f"{size:10} {one * 1e6:9.2f} us {all_ * 1e6:9.2f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--elements", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    most = thread_count()
    function = compiled(fused(options.elements))
    large(function, options.elements, options.rounds, most)
    small(function, options.rounds, most)


if __name__ == "__main__":
    main()
