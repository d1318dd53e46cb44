"""The public names, by TensorFlow's modules: `api/nn.py` is `tf.nn`. They define nothing."""

from gpugraph.api import import_paths

__all__ = ["import_paths"]
