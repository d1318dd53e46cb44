"""`tf.contrib.tensorboard`: its `plugins`."""

from gpugraph.api.contrib.tensorboard import plugins as plugins
