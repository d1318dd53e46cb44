"""Models as JSON: the model's class name, configuration and Keras version, without variables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.base.lfs_pointers import BEGINNING, pointer_text
from gpugraph.base.shapes import Dimension, TensorShape
from gpugraph.base.version import KERAS_VERSION
from gpugraph.library.keras.keras_objects import (
    code_of_files,
    custom_object_scope,
    deserialize_layer,
)
from gpugraph.library.keras.saving.foreign_files import naming_version
from gpugraph.library.keras.saving.later_configs import as_in_1_15


def json_value(value: Any) -> Any:
    """Convert a value to one that JSON can represent. This function is the argument `default` of
    `json.dumps`.

    Raises TypeError for a value that can't be converted, and ValueError for bytes that are not
    UTF-8.
    """
    if isinstance(value, DType):
        return value.name
    if isinstance(value, TensorShape):
        return value.as_list()
    if isinstance(value, Dimension):
        return value.value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__name__"):
        return value.__name__
    raise TypeError(f"Not JSON Serializable: {value!r}")


def to_json_text(value: Any, **options: Any) -> str:
    """Return a configuration as JSON text.

    Args:
      options: arguments of `json.dumps`.
    """
    return json.dumps(value, default=json_value, **options)


def from_json_text(text: str | bytes) -> Any:
    """Return the value that a JSON text represents.

    Raises ValueError if the text is not JSON, or too deeply nested.
    """
    content = text.encode() if isinstance(text, str) else text
    if content.startswith(BEGINNING):
        raise ValueError(f"The configuration is not JSON{pointer_text(content)}")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("The configuration is nested too deeply") from None


def model_config(model: Any) -> dict[str, Any]:
    """Return a dict of the class name and configuration of a model."""
    return {"class_name": type(model).__name__, "config": model.get_config()}


def model_to_json(model: Any, **options: Any) -> str:
    """Return a model's class name, configuration and Keras version as JSON. See `Model.to_json`."""
    versions = {"keras_version": KERAS_VERSION, "backend": "tensorflow"}
    return to_json_text({**model_config(model), **versions}, **options)


def model_from_config(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Create the model that `{"class_name": ..., "config": ...}` describes, with new variables.

    Raises TypeError for a list, which `Sequential.from_config` accepts. Raises ValueError for an
    unknown class.

    Args:
      custom_objects: classes and functions of the program, by their names in the configuration.
    """
    if isinstance(config, list):
        raise TypeError(
            "`model_from_config` expects a dictionary, not a list. Maybe you meant to use "
            "`Sequential.from_config(config)`?"
        )
    with custom_object_scope(custom_objects or {}):
        return deserialize_layer(as_in_1_15(config), custom_objects)


def model_from_json(json_string: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Create the model that a text from `Model.to_json` describes.

    Raises the errors of `model_from_config`.
    """
    config = from_json_text(json_string)
    version = config.get("keras_version") if isinstance(config, dict) else None
    with code_of_files("text"), naming_version(version, json_string):
        return model_from_config(config, custom_objects)


def model_from_yaml(yaml_string: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Raise RuntimeError, because YAML files can contain code. Save models as JSON instead."""
    del yaml_string, custom_objects
    raise RuntimeError(
        "Method `model_from_yaml()` is not there, for the risk of arbitrary code execution: use "
        "`Model.to_json()` and `model_from_json()`"
    )
