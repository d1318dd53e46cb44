"""Dependencies of groups: the bit sets agree with a walk over the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf
from gpugraph.compile.analysis.fusibility import kernels_on
from gpugraph.compile.fusion import fusion_groups
from gpugraph.compile.fusion.group_dependencies import Dependencies, Group
from gpugraph.graph.nodes.runtime_graph import Node

from ..stages import compiled

OPS = [
    lambda x, y: x + y,
    lambda x, y: tf.tanh(x),
    lambda x, y: x - tf.reduce_sum(y, 1, keepdims=True),
    lambda x, y: x * tf.reduce_sum(y, 0, keepdims=True),
    lambda x, y: tf.matmul(x, y),
]


def depended_on(dependencies: Dependencies, start: Group) -> int:
    """Return the bits of the groups on which one depends, found by a walk with groups as single
    nodes.
    """
    bits = 0
    seen: set[Any] = {start}
    stack: list[Any] = [start]
    while stack:
        item = stack.pop()
        for node in item.nodes if isinstance(item, Group) else [item]:
            for edge in node._in:
                group = dependencies.group_of.get(edge.src.id)
                source = edge.src if group is None else group.whole()
                if source not in seen:
                    seen.add(source)
                    stack.append(source)
                    bits |= source.bits if isinstance(source, Group) else 0
    return bits


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(0, 9)), max_size=25))
def test_the_bits_are_what_a_walk_finds(steps: list[tuple[int, int, int]]) -> None:
    with tf.Graph().as_default():
        tensors = [tf.placeholder(tf.float32, [4, 4], name="x"), tf.constant(np.eye(4, 4) * 2.0)]
        tensors[1] = tf.cast(tensors[1], tf.float32) + tensors[0]
        for op, one, other in steps:
            tensors.append(
                OPS[op](tensors[-1 - one % len(tensors)], tensors[-1 - other % len(tensors)])
            )
        unit = compiled(tensors[1:], {tensors[0]: (4, 4)}, upto="placer")
    put = Dependencies.put

    def checked(dependencies: Dependencies, node: Node, reach: int, *others: Any) -> None:
        put(dependencies, node, reach, *others)
        for other in dependencies.groups:
            if other.into is None:
                assert other.above == depended_on(dependencies, other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dependencies, "put", checked)
        fusion_groups._Search(unit, kernels_on(unit, True)).groups()
