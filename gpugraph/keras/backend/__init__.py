"""`tf.keras.backend`: the functions that Keras's layers and models are written in.

`keras_session` has the session and what it initializes, `learning_phase_scopes` the learning
phase, `keras_variables` variables and placeholders, `keras_function` functions of values,
`keras_rnn` recurrent loops, `backend_config` the defaults.
"""

from gpugraph.keras.backend.backend_config import (
    backend as backend,
    cast_to_floatx as cast_to_floatx,
    epsilon as epsilon,
    floatx as floatx,
    image_data_format as image_data_format,
    set_epsilon as set_epsilon,
    set_floatx as set_floatx,
    set_image_data_format as set_image_data_format,
)
from gpugraph.keras.backend.keras_function import function as function
from gpugraph.keras.backend.keras_losses import (
    binary_crossentropy as binary_crossentropy,
    categorical_crossentropy as categorical_crossentropy,
    hard_sigmoid as hard_sigmoid,
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
)
from gpugraph.keras.backend.keras_rnn import rnn as rnn
from gpugraph.keras.backend.keras_session import (
    clear_session as clear_session,
    get_graph as get_graph,
    get_session as get_session,
    get_uid as get_uid,
    manual_variable_initialization as manual_variable_initialization,
    reset_uids as reset_uids,
    set_session as set_session,
)
from gpugraph.keras.backend.keras_variables import (
    batch_get_value as batch_get_value,
    batch_set_value as batch_set_value,
    constant as constant,
    count_params as count_params,
    dtype as dtype,
    eval as eval,
    get_value as get_value,
    int_shape as int_shape,
    is_keras_tensor as is_keras_tensor,
    is_sparse as is_sparse,
    ndim as ndim,
    placeholder as placeholder,
    set_value as set_value,
    to_dense as to_dense,
    variable as variable,
)
from gpugraph.keras.backend.learning_phase_scopes import (
    learning_phase as learning_phase,
    learning_phase_scope as learning_phase_scope,
    set_learning_phase as set_learning_phase,
)
from gpugraph.keras.backend.random_values import (
    random_binomial as random_binomial,
    random_normal as random_normal,
    random_uniform as random_uniform,
    truncated_normal as truncated_normal,
)
