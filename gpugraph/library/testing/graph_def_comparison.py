"""`tf.test.assert_equal_graph_def`, which compares two GraphDefs node by node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_CHECKPOINT_TYPES = frozenset({"SaveV2", "RestoreV2"})


def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Check that two GraphDefs have the same nodes, in any order.

    Versions, the order of control inputs, and attrs whose names start with `_` are ignored.

    Args:
      actual, expected: the GraphDefs.
      checkpoint_v2: whether the op types SaveV2 and RestoreV2 are also ignored.
      hash_table_shared_name: whether the shared names of hash tables are ignored.

    Raises:
      AssertionError: the graphs differ. The message states the first difference.
      TypeError: an argument is not a GraphDef.
    """
    nodes = []
    for argument, graph_def in (("actual", actual), ("expected", expected)):
        descriptor = getattr(type(graph_def), "DESCRIPTOR", None)
        if getattr(descriptor, "full_name", "") != "tensorflow.GraphDef":
            kind = type(graph_def).__name__
            raise TypeError(f"Expected tf.GraphDef for {argument}, got {kind}")
        nodes.append({node.name: node for node in graph_def.node})
    actual_nodes, expected_nodes = nodes
    for name, node in expected_nodes.items():
        if name not in actual_nodes:
            raise AssertionError(f"Did not find expected node '{{{{node {name}}}}}'")
        ignored = {"shared_name"} if hash_table_shared_name and "HashTable" in node.op else set()
        if not (checkpoint_v2 and node.op in _CHECKPOINT_TYPES):
            for difference in _differences(actual_nodes[name], node, ignored):
                raise AssertionError(f"Node named '{name}' {difference}")
    for name in actual_nodes:
        if name not in expected_nodes:
            raise AssertionError(f"Found unexpected node '{{{{node {name}}}}}'")


def _differences(node: Any, expected: Any, ignored: set[str]) -> Iterator[str]:
    """Yield the differences between a node and the expected node."""
    for field in ("op", "device"):
        value, wanted = getattr(node, field), getattr(expected, field)
        if value != wanted:
            yield f"has {field} '{value}' that is not expected '{wanted}'"
    inputs, controls = _inputs_of(node)
    wanted_inputs, wanted_controls = _inputs_of(expected)
    if len(inputs) != len(wanted_inputs):
        texts = ", ".join(inputs), ", ".join(wanted_inputs)
        yield f"has inputs '{texts[0]}' that don't match expected '{texts[1]}'"
    for index, (text, wanted) in enumerate(zip(inputs, wanted_inputs)):
        if text != wanted:
            yield f"has input {index} '{text}' that doesn't match expected '{wanted}'"
    for text in sorted(wanted_controls - controls):
        yield f"missing expected control input '{text}'"
    for text in sorted(controls - wanted_controls):
        yield f"has unexpected control input '{text}'"
    yield from _attr_differences(node.attr, expected.attr, ignored)


def _inputs_of(node: Any) -> tuple[list[str], set[str]]:
    """Return (a node's inputs in order, the set of its control inputs). An input `a:0` is returned
    as `a`.
    """
    data = [text.removesuffix(":0") for text in node.input if not text.startswith("^")]
    return data, {text for text in node.input if text.startswith("^")}


def _attr_differences(attrs: Any, expected: Any, ignored: set[str]) -> Iterator[str]:
    keys = sorted({*attrs, *expected} - ignored)
    for key in [key for key in keys if not key.startswith("_")]:
        if key not in expected:
            yield f"has unexpected attr '{key}' with value: {_text(attrs[key])}"
        elif key not in attrs:
            yield f"missing expected attr '{key}' with value: {_text(expected[key])}"
        elif _content(attrs[key]) != _content(expected[key]):
            yield (
                f"has attr '{key}' with value: {_text(attrs[key])} that does not match expected: "
                f"{_text(expected[key])}"
            )


def _content(value: Any) -> bytes:
    content: bytes = value.SerializeToString(deterministic=True)
    return content


def _text(value: Any) -> str:
    """Return an attr's value as text, without the name of the AttrValue field that holds it."""
    return " ".join(str(value).split()).partition(" ")[2]
