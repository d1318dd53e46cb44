"""Gradients: ops that compute derivatives, and gradients that a program defines.

This module defines nothing. It imports names from other modules.
"""

from gpugraph.building.gradients.backpropagation import (
    AggregationMethod as AggregationMethod,
    UnconnectedGradients as UnconnectedGradients,
    gradients as gradients,
)
from gpugraph.building.gradients.custom_gradient import custom_gradient as custom_gradient
from gpugraph.building.gradients.gradient_registry import (
    NotDifferentiable as NotDifferentiable,
    RegisterGradient as RegisterGradient,
)
from gpugraph.building.gradients.hessians import hessians as hessians
from gpugraph.building.gradients.recompute_grad import (
    grad_pass_through as grad_pass_through,
    recompute_grad as recompute_grad,
)
