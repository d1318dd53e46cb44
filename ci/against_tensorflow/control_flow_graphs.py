"""Random nests of branches and loops that TensorFlow exports, imported and run here.

    python ci/against_tensorflow/control_flow_graphs.py --tensorflow PYTHON [--count 200] [--parts]

Each program is drawn from its number: branches (`cond`, `case`, `switch_case`), loops
(`while_loop`, `map_fn`, `scan`, `foldl`), variables, assertions and gradients taken inside and
outside of them, three deep. TensorFlow builds it, by default with v1 control flow; its GraphDef is
imported here, and its MetaGraphDef, after which gradients are built anew. All have to give
TensorFlow's values, for three feeds, and the nodes have to be exported as they came.

With parts, a program imports others inside of its branches and loops: from a GraphDef, and from a
MetaGraphDef. It is built here too; its values and gradients have to be those of TensorFlow
where the parts are built in place, if it can. A gradient that a GraphDef lacks the contexts for may
be refused, by a LookupError that names the loop.
"""

from __future__ import annotations

import argparse
import importlib
import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from graph_defs import differences, imported, meta_graph_module
from sides import add_options, library, python_of_tensorflow, run_side

LIMIT = 1e-4
SIZE = 3
FEEDS = [np.array(values, np.float32) for values in ([0.5, -1, 2], [-2, 0.25, 1], [3, 1, -0.5])]
BRANCHES = ("cond", "case", "switch_case")
LOOPS = ("while", "while_inner_gradient", "map_fn", "scan", "foldl", "array")
IMPORTS = ("graph_def", "meta_graph")
SIMPLE = ("sin", "tanh", "product", "variable", "asserted", "controlled", "maximum", "sum")
COUNTS: Counter[tuple[str, str]] = Counter()
"""Programs that import parts, by how they do, that were compared, and refused."""


class Program:
    """A program over one vector, drawn from a number.

    parts: how it takes in parts: built in place, or by one of IMPORTS; None for no parts.
    """

    def __init__(self, tf: Any, seed: int, parts: str | None = None) -> None:
        self.tf = tf
        self.draw = random.Random(seed)
        self.parts = parts
        self.variables: list[Any] = []
        kinds = (BRANCHES + LOOPS) * 2
        self.simple = SIMPLE
        self.nested = SIMPLE + kinds + (("part", "part_gradient") * 6 if parts else ())

    def build(self) -> None:
        """Build `y`, and `slope`, its gradient by `x`."""
        tf = self.tf
        x = tf.placeholder(tf.float32, [SIZE], name="x")
        for use_resource in (False, True):
            start = np.linspace(0.5, 1.0, SIZE, dtype=np.float32)
            name = f"w{int(use_resource)}"
            self.variables.append(
                tf.get_variable(name, initializer=start, use_resource=use_resource)
            )
        y = tf.identity(self.steps(tf.identity(x), 3), name="y")
        (slope,) = tf.gradients(y, x)
        tf.identity(tf.zeros_like(x) if slope is None else slope, name="slope")
        tf.global_variables_initializer()

    def steps(self, value: Any, depth: int) -> Any:
        """Return one to three statements."""
        for _ in range(self.draw.randint(1, 3)):
            kinds = self.nested if depth else self.simple
            value = getattr(self, self.draw.choice(kinds).replace("while", "while_"))(value, depth)
            value.set_shape([SIZE])
        return value

    # -- statements without nesting

    def sin(self, value: Any, _: int) -> Any:
        return self.tf.sin(value)

    def tanh(self, value: Any, _: int) -> Any:
        return self.tf.tanh(value) * 1.5

    def product(self, value: Any, _: int) -> Any:
        return value * self.tf.cos(value)

    def variable(self, value: Any, _: int) -> Any:
        return value * self.draw.choice(self.variables) + 0.1

    def asserted(self, value: Any, _: int) -> Any:
        with self.tf.control_dependencies([self.tf.assert_less(value, 1e9)]):
            return self.tf.identity(value)

    def controlled(self, value: Any, _: int) -> Any:
        with self.tf.control_dependencies([self.tf.negative(value)]):
            return self.tf.constant(0.25) + value

    def maximum(self, value: Any, _: int) -> Any:
        return self.tf.maximum(value, self.draw.uniform(-1, 1))

    def sum(self, value: Any, _: int) -> Any:
        return value - 0.1 * self.tf.reduce_sum(value)

    # -- parts

    def part(self, value: Any, _: int) -> Any:
        seed = self.draw.randrange(1 << 30)
        if self.parts == "in place":
            return self.of_part(self.tf, value, seed)
        with self.tf.Graph().as_default() as graph:
            x = self.tf.placeholder(self.tf.float32, [SIZE], name="x")
            self.tf.identity(self.of_part(self.tf, self.tf.identity(x), seed), name="y")
        if self.parts == "graph_def":
            content = graph.as_graph_def()
            (result,) = self.tf.import_graph_def(content, {"x:0": value}, ["y:0"], name="part")
            return result
        module = meta_graph_module(self.tf)
        meta, _ = module.export_scoped_meta_graph(graph=graph)
        _, (result,) = module.import_scoped_meta_graph_with_return_elements(
            meta, input_map={"x:0": value}, import_scope="part", return_elements=["y:0"]
        )
        return result

    def of_part(self, tf: Any, value: Any, seed: int) -> Any:
        """Return the result of a part: one to three statements, with branches and loops, no
        variables.
        """
        part = Program(tf, seed)
        part.simple = tuple(kind for kind in SIMPLE if kind != "variable")
        part.nested = part.simple + (BRANCHES + LOOPS) * 2
        return part.steps(value, 1)

    def part_gradient(self, value: Any, depth: int) -> Any:
        (slope,) = self.tf.gradients(self.part(value, depth), value, unconnected_gradients="zero")
        return value - 0.1 * self.tf.stop_gradient(slope)  # no gradients of second order

    # -- branches

    def branch(self, value: Any, depth: int) -> Any:
        if self.draw.random() < 0.2:
            return lambda: self.tf.zeros([SIZE])
        return lambda: self.steps(value, depth - 1)

    def above(self, value: Any) -> Any:
        index = self.draw.randint(0, SIZE - 1)
        return value[index] > self.draw.uniform(-1, 1)

    def cond(self, value: Any, depth: int) -> Any:
        return self.tf.cond(
            self.above(value), self.branch(value, depth), self.branch(value * 0.5, depth)
        )

    def case(self, value: Any, depth: int) -> Any:
        pairs = [(self.above(value), self.branch(value, depth)) for _ in range(2)]
        return self.tf.case(pairs, self.branch(value, depth))

    def switch_case(self, value: Any, depth: int) -> Any:
        index = self.tf.cast(self.tf.floor(self.tf.reduce_sum(value)), self.tf.int32)
        return self.tf.switch_case(index, [self.branch(value, depth) for _ in range(3)])

    # -- loops

    def while_(self, value: Any, depth: int) -> Any:
        count = self.draw.randint(0, 3)
        options = {"parallel_iterations": self.draw.choice([1, 10])}
        if self.draw.random() < 0.3:
            options["maximum_iterations"] = 4
        outer = value
        uses_outer, stops_early = self.draw.random() < 0.5, self.draw.random() < 0.5
        condition = lambda i, v: (  # noqa: E731
            self.tf.logical_and(i < count, v[1] < 2.0) if stops_early else i < count
        )
        body = lambda i, v: (  # noqa: E731
            i + 1, self.steps(v, depth - 1) + (0.1 * outer if uses_outer else 0.0)
        )  # fmt: skip
        return self.tf.while_loop(condition, body, (0, value), **options)[1]

    def while__inner_gradient(self, value: Any, depth: int) -> Any:
        def body(i: Any, v: Any) -> Any:
            (slope,) = self.tf.gradients(self.steps(v, 0), v)
            return i + 1, v - 0.1 * (slope if slope is not None else 0.0)

        return self.tf.while_loop(lambda i, v: i < 2, body, (0, value), back_prop=False)[1]

    def map_fn(self, value: Any, depth: int) -> Any:
        rows = self.tf.stack([value, value * 0.5])
        return self.tf.reduce_sum(self.tf.map_fn(lambda row: self.steps(row, depth - 1), rows), 0)

    def scan(self, value: Any, depth: int) -> Any:
        rows = self.tf.stack([value, value * 0.5, value])
        result = self.tf.scan(lambda last, row: self.steps(last * 0.5 + row, depth - 1), rows)
        return result[-1]

    def foldl(self, value: Any, depth: int) -> Any:
        rows = self.tf.stack([value, value * 0.5])
        return self.tf.foldl(lambda last, row: self.steps(last, depth - 1) + row, rows)

    def array(self, value: Any, depth: int) -> Any:
        tf = self.tf
        start = tf.TensorArray(tf.float32, 3, element_shape=[SIZE])
        _, array = tf.while_loop(
            lambda i, _: i < 3,
            lambda i, a: (i + 1, a.write(i, self.steps(value * tf.cast(i, tf.float32), depth - 1))),
            (0, start),
        )
        return tf.reduce_mean(array.stack(), 0)


def values_of(tf: Any, graph: Any, fetches: list[Any]) -> list[np.ndarray]:
    """Return the fetches' values for each of FEEDS."""
    with tf.Session(graph=graph) as session:
        if "init" in {op.name for op in graph.get_operations()}:
            session.run("init")
        return [value for feed in FEEDS for value in session.run(fetches, {"x:0": feed})]


def faults_of(where: str, values: Any, expected: Any) -> list[str]:
    for index, (value, wanted) in enumerate(zip(values, expected)):
        if not np.allclose(value, wanted, LIMIT, LIMIT, equal_nan=True):
            return [f"{where}, value {index}: {value}, not {wanted}"]
    return []


def compare(seed: int, ours: Any, theirs: Any) -> list[str]:
    """Return the faults of one program."""
    with theirs.Graph().as_default() as graph:
        Program(theirs, seed).build()
    content = graph.as_graph_def()
    fetches = ["y:0", "slope:0"]
    try:
        expected = values_of(theirs, graph, fetches)
    except theirs.errors.InternalError:  # some nested gradients are beyond TensorFlow
        fetches = ["y:0"]
        expected = values_of(theirs, graph, fetches)
    again = imported(ours, content.SerializeToString())
    faults = [f"exported, {fault}" for fault in differences(again.as_graph_def(), content)]
    faults += faults_of("imported", values_of(ours, again, fetches), expected)
    if len(fetches) == 2:
        faults += meta_graph_faults(graph, expected, ours, theirs)
    return faults


def meta_graph_faults(graph: Any, expected: Any, ours: Any, theirs: Any) -> list[str]:
    """Return the faults of gradients that are built after a MetaGraphDef has been imported."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.meta"
        meta, _ = meta_graph_module(theirs).export_scoped_meta_graph(graph=graph)
        path.write_bytes(meta.SerializeToString())
        with ours.Graph().as_default() as again:
            meta_graph_module(ours).import_scoped_meta_graph(str(path))
            x, y = (again.get_tensor_by_name(name) for name in ("x:0", "y:0"))
            (slope,) = ours.gradients(y, x, unconnected_gradients="zero")
            return faults_of("meta graph", values_of(ours, again, [y, slope]), expected)


def compare_parts(seed: int, ours: Any, theirs: Any) -> list[str]:
    """Return the faults of one program that imports its parts, and a refusal counts as none."""
    fetches = ["y:0", "slope:0"]
    with theirs.Graph().as_default() as graph:
        Program(theirs, seed, "in place").build()
    try:
        expected = values_of(theirs, graph, fetches)
    except (theirs.errors.InternalError, theirs.errors.InvalidArgumentError):
        COUNTS["in place", "beyond TensorFlow"] += 1
        return []
    faults = []
    for how in IMPORTS:
        try:
            with ours.Graph().as_default() as graph:
                Program(ours, seed, how).build()
        except LookupError as error:
            COUNTS[how, "refused"] += 1
            if how == "meta_graph" or not re.search("loop was not made by|in the loop", str(error)):
                faults.append(f"{how}: {error}")
            continue
        COUNTS[how, "compared"] += 1
        faults += faults_of(how, values_of(ours, graph, fetches), expected)
    return faults


def compare_all(folder: Path, seeds: range, version: str, parts: bool) -> None:
    theirs = library("tensorflow")
    if version == "2":
        theirs.enable_control_flow_v2()
    del sys.modules["gpugraph"]
    ours = importlib.import_module("gpugraph")
    lines = []
    for seed in seeds:
        try:
            faults = (compare_parts if parts else compare)(seed, ours, theirs)
        except Exception as error:  # a graph that one of the two refuses is a fault
            faults = [f"{type(error).__name__}: {str(error)[:1000]}"]
        lines += [f"program {seed}: {fault}" for fault in faults]
    number = len(lines)
    lines += [f"{count} programs by {how} {done}" for (how, done), count in COUNTS.items()]
    lines.append(f"{len(seeds)} programs of control flow v{version}, {number} faults")
    (folder / "report").write_text("\n".join(lines), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first program's number")
    parser.add_argument("--version", default="1", choices=["1", "2"], help="of control flow")
    parser.add_argument("--parts", action="store_true", help="programs that import others")
    add_options(parser)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    if options.side:
        compare_all(Path(options.side[1]), seeds, options.version, options.parts)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        python = python_of_tensorflow(options.tensorflow)
        passed = ["--count", str(options.count), "--seed", str(options.seed)]
        passed += ["--parts"] if options.parts else []
        run_side(python, __file__, "both", Path(folder), *passed, "--version", options.version)
        text = (Path(folder) / "report").read_text("utf-8")
    print(text)
    return int(" 0 faults" not in text)


if __name__ == "__main__":
    sys.exit(main())
