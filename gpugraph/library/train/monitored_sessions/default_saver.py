"""The Saver that monitored sessions of a graph use."""

from __future__ import annotations

from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.train.savers.saver import Saver


def default_saver() -> Saver:
    """Return the only Saver in the collection SAVERS of the default graph. If the collection is
    empty, add a Saver and return it.

    Raises RuntimeError if there are several Savers.
    """
    graph = get_default_graph()
    savers = graph.get_collection(GraphKeys.SAVERS)
    if len(savers) > 1:
        raise RuntimeError(
            "More than one item in collection SAVERS. Please indicate which one to use by passing "
            "it to the constructor."
        )
    if savers:
        return savers[0]
    saver = Saver(sharded=True, allow_empty=True)
    graph.add_to_collection(GraphKeys.SAVERS, saver)
    return saver
