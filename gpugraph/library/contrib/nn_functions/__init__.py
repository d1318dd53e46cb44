"""`tf.contrib.nn` and `tf.contrib.sparsemax`: functions of neural networks that are not in
`tf.nn`.
"""

from gpugraph.library.contrib.nn_functions.flipped_arguments import (
    deprecated_flipped_sigmoid_cross_entropy_with_logits as deprecated_flipped_sigmoid_cross_entropy_with_logits,  # noqa: E501
    deprecated_flipped_softmax_cross_entropy_with_logits as deprecated_flipped_softmax_cross_entropy_with_logits,  # noqa: E501
    deprecated_flipped_sparse_softmax_cross_entropy_with_logits as deprecated_flipped_sparse_softmax_cross_entropy_with_logits,  # noqa: E501
)
from gpugraph.library.contrib.nn_functions.scaled_activations import (
    alpha_dropout as alpha_dropout,
    scaled_softplus as scaled_softplus,
)
from gpugraph.library.contrib.nn_functions.sparsemax import (
    sparsemax as sparsemax,
    sparsemax_loss as sparsemax_loss,
)
