"""`tf.contrib.predictor`, which returns predictions of a SavedModel or an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.library.saved_models.model_loader import load
from gpugraph.library.saved_models.model_names import DEFAULT_SERVING_SIGNATURE_DEF_KEY, SERVING
from gpugraph.library.train.monitored_sessions.monitored_session import MonitoredSession
from gpugraph.library.train.monitored_sessions.session_creators import ChiefSessionCreator
from gpugraph.session import Session


class Predictor:
    """A function that maps a dict of arrays to a dict of arrays. Each call runs a session.

    Args:
      feed_tensors: a dict from keys to the tensors that are fed.
      fetch_tensors: a dict from keys to the tensors that are fetched.
    """

    def __init__(
        self,
        graph: Graph,
        session: Any,
        feed_tensors: Mapping[str, Any],
        fetch_tensors: Mapping[str, Any],
    ) -> None:
        self._graph, self._session = graph, session
        self._feed_tensors, self._fetch_tensors = dict(feed_tensors), dict(fetch_tensors)

    @property
    def graph(self) -> Graph:
        """The graph of the session."""
        return self._graph

    @property
    def session(self) -> Any:
        """The session, which holds the values of the variables."""
        return self._session

    @property
    def feed_tensors(self) -> dict[str, Any]:
        """A dict from keys to the tensors that are fed."""
        return self._feed_tensors

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        """A dict from keys to the tensors that are fetched."""
        return self._fetch_tensors

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} with feed tensors {self._feed_tensors} and fetch_tensors "
            f"{self._fetch_tensors}"
        )

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Return a dict of the arrays that are fetched when these inputs are fed. Raises ValueError
        if a key is unknown.
        """
        unknown = set(input_dict) - set(self._feed_tensors)
        if unknown:
            raise ValueError(
                f"Got unexpected keys in input_dict: {unknown}\nexpected: {set(self._feed_tensors)}"
            )
        feed = {self._feed_tensors[key]: value for key, value in input_dict.items()}
        result: dict[str, Any] = self._session.run(self._fetch_tensors, feed)
        return result


def from_saved_model(
    export_dir: Any,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: Iterable[str] | str | None = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """Return a predictor that computes a signature of a SavedModel.

    At most one of `signature_def_key`, `signature_def` and the pair of `input_names` and
    `output_names` can be passed. Raises ValueError if several of them are passed, or if the
    signature is unknown.

    Args:
      signature_def_key: the key of the signature. The default is "serving_default".
      signature_def: the signature itself.
      input_names: a dict from keys to the names of the input tensors.
      output_names: a dict from keys to the names of the output tensors.
      tags: the tags of the meta graph. In a string, they are separated by commas.
    """
    signatures = [signature_def_key is not None, signature_def is not None, input_names is not None]
    if sum(signatures) > 1:
        raise ValueError(
            "You must specify at most one of signature_def_key OR signature_def OR (input_names "
            "AND output_names)."
        )
    if (input_names is None) != (output_names is None):
        raise ValueError("input_names and output_names must both be specified or both be None.")
    graph = Graph() if graph is None else graph
    listed = tags.split(",") if isinstance(tags, str) else list(tags or [SERVING])
    with graph.as_default():
        session = Session(config=config)
        meta = load(session, listed, export_dir)
    if input_names is None or output_names is None:
        signature = signature_def or _signature(meta, signature_def_key, export_dir)
        input_names = {key: info.name for key, info in signature.inputs.items()}
        output_names = {key: info.name for key, info in signature.outputs.items()}
    return Predictor(graph, session, _tensors(graph, input_names), _tensors(graph, output_names))


def get_signature_def_by_key(meta_graph_def: Any, signature_def_key: str) -> Any:
    """Return the signature that has this key in a MetaGraphDef. Raises ValueError if no signature
    has this key.

    This is a function of `tf.contrib.saved_model`.
    """
    if signature_def_key not in meta_graph_def.signature_def:
        raise ValueError(
            f"No SignatureDef with key '{signature_def_key}' found in MetaGraphDef. It has "
            f"{sorted(meta_graph_def.signature_def)}"
        )
    return meta_graph_def.signature_def[signature_def_key]


def _signature(meta: Any, key: str | None, export_dir: Any) -> Any:
    key = DEFAULT_SERVING_SIGNATURE_DEF_KEY if key is None else key
    if key not in meta.signature_def:
        raise ValueError(
            f'Got signature_def_key "{key}". Available signatures are '
            f"{set(meta.signature_def)}. The SavedModel is in {export_dir}"
        )
    return meta.signature_def[key]


def _tensors(graph: Graph, names: Mapping[str, str]) -> dict[str, Any]:
    return {key: graph.get_tensor_by_name(name) for key, name in names.items()}


def from_estimator(
    estimator: Any,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """Return a predictor that uses an estimator's latest checkpoint.

    Raises ValueError if there is no export output with this key.

    Args:
      serving_input_receiver_fn: a function that returns the tensors to feed and the features.
      output_key: the key of the export output. By default, it is the only key, or "serving_default"
        if there are several.
    """
    graph = Graph() if graph is None else graph
    with graph.as_default():
        receiver = serving_input_receiver_fn()
        spec = estimator._call_model_fn(receiver.features, None, "infer", estimator.config)
        outputs = _export_output(spec.export_outputs or {}, output_key)
        creator = ChiefSessionCreator(
            scaffold=spec.scaffold,
            config=config,
            checkpoint_filename_with_path=estimator.latest_checkpoint(),
        )
        session = MonitoredSession(session_creator=creator)
    return Predictor(graph, session, receiver.receiver_tensors, outputs)


def _export_output(outputs: Mapping[str, Any], key: str | None) -> dict[str, Any]:
    """Return a dict of the tensors of the export output with this key."""
    if key is None:
        key = next(iter(outputs)) if len(outputs) == 1 else DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if key not in outputs:
        raise ValueError(f"Got output_key {key}, but the estimator's outputs are {set(outputs)}")
    signature = outputs[key].as_signature_def({})
    graph = get_default_graph()
    return _tensors(graph, {key: info.name for key, info in signature.outputs.items()})
