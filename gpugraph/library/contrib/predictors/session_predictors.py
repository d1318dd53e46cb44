"""Predictors: calls with arrays run a session's graph and return arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.saved_models.model_loader import load
from gpugraph.library.saved_models.model_names import DEFAULT_SERVING_SIGNATURE_DEF_KEY, SERVING
from gpugraph.library.train import MonitoredSession
from gpugraph.library.train.monitored_sessions.session_creators import ChiefSessionCreator
from gpugraph.session import Session


class Predictor:
    """A function from a dict of arrays to a dict of arrays.

    session, graph: what a call runs. feed_tensors, fetch_tensors: the tensors by their names in
    calls and results.
    """

    def __init__(
        self, session: Any, feed_tensors: Mapping[str, Any], fetch_tensors: Mapping[str, Any]
    ) -> None:
        self.session, self.graph = session, session.graph
        self.feed_tensors, self.fetch_tensors = dict(feed_tensors), dict(fetch_tensors)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} with feed tensors {self.feed_tensors} and fetch_tensors "
            f"{self.fetch_tensors}"
        )

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Return the results for inputs by name. Raises ValueError for unknown names of inputs."""
        if unknown := set(input_dict) - set(self.feed_tensors):
            raise ValueError(
                f"Got unexpected keys in input_dict: {unknown}\nexpected: {set(self.feed_tensors)}"
            )
        feeds = {self.feed_tensors[name]: value for name, value in input_dict.items()}
        results: dict[str, Any] = self.session.run(self.fetch_tensors, feeds)
        return results


def from_saved_model(
    export_dir: str,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: str | None = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """Load a saved model and return the predictor of one of its signatures.

    At most one of these tells the inputs and outputs: signature_def_key, the name of a signature,
    "serving_default" unless set; signature_def, a SignatureDef; input_names and output_names, the
    names of tensors. tags: with commas, "serve" unless set. Raise ValueError if more is set, or the
    model lacks the signature.
    """
    if sum(value is not None for value in (signature_def_key, signature_def, input_names)) > 1:
        raise ValueError(
            "You must specify at most one of signature_def_key OR signature_def OR "
            "(input_names AND output_names)."
        )
    if (input_names is None) != (output_names is None):
        raise ValueError(
            "input_names and output_names must both be specified or both be unspecified."
        )
    target = graph or Graph()
    with target.as_default():
        session = Session(config=config, graph=target)
        model = load(session, (tags or SERVING).split(","), export_dir)
    if input_names is None:
        chosen = signature_def or _signature(model, signature_def_key)
        input_names = {name: info.name for name, info in chosen.inputs.items()}
        output_names = {name: info.name for name, info in chosen.outputs.items()}
    feeds = {name: target.get_tensor_by_name(tensor) for name, tensor in input_names.items()}
    fetches = {
        name: target.get_tensor_by_name(tensor) for name, tensor in (output_names or {}).items()
    }
    return Predictor(session, feeds, fetches)


def _signature(model: Any, key: str | None) -> Any:
    wanted = key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if wanted not in model.signature_def:
        raise ValueError(
            f"Got signature_def_key '{wanted}'. Available signatures are "
            f"{sorted(model.signature_def)}."
        )
    return model.signature_def[wanted]


def from_estimator(
    estimator: Any,
    serving_input_receiver_fn: Any,
    output_key: str | None = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """Return the predictor of an estimator's latest checkpoint.

    serving_input_receiver_fn: adds the inputs and returns a ServingInputReceiver. output_key: one
    of the `export_outputs` of the model function; its `predictions` unless set. Raise ValueError if
    there is no checkpoint, and for an unknown key.
    """
    target = graph or Graph()
    with target.as_default():
        receiver = serving_input_receiver_fn()
        spec = estimator._call_model_fn(receiver.features, None, "infer", estimator.config)
        checkpoint = estimator.latest_checkpoint()
        if checkpoint is None:
            raise ValueError(f"There is no checkpoint in {estimator.model_dir}: train it first")
        creator = ChiefSessionCreator(
            spec.scaffold, config=config, checkpoint_filename_with_path=checkpoint
        )
        session = MonitoredSession(session_creator=creator)
    return Predictor(session, _named(receiver.receiver_tensors), _outputs(spec, output_key))


def _named(tensors: Any) -> dict[str, Any]:
    return {"input": tensors} if isinstance(tensors, Tensor) else dict(tensors)


def _outputs(spec: Any, key: str | None) -> dict[str, Any]:
    if key is None:
        predictions = spec.predictions
        return dict(predictions) if isinstance(predictions, Mapping) else {"output": predictions}
    exports = spec.export_outputs or {}
    if key not in exports:
        raise ValueError(f"Unknown output_key {key!r}: the model function has {sorted(exports)}")
    export = exports[key]
    outputs = getattr(export, "outputs", None)
    if outputs is not None:
        return dict(outputs)
    names: Sequence[str] = ("scores", "classes", "value")
    values = {name: getattr(export, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}
