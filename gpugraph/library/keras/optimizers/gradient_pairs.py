"""Functions of (gradient, variable) pairs, for the steps of Keras's optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.platform import logging


def references(variables: Sequence[Any]) -> list[Any]:
    """Return the references of variables. Tensors are returned unchanged."""
    return [
        variable._ref() if isinstance(variable, Variable) else variable for variable in variables
    ]


def with_gradients(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the (gradient, variable) pairs that have a gradient. Pairs without a gradient cause a
    warning.

    Raises ValueError if no pair has a gradient.
    """
    if not pairs:
        raise ValueError("No variables provided.")
    present = [(grad, variable) for grad, variable in pairs if grad is not None]
    missing = [variable.name for grad, variable in pairs if grad is None]
    if not present:
        raise ValueError(f"No gradients provided for any variable: {missing}.")
    if missing:
        logging.warning(
            "Gradients do not exist for variables %s when minimizing the loss.", missing
        )
    return present
