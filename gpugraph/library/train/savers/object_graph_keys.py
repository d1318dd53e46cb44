"""The graph of objects in a checkpoint, which maps the name of each variable to its key."""

from __future__ import annotations

from typing import Any

from gpugraph.base.errors import DataLossError, NotFoundError
from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.formats import messages_pb2
from gpugraph.library.train.savers.checkpoint_reading import NewCheckpointReader
from gpugraph.library.train.savers.saveable_objects import (
    SaveableObject,
    all_saveable_objects,
    op_list_to_dict,
    saveables_of,
)

OBJECT_GRAPH_PROTO_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The key of the TrackableObjectGraph in a checkpoint."""


def object_metadata(save_path: Any) -> Any:
    """Return the TrackableObjectGraph of a checkpoint. Raises ValueError if the checkpoint has no
    such graph.
    """
    try:
        return read_object_graph(save_path)
    except NotFoundError:
        raise ValueError(
            f'The specified checkpoint "{save_path}" does not appear to be object-based (saved '
            f'with TF2) since it is missing the key "{OBJECT_GRAPH_PROTO_KEY}". Likely it was '
            "created with the TF1 name-based saver and does not contain an object dependency graph."
        ) from None


@uninterrupted
def read_object_graph(save_path: Any, reader: Any = None) -> Any:
    """Return the TrackableObjectGraph of a checkpoint, and check that its node numbers are valid.

    Raises NotFoundError if the checkpoint has no such graph, and DataLossError if the graph is
    malformed.
    """
    reader = NewCheckpointReader(save_path) if reader is None else reader
    content = reader.get_tensor(OBJECT_GRAPH_PROTO_KEY)
    graph = messages_pb2.TrackableObjectGraph()
    try:
        graph.ParseFromString(content)
    except Exception as error:  # protobuf's own class, or a TypeError if it is no string
        raise _loss(save_path, f"is no message: {error}") from None
    count = len(graph.nodes)
    if not count:
        raise _loss(save_path, "has no objects")
    for node in graph.nodes:
        ids = [child.node_id for child in node.children]
        for slot in node.slot_variables:
            ids += [slot.original_variable_node_id, slot.slot_variable_node_id]
        for index in ids:
            if not 0 <= index < count:
                raise _loss(save_path, f"names object {index} of {count}")
    return graph


def _loss(save_path: Any, what: str) -> DataLossError:
    return DataLossError(None, None, f"{save_path}: {OBJECT_GRAPH_PROTO_KEY} {what}")


def object_graph_key_mapping(checkpoint_path: Any) -> dict[str, str]:
    """Return a dict from the names that variables had when they were saved to their keys in a
    checkpoint of objects.

    Raises NotFoundError if the checkpoint is not a checkpoint of objects.
    """
    return {
        attribute.full_name: attribute.checkpoint_key
        for node in read_object_graph(checkpoint_path).nodes
        for attribute in node.attributes
    }


def saveables_by_key(var_list: Any, keys: dict[str, str]) -> list[SaveableObject]:
    """Return the saveables of variables, under their keys in a checkpoint of objects.

    Raises NotFoundError if `keys` lacks a variable.

    Args:
      var_list: see `tf.train.Saver`. None means all variables.
      keys: the dict from variable names to keys that `object_graph_key_mapping` returns.
    """
    variables = all_saveable_objects() if var_list is None else var_list
    named = variables if isinstance(variables, dict) else op_list_to_dict(variables)
    saveables = saveables_of(named)
    names = {spec.name for saveable in saveables for spec in saveable.specs}
    if missing := names - set(keys):
        raise NotFoundError(
            None,
            None,
            f"\n\nExisting variables not in the checkpoint: {', '.join(sorted(missing))}\n\n"
            "Variables names when this checkpoint was written which don't exist now: "
            f"{', '.join(sorted(set(keys) - names))}\n\n({len(names & set(keys))} variable name(s) "
            "did match)\n\nCould not find some variables in the checkpoint (see names above). "
            "Saver was attempting to load an object-based checkpoint (saved using "
            "tf.train.Checkpoint or tf.keras.Model.save_weights) using variable names. Construct "
            "a Saver(var_list=...) with only the variables which previously existed; if variable "
            "names have changed, make this a dictionary with the old names as keys.",
        )
    for saveable in saveables:
        for spec in saveable.specs:
            spec.name = keys[spec.name]
        saveable.name = keys.get(saveable.name, saveable.name)
    return saveables
