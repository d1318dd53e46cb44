"""GraphDefs beside TensorFlow's: of the same programs, node by node, imported both ways and run.

    python ci/against_tensorflow/graph_defs.py --tensorflow PYTHON [--only GRAPH]

TensorFlow's Python loads both. For each graph of `sample_graphs.py` it imports each library's file
into the other, which has to write the same nodes again and to compute the same; of some
of them MetaGraphDefs too, with variables, branches and loops, and gradients through them. It also
counts the nodes that the two build alike for the program; in the graphs of ALIKE all have to be.
Attrs that TensorFlow has since 1.15 are left out of the comparison.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sample_graphs import FEED, GRAPHS
from sides import add_options, library, python_of_tensorflow, run_side

_LATER = """
allowed_devices axis bad_indices_policy debug_name explicit_paddings exponential_avg_factor grad_a
grad_b grad_x grad_y index_type sparse_gradient Tk Tsegmentids validate_shape
multiply_linear_by_lr _has_manual_control_dependencies
"""
LATER = frozenset(_LATER.split())
"""Attrs of later TensorFlows; where 1.15 has one too, it is compared."""

LIMIT = 1e-5

ALIKE = frozenset({"elementwise", "strings", "tensor_arrays", "devices_and_controls"})
"""Graphs that both build node by node; in others, functions and gradients take other ways."""


WITH_GRADIENTS = frozenset({"branches", "nested_flow", "net_with_adam", "clipped_gradients"})
"""Graphs that are imported by MetaGraphDefs too, for gradients after that."""


def nodes_of(graph_def: Any) -> dict[str, Any]:
    return {node.name: node for node in graph_def.node}


def attrs_of(node: Any, other: Any) -> dict[str, bytes]:
    """Return the attrs of a node as bytes, without later ones that only one of the two has."""
    return {
        key: value.SerializeToString(deterministic=True)
        for key, value in node.attr.items()
        if key not in LATER or key in other.attr
    }


def difference(name: str, ours: Any, theirs: Any) -> str:
    """How two nodes differ, or the empty text."""
    for field in ("op", "device"):
        if getattr(ours, field) != getattr(theirs, field):
            return f"{name}.{field}: {getattr(ours, field)!r}, not {getattr(theirs, field)!r}"
    if list(ours.input) != list(theirs.input):
        return f"{name}.input: {list(ours.input)}, not {list(theirs.input)}"
    mine, other = attrs_of(ours, theirs), attrs_of(theirs, ours)
    for key in sorted({*mine, *other}):
        if mine.get(key) != other.get(key):
            texts = [" ".join(str(node.attr[key]).split())[:200] if key in node.attr else "none"
                     for node in (ours, theirs)]  # fmt: skip
            return f"{name}.{key}: {texts[0]}, not {texts[1]}"
    return ""


def differences(ours: Any, theirs: Any) -> list[str]:
    """How two GraphDefs differ, node by node."""
    mine, other = nodes_of(ours), nodes_of(theirs)
    faults = [f"only here: {name}" for name in mine if name not in other]
    faults += [f"only there: {name}" for name in other if name not in mine]
    found = [difference(name, mine[name], other[name]) for name in mine if name in other]
    return faults + [fault for fault in found if fault]


def built(tf: Any, name: str) -> Any:
    with tf.Graph().as_default() as graph:
        GRAPHS[name](tf)
        if tf.global_variables():
            tf.global_variables_initializer()
    return graph


def run(tf: Any, graph: Any) -> Any:
    """Return the value of `y` after the variables have been initialized."""
    with tf.Session(graph=graph) as session:
        names = {op.name for op in graph.get_operations()}
        if "init" in names:
            session.run("init")
        feeds = {"x:0": FEED} if "x" in names else {}
        if "train" in names:
            session.run("train", feeds)
        y = graph.get_operation_by_name("y")
        return session.run(y.outputs[0] if y.outputs else y, feeds)


def imported(tf: Any, content: bytes) -> Any:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(tf.GraphDef.FromString(content), name="")
    return graph


def compare(name: str, ours: Any, theirs: Any) -> tuple[str, list[str]]:
    """Return a graph's line of the report, and its faults."""
    graphs = {"here": built(ours, name), "there": built(theirs, name)}
    defs = {side: graph.as_graph_def() for side, graph in graphs.items()}
    apart = differences(defs["here"], defs["there"])
    faults = apart if name in ALIKE else []
    again = imported(ours, defs["there"].SerializeToString())
    faults += [f"imported here, {fault}"
               for fault in differences(again.as_graph_def(), defs["there"])]  # fmt: skip
    back = imported(theirs, defs["here"].SerializeToString())
    faults += [f"imported there, {fault}"
               for fault in differences(defs["here"], back.as_graph_def())]  # fmt: skip
    expected = run(theirs, graphs["there"])
    for where, tf, graph in (("here", ours, again), ("there", theirs, back)):
        value = run(tf, graph)
        if expected is not None and not np.allclose(value, expected, LIMIT, LIMIT):
            faults.append(f"run {where}: {value}, not {expected}")
    total = len(defs["here"].node)
    return f"{total} nodes, {len(apart)} built otherwise", faults


def meta_graph_module(tf: Any) -> Any:
    """Return the two functions that export and import MetaGraphDefs."""
    if tf.__name__ == "gpugraph":
        return importlib.import_module("gpugraph.building.graph_files.meta_graph_import")
    return importlib.import_module("tensorflow.python.framework.meta_graph")


def gradient_of_meta_graph(tf: Any, content: bytes) -> Any:
    """Return the gradient of `y` by `x` and by the variables in an imported MetaGraphDef."""
    module = meta_graph_module(tf)
    path = Path(tempfile.mkdtemp()) / "graph.meta"
    path.write_bytes(content)
    with tf.Graph().as_default() as graph:
        module.import_scoped_meta_graph(str(path))
        sources = [graph.get_tensor_by_name("x:0"), *tf.trainable_variables()]
        slopes = [slope for slope in tf.gradients(graph.get_tensor_by_name("y:0"), sources)
                  if slope is not None]  # fmt: skip
        with tf.Session() as session:
            session.run([variable.initializer for variable in tf.global_variables()])
            values = session.run(slopes, {"x:0": FEED})
    return [value for value in values if isinstance(value, np.ndarray)]


def compare_meta_graphs(name: str, ours: Any, theirs: Any) -> list[str]:
    """Return the faults of one graph as a MetaGraphDef."""
    metas = {}
    for where, tf in (("here", ours), ("there", theirs)):
        meta, _ = meta_graph_module(tf).export_scoped_meta_graph(graph=built(tf, name))
        metas[where] = meta.SerializeToString()
    expected = gradient_of_meta_graph(theirs, metas["there"])
    faults = []
    for where, tf, meta in (("here", ours, "there"), ("there", theirs, "here")):
        values = gradient_of_meta_graph(tf, metas[meta])
        if len(values) != len(expected) or not all(
            np.allclose(value, other, LIMIT, LIMIT) for value, other in zip(values, expected)
        ):
            faults.append(f"gradients {where}: {values}, not {expected}")
    return faults


def compare_all(folder: Path, only: str) -> None:
    theirs = library("tensorflow")
    del sys.modules["gpugraph"]
    ours = importlib.import_module("gpugraph")
    lines = []
    for name in [only] if only else list(GRAPHS):
        try:
            summary, faults = compare(name, ours, theirs)
            if name in WITH_GRADIENTS:
                faults += compare_meta_graphs(name, ours, theirs)
        except Exception as error:  # a graph that one of the two refuses is a fault
            summary, faults = "not compared", [f"{type(error).__name__}: {error}"]
        lines.append(f"{name}: {summary}, {len(faults)} faults")
        lines += [f"  {fault}" for fault in faults]
    (folder / "report").write_text("\n".join(lines), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="GRAPH", help="the one graph of this name")
    add_options(parser)
    options = parser.parse_args()
    if options.side:
        compare_all(Path(options.side[1]), options.only)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        python = python_of_tensorflow(options.tensorflow)
        only = ["--only", options.only] if options.only else []
        run_side(python, __file__, "both", Path(folder), *only)
        text = (Path(folder) / "report").read_text("utf-8")
    print(text)
    return int("\n  " in text)


if __name__ == "__main__":
    sys.exit(main())
