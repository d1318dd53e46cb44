"""SignatureDefs, which name the input and output tensors of a function in a graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.saved_models import model_names
from gpugraph.library.saved_models.tensor_infos import build_tensor_info


class _Served(NamedTuple):
    """The names and dtypes that TensorFlow Serving requires of a method's inputs and outputs.

    Args:
      all_outputs: whether all outputs are required. If it is False, one output is enough.
    """

    inputs: dict[str, DType]
    outputs: dict[str, DType]
    all_outputs: bool


_SERVED = {
    model_names.REGRESS_METHOD_NAME: _Served(
        {model_names.REGRESS_INPUTS: dtypes.string},
        {model_names.REGRESS_OUTPUTS: dtypes.float32},
        True,
    ),
    model_names.CLASSIFY_METHOD_NAME: _Served(
        {model_names.CLASSIFY_INPUTS: dtypes.string},
        {
            model_names.CLASSIFY_OUTPUT_CLASSES: dtypes.string,
            model_names.CLASSIFY_OUTPUT_SCORES: dtypes.float32,
        },
        False,
    ),
}


def build_signature_def(
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    method_name: str | None = None,
) -> Any:
    """Return a SignatureDef with these inputs and outputs.

    Args:
      inputs, outputs: dicts from names to TensorInfos.
    """
    signature = messages_pb2.SignatureDef()
    for key, info in (inputs or {}).items():
        signature.inputs[key].CopyFrom(info)
    for key, info in (outputs or {}).items():
        signature.outputs[key].CopyFrom(info)
    if method_name is not None:
        signature.method_name = method_name
    return signature


def regression_signature_def(examples: Any, predictions: Any) -> Any:
    """Return the signature of a regression: float32 predictions for serialized `tf.train.Example`s.

    Raises ValueError if a value is missing, is not a Tensor or has the wrong dtype.
    """
    _check_examples(examples, "Regression")
    if predictions is None:
        raise ValueError("Regression predictions cannot be None.")
    infos = _checked(examples, dtypes.string, "Regression input tensors must be of type string.")
    results = _checked(
        predictions, dtypes.float32, "Regression output tensors must be of type float."
    )
    return build_signature_def(
        {model_names.REGRESS_INPUTS: infos},
        {model_names.REGRESS_OUTPUTS: results},
        model_names.REGRESS_METHOD_NAME,
    )


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    """Return the signature of a classification: classes (strings), scores (float32), or both.

    Raises ValueError if a value is missing, is not a Tensor or has the wrong dtype.
    """
    _check_examples(examples, "Classification")
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    infos = _checked(
        examples, dtypes.string, "Classification input tensors must be of type string."
    )
    outputs = {}
    if classes is not None:
        outputs[model_names.CLASSIFY_OUTPUT_CLASSES] = _checked(
            classes, dtypes.string, "Classification classes must be of type string Tensor."
        )
    if scores is not None:
        outputs[model_names.CLASSIFY_OUTPUT_SCORES] = _checked(
            scores, dtypes.float32, "Classification scores must be a float Tensor."
        )
    return build_signature_def(
        {model_names.CLASSIFY_INPUTS: infos}, outputs, model_names.CLASSIFY_METHOD_NAME
    )


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """Return a signature for a function of any tensors.

    Raises ValueError if there are no inputs or no outputs.

    Args:
      inputs, outputs: dicts from names to tensors.
    """
    if not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    return build_signature_def(
        {key: build_tensor_info(tensor) for key, tensor in inputs.items()},
        {key: build_tensor_info(tensor) for key, tensor in outputs.items()},
        model_names.PREDICT_METHOD_NAME,
    )


def supervised_train_signature_def(
    inputs: Any, loss: Any, predictions: Any = None, metrics: Any = None
) -> Any:
    """Return the signature of a training step. Each argument is a dict from names to tensors, or
    None.

    Raises ValueError if there are no inputs.
    """
    outputs = (loss, predictions, metrics)
    return _supervised(model_names.SUPERVISED_TRAIN_METHOD_NAME, inputs, outputs)


def supervised_eval_signature_def(
    inputs: Any, loss: Any, predictions: Any = None, metrics: Any = None
) -> Any:
    """Return the signature of an evaluation step. For the arguments and errors, see
    `supervised_train_signature_def`.
    """
    outputs = (loss, predictions, metrics)
    return _supervised(model_names.SUPERVISED_EVAL_METHOD_NAME, inputs, outputs)


def _supervised(method_name: str, inputs: Any, outputs: Sequence[Any]) -> Any:
    if not inputs:
        raise ValueError(f"{method_name} inputs cannot be None or empty.")
    return build_signature_def(
        {key: build_tensor_info(tensor) for key, tensor in inputs.items()},
        {
            key: build_tensor_info(tensor)
            for tensors in outputs
            for key, tensor in (tensors or {}).items()
        },
        method_name,
    )


def is_valid_signature(signature_def: Any) -> bool:
    """Return whether a SignatureDef has the inputs and outputs that its method requires.

    The methods are the ones of TensorFlow Serving: regression, classification and prediction.
    """
    if signature_def is None:
        return False
    inputs, outputs = signature_def.inputs, signature_def.outputs
    if not inputs or not outputs:
        return False
    if signature_def.method_name == model_names.PREDICT_METHOD_NAME:
        return True
    served = _SERVED.get(signature_def.method_name)
    if served is None or set(inputs) != set(served.inputs) or set(outputs) - set(served.outputs):
        return False
    if served.all_outputs and set(outputs) != set(served.outputs):
        return False
    return _have_dtypes(inputs, served.inputs) and _have_dtypes(outputs, served.outputs)


def _have_dtypes(infos: Any, expected: Mapping[str, DType]) -> bool:
    return all(infos[key].dtype == expected[key].as_datatype_enum for key in infos)


def _check_examples(examples: Any, kind: str) -> None:
    if examples is None:
        raise ValueError(f"{kind} examples cannot be None.")
    if not isinstance(examples, Tensor):
        raise ValueError(f"{kind} examples must be a string Tensor, not {examples!r:.100}")


def _checked(tensor: Any, dtype: DType, message: str) -> Any:
    info = build_tensor_info(tensor)
    if info.dtype != dtype.as_datatype_enum:
        raise ValueError(f"{message} '{info.name}' is of type {dtypes.as_dtype(info.dtype).name}.")
    return info


# -- checks of the builder


def check_signatures(signatures: Mapping[str, Any], reserved: Collection[str]) -> None:
    """Raise AssertionError if a TensorInfo has no name or no dtype. Raise KeyError if a signature
    has a reserved name.
    """
    for signature in signatures.values():
        for infos in (signature.inputs, signature.outputs):
            for key in infos:
                _check_tensor_info(infos[key])
    for key in reserved:
        if key in signatures:
            raise KeyError(
                f'SignatureDef map key "{key}" is reserved for initialization and training. '
                "Please use a different key."
            )


def _check_tensor_info(info: Any) -> None:
    encoding = info.WhichOneof("encoding")
    if encoding == "composite_tensor":
        for component in info.composite_tensor.components:
            _check_tensor_info(component)
        return
    asked = "All TensorInfo protos used in the SignatureDefs must have"
    if encoding is None:
        raise AssertionError(
            f"Invalid `tensor_info`: {info}. {asked} one of the 'encoding' fields (e.g., name or "
            "coo_sparse) set."
        )
    if info.dtype == messages_pb2.DT_INVALID:
        raise AssertionError(f"Invalid `tensor_info`: {info}. {asked} the dtype field set.")
