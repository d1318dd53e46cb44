"""`tf.contrib.tensorboard.plugins`: the `projector` of embeddings."""

from gpugraph.api.contrib.tensorboard.plugins import projector as projector
