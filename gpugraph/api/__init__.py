"""The public names, in one file for each module of TensorFlow: `api/nn.py` is `tf.nn`.

These modules define nothing. They only import names from the other packages.
"""

from gpugraph.api import import_paths as import_paths
