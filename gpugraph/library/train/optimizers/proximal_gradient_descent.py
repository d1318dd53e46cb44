"""Gradient descent, with l1 and l2 regularization after each step (Duchi and Singer, 2009)."""

from __future__ import annotations

from typing import Any

from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.library.train.optimizers.optimizer_settings import OneOpUpdate


class ProximalGradientDescentOptimizer(OneOpUpdate, Optimizer):
    """Gradient descent with l1 and l2 regularization. A step is var = sign(p) * max(|p| - rate *
    l1, 0) / (1 + rate * l2), where p is var - rate * gradient.

    Rows without a gradient are neither changed nor regularized.
    """

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        settings = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }
        super().__init__("ProximalGradientDescent", [], settings, use_locking, name)
