"""The function `load_function`. It returns a callable that runs a signature of a SavedModel on
NumPy arrays.
"""

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
    """A callable for one signature, with its own graph and session. `load_function` creates it.

    Several threads may call it at the same time. If it is used in a `with` statement, it is closed
    at the end of the block. The fields `inputs` and `outputs` are dicts from names to TensorSpecs.
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
        """Return a dict from the names of the outputs to new NumPy arrays or SparseTensorValues.

        Raises:
          ValueError: an input is missing, is not in the signature, or has the wrong shape.
          RuntimeError: the function is closed.
          tf.errors.OpError: an operation of the graph failed.

        Args:
          inputs: a dict from the names of the signature's inputs to arrays. The arrays may also be
            passed as keyword arguments.
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
        """Close the session. A second call has no effect."""
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
    """Return the requested tags. If no tags are requested, return the tags of the only meta graph,
    or "serve" if there are several meta graphs.
    """
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
    """Load a signature of a SavedModel as a function. It takes and returns a dict of NumPy arrays.

        predict = gpugraph.saved_model.load_function("model")
        predict({"x": images})["y"]

    The function has its own graph and session. Several threads may call it at the same time.

    Args:
      path: the folder of the SavedModel.
      signature: the key of the signature. By default, it is the key of the only signature, or
        "serving_default" if there are several signatures.
      tags: the tags of the meta graph. By default, they are the tags of the only meta graph, or
        "serve" if there are several meta graphs.
      config: the session's settings.
      safe_mode: see `tf.saved_model.load`.

    Raises:
      ValueError: there is no such signature.
      RuntimeError, OSError, tf.errors.OpError: `tf.saved_model.load` raised this error.
      KeyError: the signature names a tensor that is not in the graph.
    """
    return LoadedFunction(SavedModelLoader(path), signature, tags, config, safe_mode)
