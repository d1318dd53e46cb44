"""`tf.contrib.sparsemax`: probabilities with zeros, and their loss."""

from gpugraph.library.contrib.nn_functions import (
    sparsemax as sparsemax,
    sparsemax_loss as sparsemax_loss,
)
