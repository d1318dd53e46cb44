"""`tf.contrib.sparsemax`: sparsemax, a variant of softmax that can return exact zeros, and its
loss.
"""

from gpugraph.library.contrib.nn_functions import (
    sparsemax as sparsemax,
    sparsemax_loss as sparsemax_loss,
)
