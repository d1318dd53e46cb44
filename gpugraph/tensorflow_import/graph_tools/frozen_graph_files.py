"""`tensorflow.python.tools.freeze_graph`, which replaces the variables of a GraphDef by values from
a checkpoint.
"""

from __future__ import annotations

from typing import Any

from gpugraph.building.graph_files.freezing import convert_variables_to_constants
from gpugraph.building.graph_files.import_graph_def import import_graph_def
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.library import train
from gpugraph.library.saved_models.model_loader import load
from gpugraph.library.saved_models.saved_model_file import parse_saved_model
from gpugraph.library.train.savers.checkpoint_reading import NewCheckpointReader
from gpugraph.platform import files
from gpugraph.session import Session
from gpugraph.tensorflow_import.graph_tools.message_files import names_of, read_message


def freeze_graph(
    input_graph: str,
    input_saver: str,
    input_binary: bool,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: str | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = "serve",
    checkpoint_version: int = 2,
) -> Any:
    """Freeze the variables of a graph, of a meta graph or of a SavedModel, which is read from
    files.

    Return the GraphDef. If `output_graph` is not empty, also write the GraphDef to this file.

    Args:
      input_graph: the file of a GraphDef, or "".
      input_saver: the file of the SaverDef that restores the checkpoint, or "".
      input_binary: whether the input files have the binary format.
      input_checkpoint: the path prefix of the checkpoint.
      output_node_names: the names of nodes that are kept with their dependencies, separated by
        commas.
      restore_op_name: ignored.
      filename_tensor_name: ignored.
      clear_devices: whether the devices of nodes are removed.
      initializer_nodes: names of operations to run after the checkpoint is restored.
      variable_names_whitelist: if it is not empty, the only variables to freeze, separated by
        commas.
      variable_names_blacklist: variables that are not frozen, separated by commas.
      input_meta_graph: the file of a MetaGraphDef.
      input_saved_model_dir: the folder of a SavedModel.
      saved_model_tags: the tags of the meta graph in the SavedModel, separated by commas.
    """
    graph_def = meta_graph_def = saver_def = None
    if input_saved_model_dir:
        graph_def = read_saved_graph(input_saved_model_dir, saved_model_tags).graph_def
    elif input_graph:
        _check_file(input_graph, "Input graph file")
        graph_def = read_message(messages_pb2.GraphDef, input_graph, input_binary)
    if input_meta_graph:
        _check_file(input_meta_graph, "Input meta graph file")
        meta_graph_def = read_message(messages_pb2.MetaGraphDef, input_meta_graph, input_binary)
    if input_saver:
        _check_file(input_saver, "Input saver file")
        saver_def = read_message(messages_pb2.SaverDef, input_saver, input_binary)
    return freeze_graph_with_def_protos(
        graph_def,
        saver_def,
        input_checkpoint,
        output_node_names,
        restore_op_name,
        filename_tensor_name,
        output_graph,
        clear_devices,
        initializer_nodes,
        variable_names_whitelist,
        variable_names_blacklist,
        meta_graph_def,
        input_saved_model_dir,
        names_of(saved_model_tags),
        checkpoint_version,
    )


def _check_file(path: str, kind: str) -> None:
    if not files.Exists(path):
        raise OSError(f"{kind} '{path}' does not exist!")


def read_saved_graph(folder: Any, tags: Any) -> Any:
    """Return the MetaGraphDef of a SavedModel that has exactly these tags.

    Raises RuntimeError if no MetaGraphDef has these tags.
    """
    model = parse_saved_model(folder)
    wanted = set(names_of(tags))
    for meta_graph in model.meta_graphs:
        if set(meta_graph.meta_info_def.tags) == wanted:
            return meta_graph
    outcome = [sorted(entry.meta_info_def.tags) for entry in model.meta_graphs]
    raise RuntimeError(
        f"MetaGraphDef associated with tags {tags!r} could not be found in SavedModel {folder!r}, "
        f"which has {outcome}"
    )


def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph_def: Any = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: Any = None,
    checkpoint_version: int = 2,
) -> Any:
    """Freeze the variables of a GraphDef or MetaGraphDef. For the arguments, see `freeze_graph`.

    If the checkpoint or the names of outputs are missing, print a message and return -1, as
    TensorFlow does.
    """
    del restore_op_name, filename_tensor_name, checkpoint_version
    if not input_saved_model_dir and not train.checkpoint_exists(input_checkpoint):
        print(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
        return -1
    if not output_node_names:
        print("You need to supply the name of a node to --output_node_names.")
        return -1
    source = input_meta_graph_def.graph_def if input_meta_graph_def else input_graph_def
    graph_def = messages_pb2.GraphDef.FromString(source.SerializeToString())
    if clear_devices:
        for node in graph_def.node:
            node.device = ""
    with Graph().as_default() as graph, Session() as session:
        if input_meta_graph_def:
            meta_graph = type(input_meta_graph_def)()
            meta_graph.CopyFrom(input_meta_graph_def)
            saver = train.import_meta_graph(meta_graph, clear_devices=True)
            (saver or train.Saver()).restore(session, input_checkpoint)
        elif input_saved_model_dir:
            load(session, names_of(saved_model_tags), input_saved_model_dir)
        else:
            import_graph_def(graph_def, name="")
            _restore(session, graph, input_saver_def, input_checkpoint)
        if initializer_nodes:
            session.run(names_of(initializer_nodes))
        frozen = convert_variables_to_constants(
            session,
            graph_def,
            names_of(output_node_names),
            names_of(variable_names_whitelist) or None,
            names_of(variable_names_blacklist) or None,
        )
    if output_graph:
        with files.GFile(output_graph, "wb") as file:
            file.write(frozen.SerializeToString())
    return frozen


def _restore(session: Any, graph: Any, saver_def: Any, checkpoint: str) -> None:
    """Restore the variables of an imported graph. If `saver_def` is None, restore all variables
    that the checkpoint has.
    """
    if saver_def is not None:
        train.Saver(saver_def=saver_def).restore(session, checkpoint)
        return
    operations = {operation.name for operation in graph.get_operations()}
    names = NewCheckpointReader(checkpoint).get_variable_to_shape_map()
    present = {name: graph.get_tensor_by_name(f"{name}:0") for name in names if name in operations}
    train.Saver(var_list=present).restore(session, checkpoint)
