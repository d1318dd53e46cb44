"""The public names, by TensorFlow's modules: `api/nn.py` is `tf.nn`. They define nothing."""

from gpugraph.api import import_paths as import_paths
