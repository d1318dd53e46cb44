"""Training: optimizers and the global step."""

from __future__ import annotations

from gpugraph.train.adam import AdamOptimizer
from gpugraph.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from gpugraph.train.gradient_descent import GradientDescentOptimizer, MomentumOptimizer
from gpugraph.train.optimizer import Optimizer

__all__ = [
    "AdamOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "Optimizer",
    "assert_global_step",
    "create_global_step",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
]
