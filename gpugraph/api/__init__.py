"""The public names, by TensorFlow's modules: `api/nn.py` is `tf.nn`.

These modules only re-export.
"""

from gpugraph.api import import_paths as import_paths
