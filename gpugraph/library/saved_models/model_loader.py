"""`tf.saved_model.load`, which loads a meta graph of a SavedModel and its variables into a
session.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from gpugraph.base.errors import NotFoundError, PermissionDeniedError
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.saved_models import model_names
from gpugraph.library.saved_models.model_assets import asset_feeds
from gpugraph.library.saved_models.saved_model_file import parse_saved_model
from gpugraph.library.saved_models.tensor_infos import element_of_tensor_info
from gpugraph.library.train.savers.saver import Saver
from gpugraph.library.train.savers.saver_of_meta_graph import import_meta_graph_with_return_elements
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.platform import logging

_VARIABLES = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.SAVEABLE_OBJECTS)
_INIT_COLLECTIONS = (model_names.MAIN_OP_KEY, model_names.LEGACY_INIT_OP_KEY)


class SavedModelLoader:
    """A SavedModel that was read from a folder. Its meta graphs can be loaded into graphs and
    sessions.

    The constructor raises OSError if the folder does not contain the file of a SavedModel, or if
    the file is not a SavedModel.
    """

    def __init__(self, export_dir: Any) -> None:
        self._export_dir = model_names.folder_text(export_dir)
        self._saved_model = parse_saved_model(export_dir)

    @property
    def export_dir(self) -> str:
        """The folder of the SavedModel."""
        return self._export_dir

    @property
    def variables_path(self) -> str:
        """The path of the checkpoint with the variables, without the suffix of its files."""
        return model_names.variables_prefix(self._export_dir)

    @property
    def saved_model(self) -> Any:
        """The SavedModel protobuf message that was read from the folder."""
        return self._saved_model

    def get_meta_graph_def_from_tags(self, tags: Iterable[str]) -> Any:
        """Return the MetaGraphDef with exactly these tags. Raises RuntimeError if the SavedModel
        has no such MetaGraphDef.
        """
        tags = [tags] if isinstance(tags, str) else list(tags)
        available = [set(meta.meta_info_def.tags) for meta in self._saved_model.meta_graphs]
        for meta_graph, its_tags in zip(self._saved_model.meta_graphs, available):
            if its_tags == set(tags):
                return meta_graph
        shown = ", ".join(str(sorted(its_tags)) for its_tags in available)
        raise RuntimeError(
            f"MetaGraphDef associated with tags {str(tags).strip('[]')} could not be found in "
            f"SavedModel {self._export_dir}. Available tags: {shown or 'none'}. To inspect a "
            f"SavedModel, use `gpugraph show {self._export_dir}`."
        )

    def load_graph(
        self,
        graph: Graph,
        tags: Iterable[str],
        import_scope: str | None = None,
        **saver_kwargs: Any,
    ) -> tuple[Saver | None, list[Any] | None]:
        """Add the meta graph with these tags to `graph`.

        Returns (the saver of the meta graph's variables, the tensors or operations that
        `return_elements` in saver_kwargs names). Each of the two may be None.
        """
        with graph.as_default():
            return import_meta_graph_with_return_elements(
                self.get_meta_graph_def_from_tags(tags), import_scope=import_scope, **saver_kwargs
            )

    def restore_variables(
        self,
        sess: Any,
        saver: Saver | None,
        import_scope: str | None = None,
        safe_mode: bool = True,
    ) -> None:
        """Restore the variables in `sess` with `saver`. For the other arguments, see `load`.

        Raises ValueError if the graph has variables but no saver.
        """
        graph = sess.graph
        with graph.as_default():
            if saver is not None:
                if safe_mode and saver.saver_def is not None:
                    with contextlib.suppress(
                        KeyError, ValueError
                    ):  # a missing name is reported by `restore`
                        self._check(graph.as_graph_element(saver.saver_def.restore_op_name))
                saver.restore(sess, self.variables_path)
            elif not any(graph.get_collection(key, import_scope) for key in _VARIABLES):
                logging.info(
                    "The specified SavedModel has no variables; no checkpoints were restored."
                )
            else:
                raise ValueError(
                    "No tf.train.Saver object was passed to the function "
                    "`SavedModelLoader.restore_variables`. Since there are variables in the graph, "
                    "a saver is required."
                )

    def run_init_ops(
        self,
        sess: Any,
        tags: Iterable[str],
        import_scope: str | None = None,
        safe_mode: bool = True,
    ) -> None:
        """Run the meta graph's main op, if there is one. The paths of the assets are fed to it.

        For the arguments, see `load`.
        """
        meta_graph = self.get_meta_graph_def_from_tags(tags)
        with sess.graph.as_default():
            feeds = asset_feeds(meta_graph, self._export_dir, import_scope)
            op = _init_op(meta_graph, sess.graph, import_scope)
            if op is not None:
                if safe_mode:
                    self._check(op, feeds)
                sess.run([op], feeds)

    def _check(self, fetch: Any, feeds: Iterable[Any] = ()) -> None:
        """Raise PermissionDeniedError if running `fetch` would write files or call Python
        functions.
        """
        for op in _ancestors(getattr(fetch, "op", fetch)):
            if _reaches_out(op, feeds):
                raise PermissionDeniedError(
                    op.node_def,
                    op,
                    f"Loading the SavedModel in {self._export_dir} would run '{op.name}', whose "
                    f"type {op.type} writes files or calls Python functions. If you trust the "
                    "model, load it with safe_mode=False.",
                )

    def load(
        self,
        sess: Any,
        tags: Iterable[str],
        import_scope: str | None = None,
        safe_mode: bool = True,
        **saver_kwargs: Any,
    ) -> Any:
        """Load the graph and the variables, run the main op, and return the MetaGraphDef.

        For the other arguments, see the function `load`.

        Args:
          safe_mode: whether to reject a model that has ops that write files or call Python
            functions. The message of the PermissionDeniedError names one of these ops.
        """
        tags = [tags] if isinstance(tags, str) else list(tags)
        with sess.graph.as_default():
            saver, _ = self.load_graph(sess.graph, tags, import_scope, **saver_kwargs)
            self.restore_variables(sess, saver, import_scope, safe_mode)
            self.run_init_ops(sess, tags, import_scope, safe_mode)
        return self.get_meta_graph_def_from_tags(tags)


def _reaches_out(op: Any, feeds: Iterable[Any]) -> bool:
    """Return whether a run of the op may write files or call Python functions."""
    declaration = DECLARATIONS.get(op.type)
    if declaration is None or not declaration.reaches_out:
        return False
    if declaration.harmless_without is None:
        return True
    path = op.inputs[declaration.harmless_without]
    fed = {getattr(tensor, "name", tensor) for tensor in feeds}
    is_empty = path.op.type == "Const" and constant_value(path).tolist() == b""
    return not is_empty or path.name in fed


def _ancestors(op: Any) -> Iterator[Any]:
    """Yield the operation and all operations that it depends on. Feeds are not considered."""
    waiting, seen = [op], {op}
    while waiting:
        op = waiting.pop()
        yield op
        needed = {*(tensor.op for tensor in op.inputs), *op.control_inputs} - seen
        seen |= needed
        waiting += needed


def _init_op(meta_graph: Any, graph: Graph, import_scope: str | None) -> Any:
    """Return the operation to run after loading, or None. A signature or a collection names the
    operation.
    """
    key = model_names.INIT_OP_SIGNATURE_KEY
    if key in meta_graph.signature_def:
        outputs = meta_graph.signature_def[key].outputs
        try:
            if key not in outputs:
                raise KeyError(key)
            return element_of_tensor_info(outputs[key], graph, import_scope)
        except KeyError as error:
            message = f'The key "{key}" could not be found in the graph: {error}'
            raise NotFoundError(None, None, message) from error
    for key in _INIT_COLLECTIONS:
        if key in meta_graph.collection_def:
            names = meta_graph.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError(
                    f"Expected exactly one SavedModel init op. Found {len(names)}: {list(names)}."
                )
            return graph.get_collection(key)[0]
    return None


def load(
    sess: Any,
    tags: Iterable[str],
    export_dir: Any,
    import_scope: str | None = None,
    safe_mode: bool = True,
    **saver_kwargs: Any,
) -> Any:
    """Load a meta graph of a SavedModel and its variables into a session, and run its main op.

    Args:
      sess: the session. Its graph receives the nodes, and the session receives the values of the
        variables.
      tags: all tags of the meta graph.
      export_dir: the folder of the SavedModel.
      import_scope: a name scope for all nodes. The names in the returned message do not contain
        this scope.
      safe_mode: whether to reject a model if its main op, or the operation that restores its
        variables, would write files or call Python functions.
      **saver_kwargs: additional arguments of `tf.train.import_meta_graph`.

    Returns:
      The MetaGraphDef, which contains the signatures and the collections.

    Raises:
      RuntimeError: there is no meta graph with these tags.
      OSError: there is no SavedModel, or the file is not a SavedModel.
      tf.errors.InvalidArgumentError: an asset's name leads out of the folder.
      tf.errors.PermissionDeniedError: `safe_mode` is true, and the model is rejected. Variables may
        be restored already.
      tf.errors.OpError: an op type is not implemented here, or a checkpoint is missing or damaged.
    """
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, safe_mode, **saver_kwargs)
