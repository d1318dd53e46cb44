"""Neural network functions: activations, losses over logits, biases, moments."""

from gpugraph.ops.activations import elu, leaky_relu, relu, relu6
from gpugraph.ops.gathering import embedding_lookup
from gpugraph.ops.nn import bias_add, moments, xw_plus_b
from gpugraph.ops.nn_losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from gpugraph.ops.ranking import in_top_k, top_k
from gpugraph.ops.reduction_functions import l2_loss
from gpugraph.ops.softmax import log_softmax, softmax
from gpugraph.ops.unary_functions import sigmoid, softplus, tanh

__all__ = [
    "bias_add",
    "elu",
    "embedding_lookup",
    "in_top_k",
    "l2_loss",
    "leaky_relu",
    "log_softmax",
    "moments",
    "relu",
    "relu6",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "sparse_softmax_cross_entropy_with_logits",
    "tanh",
    "top_k",
    "xw_plus_b",
]
