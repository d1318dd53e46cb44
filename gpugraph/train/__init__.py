"""Training: optimizers, learning rates that decay, moving averages, and the global step."""

from __future__ import annotations

from gpugraph.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from gpugraph.train.learning_rate_decay import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    polynomial_decay,
)
from gpugraph.train.learning_rate_decay import piecewise_constant as piecewise_constant_decay
from gpugraph.train.moving_averages import ExponentialMovingAverage
from gpugraph.train.optimizers.adadelta import AdadeltaOptimizer
from gpugraph.train.optimizers.adagrad import (
    AdagradDAOptimizer,
    AdagradOptimizer,
    ProximalAdagradOptimizer,
)
from gpugraph.train.optimizers.adam import AdamOptimizer
from gpugraph.train.optimizers.ftrl import FtrlOptimizer
from gpugraph.train.optimizers.gradient_descent import GradientDescentOptimizer, MomentumOptimizer
from gpugraph.train.optimizers.optimizer import Optimizer
from gpugraph.train.optimizers.proximal_gradient_descent import ProximalGradientDescentOptimizer
from gpugraph.train.optimizers.rmsprop import RMSPropOptimizer

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "ExponentialMovingAverage",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "Optimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "RMSPropOptimizer",
    "assert_global_step",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "inverse_time_decay",
    "linear_cosine_decay",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
]
