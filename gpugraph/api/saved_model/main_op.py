"""`tf.saved_model.main_op`: the operation that a SavedModel runs after it restores its
variables.
"""

from gpugraph.library.saved_models.initialization_ops import (
    main_op as main_op,
    main_op_with_restore as main_op_with_restore,
)
