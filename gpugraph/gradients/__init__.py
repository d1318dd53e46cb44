"""Gradients: new ops that compute how tensors depend on others, and what a program says of them.

This face re-exports; it defines nothing.
"""

from gpugraph.gradients.backpropagation import AggregationMethod, UnconnectedGradients, gradients
from gpugraph.gradients.custom_gradient import custom_gradient
from gpugraph.gradients.gradient_registry import NotDifferentiable, RegisterGradient
from gpugraph.gradients.hessians import hessians
from gpugraph.gradients.recompute_grad import grad_pass_through, recompute_grad

__all__ = [
    "AggregationMethod",
    "NotDifferentiable",
    "RegisterGradient",
    "UnconnectedGradients",
    "custom_gradient",
    "grad_pass_through",
    "gradients",
    "hessians",
    "recompute_grad",
]
