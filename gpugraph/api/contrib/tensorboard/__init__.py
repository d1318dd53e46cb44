"""`tf.contrib.tensorboard`, which contains `plugins`."""

from gpugraph.api.contrib.tensorboard import plugins as plugins
