"""The definitions of ops are TensorFlow 1.15's, as graphs hold them.

`op_definitions.txt` has 1.15's facts, which ci/against_tensorflow/op_definitions.py reads out of
its wheel, without differences for which the script has a reason. An op type is a
line: its name, then `key | value` between tabs.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import gpugraph as tf
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.node_messages import op_def_message
from gpugraph.ops.framework.op_declaration import DECLARATIONS

LATER = {
    *("AccumulatorClose", "InitializedValue"),  # of this package
    *("BesselI0", "BesselI1", "DecodeImage", "Erfinv", "Ndtri", "ParseExampleV2"),
    *("TensorScatterMax", "TensorScatterMin", "Xlog1py"),
    *("AssertCardinalityDataset", "OptionsDataset", "ParallelInterleaveDatasetV3"),
    *("ParallelInterleaveDatasetV4", "ParallelMapDatasetV2", "ShuffleDatasetV3"),
}
"""Op types that 1.15 has not."""

LINES = (Path(__file__).parent / "op_definitions.txt").read_text("utf-8").splitlines()


FOLDER = Path(__file__).resolve().parents[2] / "ci" / "against_tensorflow"


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield importlib.import_module("op_definitions")
        for name in ("op_definitions", "known_definitions", "sides"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize("line", LINES, ids=[line.partition("\t")[0] for line in LINES])
def test_a_definition_is_that_of_1_15(line: str, script: ModuleType) -> None:
    op_type, *parts = line.split("\t")
    ours = script.read(op_def_message(DECLARATIONS[op_type].op_def), messages_pb2).facts
    facts = dict(part.split(" | ") for part in parts)
    assert {key: ours.get(key) for key in facts} == facts
    more = ours.keys() - facts.keys()
    assert all(script.reason(op_type, key, "") for key in more), more


def test_the_file_is_complete() -> None:
    """Op types that tests register have "Test" in their names."""
    known = {line.partition("\t")[0] for line in LINES}
    ours = {name for name in DECLARATIONS if name[0] != "_" and "Test" not in name}
    assert ours - known == LATER


def test_a_stripped_node_has_what_has_no_default() -> None:
    """TensorFlow fills in the attrs that a node leaves out, by its own definition."""
    serialized = tf.placeholder(tf.string, [None])
    features = {"x": tf.FixedLenFeature([2], tf.float32), "y": tf.VarLenFeature(tf.int64)}
    tf.parse_example(serialized, features)
    tf.parse_example(serialized, {"x": features["x"]})
    tf.parse_example(serialized, {"y": features["y"]})
    tf.parse_single_example(serialized[0], features)
    tf.placeholder_with_default(1.0, [])
    meta_graph = tf.train.export_meta_graph(strip_default_attrs=True)
    checked = 0
    for node in meta_graph.graph_def.node:
        kept = {
            "ParseExample": "sparse_types Tdense dense_shapes",
            "PlaceholderWithDefault": "shape",
        }
        kept["ParseSingleExample"] = kept["ParseExample"]
        missing = set(kept.get(node.op, "").split()) - set(node.attr)
        assert not missing, (node.name, missing)
        checked += node.op in kept
    assert checked == 5
