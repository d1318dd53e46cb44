"""Converts configurations from later versions of Keras to configurations of TensorFlow 1.15.

Later versions have more arguments. An additional argument is removed if its value is the one that
1.15 always uses. Otherwise the argument remains, and the layer rejects the argument. The program's
own classes receive all of their arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugraph.library.keras.keras_objects import config_entry, improper, is_custom_object

_NAMES = {"Functional": "Model", "L1": "L1L2", "L2": "L1L2"}
"""By name in later versions, the name of the class in 1.15."""

_ALWAYS: dict[str, Any] = {
    "groups": 1, "keepdims": False, "synchronized": False, "score_mode": "dot", "sparse": False,
    "seed": None, "jit_compile": False, "is_legacy_optimizer": True, "optional": False,
    "ragged": False, "weight_decay": None, "multi_label": False, "num_labels": None,
    "label_weights": None, "from_logits": False, "axis": -1,
}  # fmt: skip
"""Arguments that are removed if they have this value.

In 1.15, it is the only value or the default.
"""

_OF_FUNCTIONS = ("LossFunctionWrapper", "MeanMetricWrapper")
"""Losses and metrics whose constructors require their function as an argument, `fn`."""

_LABELS = ("module", "registered_name", "build_config")
"""Keys that later versions add to the dict of an object's class name and configuration."""


def as_in_1_15(config: Any) -> Any:
    """Return a configuration without the arguments that later versions added."""
    if isinstance(config, list):
        return [as_in_1_15(item) for item in config]
    if not isinstance(config, Mapping):
        return config
    if config.get("class_name") == "Policy":
        return config_entry(config_entry(config, "config", "a policy"), "name", "a policy")
    if "class_name" in config and "config" in config:
        labels = {key: value for key, value in config.items() if key not in (*_LABELS, "config")}
        name = config["class_name"]
        if not isinstance(name, str):
            raise improper(f"a class_name is {name!r:.100}")
        name = _NAMES.get(name) or name
        arguments = config["config"]
        if isinstance(arguments, Mapping) and not is_custom_object(name):
            arguments = {
                key: value for key, value in arguments.items() if _must_keep(name, key, value)
            }
        return {**as_in_1_15(labels), "class_name": name, "config": as_in_1_15(arguments)}
    return {
        name: value if name == "arguments" else as_in_1_15(value) for name, value in config.items()
    }


def _must_keep(class_name: str, name: str, value: Any) -> bool:
    """Return whether an argument must be kept, because 1.15 would use a different value if the
    argument were removed.
    """
    if name == "fn":
        return class_name in _OF_FUNCTIONS
    return name not in _ALWAYS or value != _ALWAYS[name]
