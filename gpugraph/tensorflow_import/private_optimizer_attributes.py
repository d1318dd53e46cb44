"""Private attributes of TensorFlow's variables and optimizers that programs read.

They are added to this package's classes when `tf.train` is imported.
"""

from __future__ import annotations

from typing import Any

from gpugraph.building.variables.variable import Variable
from gpugraph.library.train.optimizers.adam import AdamOptimizer
from gpugraph.library.train.optimizers.gradient_descent import (
    GradientDescentOptimizer,
    MomentumOptimizer,
)
from gpugraph.tensorflow_import.private_attributes import set_private_attributes


def _get_beta_accumulators(optimizer: AdamOptimizer) -> tuple[Any, ...]:
    """Return Adam's variables beta1_power and beta2_power.

    This is `AdamOptimizer._get_beta_accumulators()`.
    """
    return tuple(optimizer._get_non_slot_variable(f"{name}_power") for name in ("beta1", "beta2"))


class _Setting:
    """A descriptor that reads a setting of an optimizer as a number, or as the tensor that was
    created from it.

    A subclass may still assign an attribute of this name.
    """

    def __init__(self, store: str, name: str) -> None:
        self._store, self._name = store, name

    def __get__(self, optimizer: Any, owner: type) -> Any:
        return self if optimizer is None else getattr(optimizer, self._store)[self._name]


def _settings(text: str) -> dict[str, _Setting]:
    """Return a descriptor for each attribute in `text`, whose entries are `attribute=setting`.

    Attributes with the suffix `_t` or `_tensor` read the setting's tensor.
    """
    pairs = (entry.split("=") for entry in text.split())
    return {
        name: _Setting("_tensors" if name.endswith(("_t", "_tensor")) else "_settings", setting)
        for name, setting in pairs
    }


PRIVATE_ATTRIBUTES: dict[type, dict[str, Any]] = {
    AdamOptimizer: {
        "_get_beta_accumulators": _get_beta_accumulators,
        **_settings("_lr=learning_rate _beta1=beta1 _beta2=beta2 _epsilon=epsilon"),
        **_settings("_lr_t=learning_rate _beta1_t=beta1 _beta2_t=beta2 _epsilon_t=epsilon"),
    },
    GradientDescentOptimizer: _settings(
        "_learning_rate=learning_rate _learning_rate_tensor=learning_rate"
    ),
    MomentumOptimizer: _settings(
        "_learning_rate=learning_rate _learning_rate_tensor=learning_rate "
        "_momentum=momentum _momentum_tensor=momentum"
    ),
    Variable: {"_distribute_strategy": None},
}
"""By class, the private attributes that programs read, by name."""

set_private_attributes(PRIVATE_ATTRIBUTES)
