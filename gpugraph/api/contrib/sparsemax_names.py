"""`tf.contrib.sparsemax`: sparsemax, which is like softmax but gives exact zeros, and its loss."""

from gpugraph.library.contrib.nn_functions import (
    sparsemax as sparsemax,
    sparsemax_loss as sparsemax_loss,
)
