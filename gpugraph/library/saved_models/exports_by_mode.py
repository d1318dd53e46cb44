"""The signatures that an estimator exports in each mode: training, evaluation and prediction."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from gpugraph.library.saved_models.export_outputs import (
    EvalOutput,
    ExportOutput,
    PredictOutput,
    TrainOutput,
)
from gpugraph.library.saved_models.model_names import (
    DEFAULT_EVAL_SIGNATURE_DEF_KEY,
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    DEFAULT_TRAIN_SIGNATURE_DEF_KEY,
    EVAL,
    SERVING,
    TRAINING,
)
from gpugraph.library.saved_models.signatures import is_valid_signature
from gpugraph.platform import files, logging

SINGLE_FEATURE_DEFAULT_NAME = "feature"
SINGLE_RECEIVER_DEFAULT_NAME = "input"
SINGLE_LABEL_DEFAULT_NAME = "label"
_ATTEMPTS = 10


class KerasModeKeys:
    """The modes of Keras models."""

    TRAIN = "train"
    TEST = "test"
    PREDICT = "predict"


class EstimatorModeKeys:
    """The modes of estimators (`tf.estimator.ModeKeys`)."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


def is_predict(mode: Any) -> bool:
    """Return whether a mode of Keras or of estimators is prediction."""
    return mode in (KerasModeKeys.PREDICT, EstimatorModeKeys.PREDICT)


def is_eval(mode: Any) -> bool:
    """Return whether a mode of Keras or of estimators is evaluation."""
    return mode in (KerasModeKeys.TEST, EstimatorModeKeys.EVAL)


def is_train(mode: Any) -> bool:
    """Return whether a mode of Keras or of estimators is training."""
    return mode in (KerasModeKeys.TRAIN, EstimatorModeKeys.TRAIN)


class ModeKeyMap(Mapping[str, Any]):
    """A mapping in which modes of Keras and modes of estimators are equivalent keys."""

    def __init__(self, **kwargs: Any) -> None:
        self._keys = list(kwargs)
        self._values: dict[str, Any] = {}
        for mode, value in kwargs.items():
            kind = self._kind(mode)
            if kind in self._values:
                raise ValueError(
                    f"Error creating ModeKeyMap. Multiple keys/values found for {kind} mode."
                )
            self._values[kind] = value

    @staticmethod
    def _kind(mode: Any) -> str:
        for is_mode, kind in (
            (is_train, KerasModeKeys.TRAIN),
            (is_eval, KerasModeKeys.TEST),
            (is_predict, KerasModeKeys.PREDICT),
        ):
            if is_mode(mode):
                return kind
        raise ValueError(f"Invalid mode key: {mode}.")

    def __contains__(self, mode: object) -> bool:
        return any(is_mode(mode) for is_mode in (is_train, is_eval, is_predict)) and (
            self._kind(mode) in self._values
        )

    def __getitem__(self, mode: str) -> Any:
        return self._values[self._kind(mode)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


EXPORT_TAG_MAP = ModeKeyMap(predict=[SERVING], train=[TRAINING], test=[EVAL])
"""By mode, the tags of the meta graph."""

SIGNATURE_KEY_MAP = ModeKeyMap(
    predict=DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    train=DEFAULT_TRAIN_SIGNATURE_DEF_KEY,
    test=DEFAULT_EVAL_SIGNATURE_DEF_KEY,
)
"""By mode, the key of the default signature."""


def build_all_signature_defs(
    receiver_tensors: Any,
    export_outputs: Any,
    receiver_tensors_alternatives: Any = None,
    serving_only: bool = True,
) -> dict[str, Any]:
    """Return a dict by name with a signature for each pair of an output and a set of inputs.

    A pair is omitted if the signature of the output does not permit the inputs.

    Raises ValueError if `export_outputs` is not a dict.

    Args:
      serving_only: whether to omit the signatures that a server does not accept.
    """
    if not isinstance(export_outputs, dict):
        raise ValueError(f"export_outputs must be a dict and not{type(export_outputs)}")
    inputs_by_prefix = {"": receiver_tensors} | {
        f"{name or 'None'}:": inputs
        for name, inputs in (receiver_tensors_alternatives or {}).items()
    }
    signatures, excluded = {}, {}
    for prefix, inputs in inputs_by_prefix.items():
        by_name = inputs if isinstance(inputs, dict) else {SINGLE_RECEIVER_DEFAULT_NAME: inputs}
        for key, output in export_outputs.items():
            name = f"{prefix}{key or 'None'}"
            try:
                signatures[name] = output.as_signature_def(by_name)
            except ValueError as error:
                excluded[name] = str(error)
    for name, reason in excluded.items():
        logging.info("The signature %s is left out of the export: %s", name, reason)
    if not serving_only:
        return signatures
    return {name: value for name, value in signatures.items() if is_valid_signature(value)}


def get_timestamped_export_dir(export_dir_base: Any) -> bytes:
    """Return the path of a folder in `export_dir_base` that does not exist yet. Its name is the
    current time in seconds.

    Raises RuntimeError if ten paths that the function tried exist already.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        folder = os.path.join(os.fsencode(export_dir_base), str(int(time.time())).encode())
        if not files.Exists(folder):
            return folder
        time.sleep(1)
        logging.warning(
            "Directory %s already exists; retrying (attempt %d/%d)", folder, attempt, _ATTEMPTS
        )
    raise RuntimeError(
        f"Failed to obtain a unique export directory name after {_ATTEMPTS} attempts."
    )


def get_temp_export_dir(timestamped_export_dir: Any) -> bytes:
    """Return the path with the prefix "temp-" before its last component. Servers ignore such a
    folder, because its name is not a number.
    """
    folder, name = os.path.split(os.fsencode(timestamped_export_dir))
    return os.path.join(folder, b"temp-" + name)


def export_outputs_for_mode(
    mode: Any,
    serving_export_outputs: Any = None,
    predictions: Any = None,
    loss: Any = None,
    metrics: Any = None,
) -> dict[str, ExportOutput]:
    """Return a dict from the names of signatures to the outputs that are exported in a mode.

    Raises ValueError if `mode` is unknown.
    """
    if mode not in SIGNATURE_KEY_MAP:
        raise ValueError(
            f"Export output type not found for mode: {mode}. Expected one of: "
            f"{SIGNATURE_KEY_MAP.keys()}."
        )
    if is_predict(mode):
        return get_export_outputs(serving_export_outputs, predictions)
    output = TrainOutput if is_train(mode) else EvalOutput
    return {SIGNATURE_KEY_MAP[mode]: output(loss, predictions, metrics)}


def get_export_outputs(export_outputs: Any, predictions: Any) -> dict[str, ExportOutput]:
    """Return the outputs for serving, one of which is the default output. If `export_outputs` is
    None, the only output is the predictions.

    Raises TypeError if `export_outputs` is neither None nor a dict of ExportOutputs. Raises
    ValueError if there are several outputs and none of them is the default output.
    """
    default = DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if export_outputs is None:
        return {default: PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    if not all(isinstance(output, ExportOutput) for output in export_outputs.values()):
        raise TypeError(
            f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}"
        )
    if len(export_outputs) == 1:
        export_outputs.setdefault(default, next(iter(export_outputs.values())))
    elif export_outputs and default not in export_outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default. "
            "Do this by naming one of them with signature_constants."
            "DEFAULT_SERVING_SIGNATURE_DEF_KEY."
        )
    return export_outputs
