"""Adadelta (Zeiler, arXiv:1212.5701), which scales each update by the size of the previous
updates.
"""

from __future__ import annotations

from typing import Any

from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.library.train.optimizers.optimizer_settings import OneOpUpdate


class AdadeltaOptimizer(OneOpUpdate, Optimizer):
    """The Adadelta optimizer. A step is var -= learning_rate * sqrt(accum_update + epsilon) /
    sqrt(accum + epsilon) * gradient.

    The slots "accum" and "accum_update" contain the running means of the squares of gradients and
    of updates. The decay factor of these means is `rho`. In the paper, `learning_rate` is 1.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        settings = {"lr": learning_rate, "rho": rho, "epsilon": epsilon}
        super().__init__("Adadelta", ["accum", "accum_update"], settings, use_locking, name)
