"""Where a session's checkpoints come from: the Saver of the graph, and the folder's state."""

from __future__ import annotations

from typing import Any

from gpugraph.base.errors import UnimplementedError
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys


def default_saver() -> Any:
    """The one Saver of the graph; None where there is none. RuntimeError for several."""
    savers = get_default_graph().get_collection(GraphKeys.SAVERS)
    if len(savers) > 1:
        raise RuntimeError(
            "More than one item in collection SAVERS. Please indicate which one to use by passing "
            "it to the constructor."
        )
    return savers[0] if savers else None


def checkpoint_state(folder: Any) -> Any:
    """The CheckpointState of a folder."""
    raise UnimplementedError(None, None, f"checkpoints of folders are not read yet: {folder}")
