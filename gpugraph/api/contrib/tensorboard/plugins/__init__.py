"""`tf.contrib.tensorboard.plugins`, which contains `projector`."""

from gpugraph.api.contrib.tensorboard.plugins import projector as projector
