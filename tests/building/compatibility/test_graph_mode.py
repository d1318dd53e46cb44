"""Programs for both modes find that of graphs."""

from __future__ import annotations

import pytest

from gpugraph.building.compatibility import graph_mode


def test_there_are_graphs() -> None:
    assert not graph_mode.executing_eagerly() and not graph_mode.in_eager_mode()
    assert graph_mode.in_graph_mode() and graph_mode.context().in_graph_mode()
    assert not graph_mode.context().executing_eagerly()
    with graph_mode.graph_mode():
        assert graph_mode.in_graph_mode()
    with pytest.raises(NotImplementedError, match="build a graph and run it in a Session"):
        graph_mode.eager_mode()
