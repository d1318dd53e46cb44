"""Gradients: ops that compute derivatives, and gradients that a program defines.

This face re-exports; it defines nothing.
"""

from gpugraph.gradients.backpropagation import (
    AggregationMethod as AggregationMethod,
    UnconnectedGradients as UnconnectedGradients,
    gradients as gradients,
)
from gpugraph.gradients.custom_gradient import custom_gradient as custom_gradient
from gpugraph.gradients.gradient_registry import (
    NotDifferentiable as NotDifferentiable,
    RegisterGradient as RegisterGradient,
)
from gpugraph.gradients.hessians import hessians as hessians
from gpugraph.gradients.recompute_grad import (
    grad_pass_through as grad_pass_through,
    recompute_grad as recompute_grad,
)
