"""Gradients: new ops that compute how tensors depend on others, and what a program says of them.

This face re-exports; it defines nothing.
"""

from gpugraph.gradients.backward import AggregationMethod, UnconnectedGradients, gradients
from gpugraph.gradients.custom import custom_gradient
from gpugraph.gradients.hessians import hessians
from gpugraph.gradients.recompute import grad_pass_through, recompute_grad
from gpugraph.gradients.registry import NotDifferentiable, RegisterGradient

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
