"""Assets: files that a graph names. A SavedModel contains copies of these files. After loading, the
graph names the copies.

For each asset, a SavedModel records its name in the folder `assets`, and the tensor that contains
its path. Loading fails if a name leads out of the folder.
"""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterable
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.scoped_names import prepend_name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.saved_models import model_names
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.platform import files, logging

_TYPE_URL = "type.googleapis.com/tensorflow.AssetFileDef"


def add_assets(tensors: Iterable[Tensor] | None, export_dir: str, copied: set[str]) -> None:
    """Record the assets of a graph in its collection, and copy their files.

    Raises:
      TypeError: a value is not a constant scalar string tensor.
      ValueError: a path is empty.
      tf.errors.OpError: a file can't be copied. The class depends on the file system's error.

    Args:
      tensors: constants that contain the paths of the files.
      copied: the files that are already in the SavedModel. The call adds the copied files to
        `copied`.
    """
    sources: dict[str, str] = {}
    for tensor in tensors or ():
        path = _constant_path(tensor)
        if not path:
            raise ValueError(f"Invalid asset filepath tensor {tensor}")
        name = _asset_name(path, sources)
        sources[name] = path
        _note(name, tensor)
    if not sources:
        logging.info("No assets to save.")
        return
    folder = os.path.join(export_dir, model_names.ASSETS_DIRECTORY)
    files.MakeDirs(folder)
    for name, source in sources.items():
        target = os.path.join(folder, name)
        if source != target and target not in copied and files.Exists(source):
            files.Copy(source, target, overwrite=True)
            copied.add(target)
    logging.info("Assets written to: %s", folder)


def _constant_path(tensor: Any) -> str:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Asset path tensor must be a Tensor, not {tensor!r:.100}")
    if tensor.op.type != "Const":
        raise TypeError(
            f"Asset path tensor {tensor} must be of type constant, not {tensor.op.type}"
        )
    if tensor.dtype != dtypes.string:
        raise TypeError(f"Asset path tensor {tensor} must be of dtype string.")
    value = constant_value(tensor)
    if value is None or value.size != 1:
        raise TypeError(f"Asset path tensor {tensor} must be a scalar.")
    return os.fsdecode(value.reshape(-1)[0])


def _asset_name(path: str, sources: dict[str, str]) -> str:
    """Return the last component of a path. If another file already has this name, a number is
    appended.

    Raises ValueError if the path does not name a file, for example because it ends with a slash.

    Args:
      sources: a dict from the names of the assets so far to their original paths.
    """
    name = unique = os.path.basename(path)
    if not name or name in (".", ".."):
        raise ValueError(f"Invalid asset filepath '{path}': it names no file")
    count = 0
    while unique in sources and not _same_file(sources[unique], path):
        count += 1
        unique = f"{name}_{count}"
    return unique


def _same_file(first: str, second: str) -> bool:
    if first == second:
        return True
    return os.path.isfile(first) and os.path.isfile(second) and filecmp.cmp(first, second, False)


def _note(name: str, tensor: Tensor) -> None:
    asset = messages_pb2.AssetFileDef(filename=name)
    asset.tensor_info.name = tensor.name
    packed = messages_pb2.CollectionDef.AnyList().value.add()
    packed.type_url, packed.value = _TYPE_URL, asset.SerializeToString(deterministic=True)
    get_default_graph().add_to_collection(model_names.ASSETS_KEY, packed)


def asset_feeds(
    meta_graph: Any, export_dir: str, import_scope: str | None = None
) -> dict[str, str]:
    """Return a dict from the names of tensors to the paths of the assets in the SavedModel. The
    paths are fed to the tensors.

    Raises InvalidArgumentError if an asset's path is absolute or contains `..`, or if an
    AssetFileDef is invalid.
    """
    folder = os.path.join(export_dir, model_names.ASSETS_DIRECTORY)
    feeds = {}
    for asset in asset_messages(meta_graph):
        _check_inside(asset.filename, export_dir)
        name = prepend_name_scope(asset.tensor_info.name, import_scope)
        feeds[name] = os.path.join(folder, asset.filename)
    return feeds


def asset_messages(meta_graph: Any) -> list[Any]:
    """Return the AssetFileDefs in a field or a collection of a MetaGraphDef."""
    if meta_graph.asset_file_def:
        return list(meta_graph.asset_file_def)
    if model_names.ASSETS_KEY not in meta_graph.collection_def:
        return []
    packed = meta_graph.collection_def[model_names.ASSETS_KEY].any_list.value
    return [_unpacked(item) for item in packed]


def _unpacked(packed: Any) -> Any:
    name = packed.type_url.rpartition("/")[2]
    try:
        if name != "tensorflow.AssetFileDef":
            raise ValueError(f"it is of type {name!r:.100}")
        return messages_pb2.parse_bytes(messages_pb2.AssetFileDef, packed.value)
    except ValueError as error:
        message = f"The collection {model_names.ASSETS_KEY} has no AssetFileDef: {error}"
        raise InvalidArgumentError(None, None, message) from error


def _check_inside(name: str, export_dir: str) -> None:
    parts = name.replace("\\", "/").split("/")
    if not name or "\0" in name or os.path.isabs(name) or ".." in parts or parts[0] == "":
        raise InvalidArgumentError(
            None,
            None,
            f"The SavedModel in {export_dir} names the asset {name!r:.200}: an asset lies in the "
            f"folder {model_names.ASSETS_DIRECTORY}, so that its name is relative and without '..'",
        )
