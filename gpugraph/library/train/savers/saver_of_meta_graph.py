"""`tf.train.import_meta_graph`: the graph of a MetaGraphDef, and its saver."""

from __future__ import annotations

from typing import Any

from gpugraph.building.graph_files.meta_graph_import import (
    import_scoped_meta_graph_with_return_elements,
    read_meta_graph_file,
)
from gpugraph.library.train.savers.saveable_objects import all_saveable_objects
from gpugraph.library.train.savers.saver import Saver
from gpugraph.platform import logging


def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Add the graph of a MetaGraphDef, or of a file that contains one, to the default graph.

    Return the Saver that the MetaGraphDef describes. If it describes none, return a new Saver of
    all variables. If there are no variables either, return None. For the remaining arguments, see
    `import_scoped_meta_graph`.

    Args:
      import_scope: the name scope of the added nodes.
    """
    return import_meta_graph_with_return_elements(
        meta_graph_or_file, clear_devices, import_scope, **kwargs
    )[0]


def import_meta_graph_with_return_elements(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> tuple[Saver | None, list[Any] | None]:
    """Add a graph with `import_meta_graph`. Return its result, and the result of
    `import_graph_def`.
    """
    meta_graph = meta_graph_or_file
    if not hasattr(meta_graph, "SerializeToString"):
        meta_graph = read_meta_graph_file(meta_graph)
    variables, elements = import_scoped_meta_graph_with_return_elements(
        meta_graph, clear_devices=clear_devices, import_scope=import_scope, **kwargs
    )
    if meta_graph.HasField("saver_def"):
        scope = import_scope or ""
        if variables:
            key, variable = next(iter(variables.items()))
            scope = variable.name.removesuffix(key)
        return Saver(saver_def=meta_graph.saver_def, name=scope), elements
    if all_saveable_objects(scope=import_scope):
        return Saver(), elements
    logging.info("Saver not created because there are no variables in the graph to restore")
    return None, elements
