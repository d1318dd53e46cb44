"""Random programs that read and update reference variables in an order that they define.

    python ci/against_tensorflow/variable_orders.py --tensorflow PYTHON [--count 200] [--first 0]

A program is a sequence of statements, drawn from its number, each under control dependencies on all
before it: products and sums, views (`identity`, `reshape`, ...), which share the variable's memory,
updates, branches and loops. Both sides run it twice. It fails where a value differs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sides import add_options, library, python_of_tensorflow, run_side

LIMIT = 1e-3
MOST_DEEP = 2


class Program:
    """The program of a number; `build` adds it to the default graph."""

    def __init__(self, tf: Any, number: int) -> None:
        self.tf, self.random = tf, random.Random(number)
        self.variables = [tf.Variable([1.0 + i, 2.0 + 2 * i], use_resource=False) for i in (0, 1)]
        self.views: list[Callable[[Any], Any]] = [
            tf.identity,
            tf.stop_gradient,
            lambda x: tf.reshape(x, [2]),
            lambda x: tf.squeeze(tf.expand_dims(x, 0), 0),
        ]
        self.sums: list[Callable[[Any, Any], Any]] = [
            lambda x, y: x * 2.0,
            lambda x, y: x + 1.0,
            lambda x, y: x * 3.0 + y,  # TensorFlow's rewriting of x + x forgets the order
            lambda x, y: x - y * 0.5,
        ]

    def build(self) -> list[Any]:
        """Return the tensors to fetch: all results outside of loops and branches."""
        done: list[Any] = []
        made = self.statements(0, done, [], [], self.random.randint(3, 8))
        with self.tf.control_dependencies(done):
            return made + [variable + 0.0 for variable in self.variables]

    def operand(self, tensors: list[Any], views: list[Any]) -> Any:
        """Choose a variable, a view or a result."""
        kind = self.random.random()
        if kind < 0.35 or not (views or tensors):
            return self.random.choice(self.variables)
        return self.random.choice(views if (views and kind < 0.7) or not tensors else tensors)

    def statements(
        self, depth: int, done: list[Any], tensors: list[Any], views: list[Any], count: int
    ) -> list[Any]:
        """Add statements, each after all of `done`. Return the results."""
        tensors, views, made = list(tensors), list(views), []
        for _ in range(count):
            with self.tf.control_dependencies(list(done)):
                kind = self.random.random()
                if kind < 0.2:
                    view = self.random.choice(self.views)(self.operand(tensors, views))
                    views.append(view)
                    done.append(view)
                    continue
                if 0.45 <= kind < 0.8 or (kind >= 0.8 and depth == MOST_DEEP):
                    done.append(self.update(self.operand(tensors, views)).op)
                    continue
                result = self.result(kind, depth, tensors, views)
            made.append(result)
            tensors.append(result)
            done.append(result)
        return made

    def result(self, kind: float, depth: int, tensors: list[Any], views: list[Any]) -> Any:
        """Add a sum, a branch or a loop."""
        if kind >= 0.8:
            add = self.branch if kind < 0.9 else self.loop
            return add(depth + 1, tensors, views)
        operands = [self.operand(tensors, views) for _ in range(2)]
        return self.random.choice(self.sums)(*operands)

    def update(self, value: Any) -> Any:
        """Change a variable."""
        tf, variable = self.tf, self.random.choice(self.variables)
        total = tf.reduce_sum(value, keepdims=True) * 0.1
        return self.random.choice(
            [
                lambda: variable.assign(value * 0.5 + 1.0),
                lambda: variable.assign_add(value * 0.25),
                lambda: variable.assign_sub(value * 0.125),
                lambda: tf.scatter_add(variable, [1], total),
                lambda: variable.assign(value),
            ]
        )()

    def inner(self, depth: int, tensors: list[Any], views: list[Any]) -> Any:
        """Add a few statements within a branch or loop. Return the sum of their results."""
        done: list[Any] = []
        made = self.statements(depth, done, tensors, views, self.random.randint(1, 3))
        with self.tf.control_dependencies(done):
            total = self.tf.add_n(made) if made else self.random.choice(self.variables)
            return total * 1.0

    def branch(self, depth: int, tensors: list[Any], views: list[Any]) -> Any:
        """Add a branch, of which one side is taken."""
        taken = self.tf.placeholder_with_default(self.random.random() < 0.5, ())
        return self.tf.cond(taken, *[lambda: self.inner(depth, tensors, views)] * 2)

    def loop(self, depth: int, tensors: list[Any], views: list[Any]) -> Any:
        """Add a loop of three iterations."""

        def body(index: Any, total: Any) -> Any:
            return index + 1, total * 0.5 + self.inner(depth, [*tensors, total], views)

        start = [0, self.tf.zeros([2])]
        options = {"parallel_iterations": 1, "back_prop": False}
        return self.tf.while_loop(lambda index, _: index < 3, body, start, **options)[1]


def values(tf: Any, number: int) -> Any:
    """Return the fetched values of two runs of a program, or the name of the error."""
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            fetches = Program(tf, number).build()
            session.run(tf.global_variables_initializer())
            return [np.stack(session.run(fetches)).tolist() for _ in range(2)]
        except tf.errors.OpError as error:
            return type(error).__name__


def differences(ours: Any, theirs: Any) -> bool:
    """Return whether the values of a program differ. Some end with an error in TensorFlow, whose
    rewriting drops fetched tensors of branches.
    """
    if isinstance(theirs, str):
        return False
    return isinstance(ours, str) or not all(
        np.allclose(*pair, LIMIT, LIMIT, equal_nan=True) for pair in zip(ours, theirs, strict=True)
    )


def main() -> int:
    """Compare both sides."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.count)
    if options.side:
        tf = library(options.side[0])
        results = [values(tf, number) for number in numbers]
        Path(options.side[1], options.side[0]).write_text(json.dumps(results))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        pythons = {"gpugraph": sys.executable, "tensorflow": ""}
        pythons["tensorflow"] = python_of_tensorflow(options.tensorflow)
        passed = ["--count", str(options.count), "--first", str(options.first)]
        for side, python in pythons.items():
            run_side(python, __file__, side, Path(folder), *passed)
        sides = [json.loads(Path(folder, side).read_text()) for side in pythons]
    differ = [number for number, *pair in zip(numbers, *sides, strict=True) if differences(*pair)]
    errors = sum(isinstance(result, str) for result in sides[1])
    print(f"{options.count} programs, {errors} end with an error in TensorFlow, differ: {differ}")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
