"""Configurations by later versions of Keras as 1.15 has them.

Later versions have more arguments. Those with the value that 1.15 always had are left out; others
stay, and the layer refuses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = {"Functional": "Model", "L1": "L1L2", "L2": "L1L2"}
"""What classes of later versions are called in 1.15."""

_ALWAYS: dict[str, Any] = {
    "groups": 1, "keepdims": False, "synchronized": False, "score_mode": "dot", "sparse": False,
    "seed": None, "jit_compile": False, "is_legacy_optimizer": True, "optional": False,
    "ragged": False, "weight_decay": None,
}  # fmt: skip
"""Arguments with the only value that 1.15 has, or with its default."""

_LABELS = ("module", "registered_name", "build_config")
"""What later versions say of an object besides its class and configuration."""


def as_in_1_15(config: Any) -> Any:
    """The same configuration without what later versions say more."""
    if isinstance(config, list):
        return [as_in_1_15(item) for item in config]
    if not isinstance(config, Mapping):
        return config
    if config.get("class_name") == "Policy":
        return config["config"]["name"]
    if "class_name" in config and "config" in config:
        kept = {name: value for name, value in config.items() if name not in _LABELS}
        name = _NAMES.get(config["class_name"], config["class_name"])
        return {**{key: as_in_1_15(value) for key, value in kept.items()}, "class_name": name}
    return {
        name: as_in_1_15(value)
        for name, value in config.items()
        if name not in _ALWAYS or value != _ALWAYS[name]
    }
