"""`tf.saved_model.main_op`: the op that runs after the variables of a SavedModel are restored."""

from gpugraph.library.saved_models.initialization_ops import (
    main_op as main_op, main_op_with_restore as main_op_with_restore,
)
