"""`load_function`: a signature of a SavedModel as a plain callable of NumPy arrays."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.config import ConfigProto
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.library.saved_models import model_names
from gpugraph.library.saved_models.model_loader import SavedModelLoader
from gpugraph.library.saved_models.tensor_infos import get_tensor_from_tensor_info
from gpugraph.ops.sparse.sparse_tensor import SparseTensor
from gpugraph.session import Session


class LoadedFunction:
    """A signature that has a graph and a session of its own; see `load_function`.

    It may be called by several threads at once. It is a context manager, which closes it.
    `inputs` and `outputs` are TensorSpecs by name.
    """

    def __init__(
        self,
        loader: SavedModelLoader,
        signature: str | None,
        tags: Any,
        config: ConfigProto | None,
        safe_mode: bool,
    ) -> None:
        tags = _chosen_tags(loader, tags)
        meta_graph = loader.get_meta_graph_def_from_tags(tags)
        self.signature = _chosen_signature(meta_graph.signature_def, signature, loader.export_dir)
        message = meta_graph.signature_def[self.signature]
        self.method_name = str(message.method_name)
        graph = Graph()
        self._session: Any = Session(graph=graph, config=config)
        self._lock = threading.Lock()
        try:
            loader.load(self._session, tags, safe_mode=safe_mode)
            self._inputs = {
                key: get_tensor_from_tensor_info(info, graph)
                for key, info in message.inputs.items()
            }
            self._outputs = {
                key: get_tensor_from_tensor_info(info, graph)
                for key, info in sorted(message.outputs.items())
            }
            graph.finalize()
        except BaseException:
            self._session.close()
            raise
        self.inputs = {key: _spec(tensor) for key, tensor in self._inputs.items()}
        self.outputs = {key: _spec(tensor) for key, tensor in self._outputs.items()}

    def __call__(
        self, inputs: Mapping[str, Any] | None = None, /, **named_inputs: Any
    ) -> dict[str, Any]:
        """The outputs by name: new NumPy arrays, or SparseTensorValues.

        inputs: arrays by the names of the signature's inputs; they may be keywords too.

        Raises:
          ValueError: an input that is missing, not of the signature, or of another shape.
          RuntimeError: the function is closed.
          tf.errors.OpError: what the graph raises.
        """
        values = {**(inputs or {}), **named_inputs}
        if values.keys() != self._inputs.keys():
            missing = sorted(self._inputs.keys() - values.keys())
            unknown = sorted(map(str, values.keys() - self._inputs.keys()))
            raise ValueError(
                f"The signature '{self.signature}' has the inputs {sorted(self._inputs)}: "
                f"missing {missing}, unknown {unknown}"
            )
        session = self._session
        if session is None:
            raise RuntimeError(f"The function of signature '{self.signature}' is closed.")
        feeds = {self._inputs[key]: value for key, value in values.items()}
        return dict(session.run(self._outputs, feeds))

    def close(self) -> None:
        """Closes the session; a second time does nothing."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.close()

    def __enter__(self) -> LoadedFunction:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<LoadedFunction '{self.signature}': {list(self.inputs)} -> {list(self.outputs)}>"


def _spec(tensor: Any) -> TensorSpec:
    name = tensor.values.name if isinstance(tensor, SparseTensor) else tensor.name
    return TensorSpec(tensor.get_shape(), as_dtype(tensor.dtype).base_dtype, name)


def _chosen_tags(loader: SavedModelLoader, tags: Iterable[str] | str | None) -> list[str]:
    """The tags asked for; without, "serve" or those of the only meta graph."""
    if tags is not None:
        return [tags] if isinstance(tags, str) else list(tags)
    meta_graphs = loader.saved_model.meta_graphs
    if len(meta_graphs) == 1:
        return list(meta_graphs[0].meta_info_def.tags)
    return [model_names.SERVING]


def _chosen_signature(signatures: Any, name: str | None, export_dir: str) -> str:
    reserved = (model_names.INIT_OP_SIGNATURE_KEY, model_names.TRAIN_OP_SIGNATURE_KEY)
    names = sorted(key for key in signatures if key not in reserved)
    if name is None:
        default = model_names.DEFAULT_SERVING_SIGNATURE_DEF_KEY
        name = names[0] if len(names) == 1 else default
    if name not in names:
        raise ValueError(
            f"The SavedModel in {export_dir} has no signature '{name}'; it has {names or 'none'}"
        )
    return name


def load_function(
    path: Any,
    signature: str | None = None,
    *,
    tags: Iterable[str] | str | None = None,
    config: ConfigProto | None = None,
    safe_mode: bool = True,
) -> LoadedFunction:
    """A signature of a SavedModel as a function: a dict of NumPy arrays in, a dict out.

        predict = gpugraph.saved_model.load_function("model")
        predict({"x": images})["y"]

    It has a graph and a session of its own, and may be called by several threads at once.

    Args:
      path: the folder of the SavedModel.
      signature: the name of the signature; the only one, or "serving_default", by default.
      tags: the tags of the meta graph; those of the only one, or "serve", by default.
      config: the session's settings.
      safe_mode: see `tf.saved_model.load`.

    Raises:
      ValueError: there is no such signature.
      RuntimeError, OSError, tf.errors.OpError: what `tf.saved_model.load` raises.
      KeyError: the signature names a tensor that the graph has not.
    """
    return LoadedFunction(SavedModelLoader(path), signature, tags, config, safe_mode)
