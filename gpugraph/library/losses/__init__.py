"""Losses that are weighted, reduced to a scalar, and added to collections for training."""

from __future__ import annotations

from gpugraph.library.losses.cross_entropy_losses import (
    sigmoid_cross_entropy as sigmoid_cross_entropy,
    softmax_cross_entropy as softmax_cross_entropy,
    sparse_softmax_cross_entropy as sparse_softmax_cross_entropy,
)
from gpugraph.library.losses.difference_losses import (
    absolute_difference as absolute_difference,
    cosine_distance as cosine_distance,
    hinge_loss as hinge_loss,
    huber_loss as huber_loss,
    log_loss as log_loss,
    mean_pairwise_squared_error as mean_pairwise_squared_error,
    mean_squared_error as mean_squared_error,
)
from gpugraph.library.losses.loss_collection import (
    add_loss as add_loss,
    get_losses as get_losses,
    get_regularization_loss as get_regularization_loss,
    get_regularization_losses as get_regularization_losses,
    get_total_loss as get_total_loss,
)
from gpugraph.library.losses.loss_reduction import (
    Reduction as Reduction,
    compute_weighted_loss as compute_weighted_loss,
)
