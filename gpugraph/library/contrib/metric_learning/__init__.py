"""`tf.contrib.losses.metric_learning`: losses of embeddings that depend on distances between
pairs.
"""

from gpugraph.library.contrib.metric_learning.cluster_losses import cluster_loss as cluster_loss
from gpugraph.library.contrib.metric_learning.pair_losses import (
    contrastive_loss as contrastive_loss,
    lifted_struct_loss as lifted_struct_loss,
    npairs_loss as npairs_loss,
    triplet_semihard_loss as triplet_semihard_loss,
)
