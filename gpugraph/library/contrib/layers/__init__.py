"""Layers as functions: `tf.contrib.layers` and `slim`, for use with `arg_scope`.

A layer opens a variable scope, gets its variables there with `tf.get_variable`, and returns a
tensor. The layers are in `fully_connected`, `slim_convolutions`, `slim_pooling`, `slim_batch_norm`,
`slim_normalizations` and `slim_dropout_and_flatten`. Penalties for weights are in `regularizers`,
initializers in `xavier_initializers`, functions that create and find variables in
`model_variables`, and helpers of the layers in `layer_collections`.
"""

from gpugraph.library.contrib.layers.embeddings import (
    bow_encoder as bow_encoder,
    embed_sequence as embed_sequence,
    embedding_lookup_unique as embedding_lookup_unique,
    safe_embedding_lookup_sparse as safe_embedding_lookup_sparse,
)
from gpugraph.library.contrib.layers.fully_connected import (
    elu as elu,
    fully_connected as fully_connected,
    linear as linear,
    relu as relu,
    relu6 as relu6,
)
from gpugraph.library.contrib.layers.generalized_divisive_normalization import (
    GDN as GDN,
    gdn as gdn,
)
from gpugraph.library.contrib.layers.legacy_fully_connected import (
    legacy_fully_connected as legacy_fully_connected,
    legacy_linear as legacy_linear,
    legacy_relu as legacy_relu,
)
from gpugraph.library.contrib.layers.model_variables import (
    add_model_variable as add_model_variable,
    get_local_variables as get_local_variables,
    get_model_variables as get_model_variables,
    get_trainable_variables as get_trainable_variables,
    get_unique_variable as get_unique_variable,
    get_variables as get_variables,
    get_variables_by_name as get_variables_by_name,
    get_variables_by_suffix as get_variables_by_suffix,
    model_variable as model_variable,
    variable as variable,
)
from gpugraph.library.contrib.layers.optimize_loss import (
    OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES,
    OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES,
    optimize_loss as optimize_loss,
)
from gpugraph.library.contrib.layers.recomputation import recompute_grad as recompute_grad
from gpugraph.library.contrib.layers.regularizers import (
    apply_regularization as apply_regularization,
    l1_l2_regularizer as l1_l2_regularizer,
    l1_regularizer as l1_regularizer,
    l2_regularizer as l2_regularizer,
    sum_regularizer as sum_regularizer,
)
from gpugraph.library.contrib.layers.reversible_blocks import (
    RevBlock as RevBlock,
    rev_block as rev_block,
)
from gpugraph.library.contrib.layers.slim_batch_norm import batch_norm as batch_norm
from gpugraph.library.contrib.layers.slim_convolutions import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv2d_in_plane as conv2d_in_plane,
    conv2d_transpose as conv2d_transpose,
    conv3d as conv3d,
    conv3d_transpose as conv3d_transpose,
    convolution as convolution,
    convolution1d as convolution1d,
    convolution2d as convolution2d,
    convolution2d_in_plane as convolution2d_in_plane,
    convolution2d_transpose as convolution2d_transpose,
    convolution3d as convolution3d,
    convolution3d_transpose as convolution3d_transpose,
    separable_conv2d as separable_conv2d,
    separable_convolution2d as separable_convolution2d,
)
from gpugraph.library.contrib.layers.slim_dropout_and_flatten import (
    dropout as dropout,
    flatten as flatten,
    repeat as repeat,
    stack as stack,
)
from gpugraph.library.contrib.layers.slim_normalizations import (
    bias_add as bias_add,
    group_norm as group_norm,
    instance_norm as instance_norm,
    layer_norm as layer_norm,
    unit_norm as unit_norm,
)
from gpugraph.library.contrib.layers.slim_pooling import (
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
    pool as pool,
)
from gpugraph.library.contrib.layers.slim_transformations import (
    dense_to_sparse as dense_to_sparse,
    images_to_sequence as images_to_sequence,
    maxout as maxout,
    one_hot_encoding as one_hot_encoding,
    poincare_normalize as poincare_normalize,
    scale_gradient as scale_gradient,
    sequence_to_images as sequence_to_images,
    softmax as softmax,
    spatial_softmax as spatial_softmax,
)
from gpugraph.library.contrib.layers.summarizers import (
    summarize_activation as summarize_activation,
    summarize_activations as summarize_activations,
    summarize_biases as summarize_biases,
    summarize_collection as summarize_collection,
    summarize_tensor as summarize_tensor,
    summarize_tensors as summarize_tensors,
    summarize_variables as summarize_variables,
    summarize_weights as summarize_weights,
)
from gpugraph.library.contrib.layers.train_op_creation import (
    add_gradients_summaries as add_gradients_summaries,
    clip_gradient_norms as clip_gradient_norms,
    clip_gradient_norms_fn as clip_gradient_norms_fn,
    create_train_op as create_train_op,
    multiply_gradients as multiply_gradients,
)
from gpugraph.library.contrib.layers.xavier_initializers import (
    variance_scaling_initializer as variance_scaling_initializer,
    xavier_initializer as xavier_initializer,
    xavier_initializer_conv2d as xavier_initializer_conv2d,
)
