"""`tf.compat.v2.nn`: the functions whose arguments differ from those in `tf.nn`."""

from gpugraph.building.compatibility.version_2_functions import (
    conv2d_transpose as conv2d_transpose, conv3d_transpose as conv3d_transpose,
    nce_loss as nce_loss, safe_embedding_lookup_sparse as safe_embedding_lookup_sparse,
    sampled_softmax_loss as sampled_softmax_loss,
)
