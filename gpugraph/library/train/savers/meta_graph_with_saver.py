"""`tf.train.export_meta_graph`: a graph with its saver as a MetaGraphDef."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.building.graph_files.meta_graph_export import export_scoped_meta_graph


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Iterable[str] | None = None,
    as_text: bool = False,
    graph: Any = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the MetaGraphDef of a graph with its nodes, collections and saver. If `filename` is
    not None, also write the MetaGraphDef to this file.

    See `export_scoped_meta_graph` (`building/graph_files/meta_graph_export`) for the other
    arguments.

    Args:
      save_debug_info: ignored. In TensorFlow, it saves the source lines that created the nodes, in
        a file next to the meta graph.
    """
    del save_debug_info
    return export_scoped_meta_graph(
        filename=filename,
        meta_info_def=meta_info_def,
        graph_def=graph_def,
        saver_def=saver_def,
        collection_list=collection_list,
        as_text=as_text,
        graph=graph,
        export_scope=export_scope,
        clear_devices=clear_devices,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
        **kwargs,
    )[0]
