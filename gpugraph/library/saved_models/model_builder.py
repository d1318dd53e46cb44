"""`tf.saved_model.Builder` and `simple_save`, which write graphs and variables as a SavedModel."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from gpugraph.base.whole_files import write_whole
from gpugraph.building.compatibility.deprecation_decorators import deprecated_args
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.saved_models import model_names
from gpugraph.library.saved_models.model_assets import add_assets
from gpugraph.library.saved_models.signatures import check_signatures, predict_signature_def
from gpugraph.library.train.savers.saver import Saver
from gpugraph.platform import files, logging

_RESERVED = (model_names.INIT_OP_SIGNATURE_KEY, model_names.TRAIN_OP_SIGNATURE_KEY)


class SavedModelBuilder:
    """A writer of a SavedModel. A SavedModel consists of meta graphs, each with its tags, that
    share variables and assets.

        builder = tf.saved_model.Builder(folder)
        with tf.Session(graph=graph) as session:
            ...
            builder.add_meta_graph_and_variables(session, [tf.saved_model.SERVING], signatures)
        builder.save()

    The first meta graph is added together with a session's variables. Further meta graphs are added
    without variables. The constructor raises AssertionError if the folder exists and is not empty.
    """

    def __init__(self, export_dir: Any) -> None:
        self._export_dir = model_names.folder_text(export_dir)
        self._saved_model = messages_pb2.SavedModel()
        self._saved_model.saved_model_schema_version = model_names.SAVED_MODEL_SCHEMA_VERSION
        self._has_variables = False
        self._copied_assets: set[str] = set()
        if files.Exists(self._export_dir):
            if files.ListDirectory(self._export_dir):
                raise AssertionError(
                    "Export directory already exists, and isn't empty. Please choose a different "
                    "export directory, or delete all the contents of the specified directory: "
                    f"{self._export_dir}"
                )
        else:
            files.MakeDirs(self._export_dir)

    @deprecated_args(
        None, "Pass your op to the equivalent parameter main_op instead.", "legacy_init_op"
    )
    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Iterable[Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Add the default graph as another meta graph, after the variables have been saved.

        For the arguments and errors, see `add_meta_graph_and_variables`. Raises AssertionError if
        no variables have been saved yet.
        """
        if not self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        signatures = _checked(signature_def_map)
        self._add_collections(assets_collection, legacy_init_op if main_op is None else main_op)
        saver = saver or _saver_of_all()
        self._add(saver, tags, signatures, clear_devices, strip_default_attrs)

    @deprecated_args(
        None, "Pass your op to the equivalent parameter main_op instead.", "legacy_init_op"
    )
    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Iterable[Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Add the default graph as the first meta graph, and save the variables of a session.

        Args:
          sess: the session with the values of the variables.
          tags: the tags that identify the meta graph.
          signature_def_map: a dict from names to the SignatureDefs of the meta graph.
          assets_collection: constants that contain the paths of files. The files are copied.
          legacy_init_op: an older name of main_op.
          clear_devices: whether the devices of nodes are removed.
          main_op: the operation to run after the variables have been restored.
          strip_default_attrs: whether to omit attrs with default values from nodes.
          saver: the saver of the variables. By default, it is a sharded Saver of all variables.

        Raises:
          AssertionError: variables have already been saved, or a TensorInfo has no name or dtype.
          KeyError: the name of a signature is reserved.
          TypeError: main_op is not an operation, or an asset is not a constant string.
          ValueError: the graph has a main op already.
          tf.errors.OpError: the session or the file system failed.
        """
        if self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        signatures = _checked(signature_def_map)
        self._add_collections(assets_collection, legacy_init_op if main_op is None else main_op)
        prefix = model_names.variables_prefix(self._export_dir)
        files.MakeDirs(os.path.dirname(prefix))
        saver = saver or _saver_of_all()
        saver.save(sess, prefix, write_meta_graph=False, write_state=False)
        self._add(saver, tags, signatures, clear_devices, strip_default_attrs)
        self._has_variables = True

    def save(self, as_text: bool = False) -> bytes:
        """Write `saved_model.pb`, or `saved_model.pbtxt`, and return the path of the file as bytes.

        The file is written atomically. Raises ValueError if the message exceeds 2 GiB.
        """
        name = model_names.SAVED_MODEL_FILENAME_PB
        if as_text:
            name = model_names.SAVED_MODEL_FILENAME_PBTXT
        content = messages_pb2.file_content(self._saved_model, as_text)
        path = os.path.join(self._export_dir, name)
        write_whole(path, content)
        logging.info("SavedModel written to: %s", path)
        return os.fsencode(path)

    def _add_train_op(self, train_op: Any) -> None:
        """Record the op of a training step. Raises TypeError if `train_op` is neither a tensor nor
        an operation.

        Estimators call this function.
        """
        if train_op is None:
            return
        if not isinstance(train_op, Tensor | Operation):
            raise TypeError(f"train_op needs to be a Tensor or Op: {train_op}")
        get_default_graph().add_to_collection(model_names.TRAIN_OP_KEY, train_op)

    def _add_collections(self, assets: Iterable[Tensor] | None, main_op: Any) -> None:
        """Add assets and the main op to the graph's collections, and copy the files of the
        assets.
        """
        add_assets(assets, self._export_dir, self._copied_assets)
        if main_op is None:
            return
        if not isinstance(main_op, Operation):
            raise TypeError(f"main_op needs to be an Operation: {main_op!r}")
        graph = get_default_graph()
        for key in (model_names.MAIN_OP_KEY, model_names.LEGACY_INIT_OP_KEY):
            if graph.get_collection(key):
                raise ValueError(
                    f"Graph already contains one or more main ops under the collection {key}."
                )
        graph.add_to_collection(model_names.MAIN_OP_KEY, main_op)

    def _add(
        self,
        saver: Saver,
        tags: Iterable[str],
        signatures: Mapping[str, Any],
        clear_devices: bool,
        strip_default_attrs: bool,
    ) -> None:
        meta_graph = saver.export_meta_graph(
            clear_devices=clear_devices, strip_default_attrs=strip_default_attrs
        )
        meta_graph.meta_info_def.tags.extend(tags)
        for key, signature in signatures.items():
            meta_graph.signature_def[key].CopyFrom(signature)
        self._saved_model.meta_graphs.add().CopyFrom(meta_graph)


def _checked(signature_def_map: Mapping[str, Any] | None) -> Mapping[str, Any]:
    signatures = signature_def_map or {}
    check_signatures(signatures, _RESERVED)
    return signatures


def _saver_of_all() -> Saver:
    """Return a new Saver of all variables of the default graph, even if there are none."""
    return Saver(sharded=True, write_version=messages_pb2.SaverDef.V2, allow_empty=True)


def simple_save(
    session: Any,
    export_dir: Any,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Operation | None = None,
) -> None:
    """Write a SavedModel with a single signature.

    The tag is "serve", and the signature is "serving_default". The assets are taken from the
    collection `tf.GraphKeys.ASSET_FILEPATHS`. The devices of nodes are removed. The function raises
    the errors of `SavedModelBuilder`.

    Args:
      inputs, outputs: dicts from names to tensors.
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        tags=[model_names.SERVING],
        signature_def_map={model_names.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=get_default_graph().get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
