"""`tf.saved_model.loader`: loads SavedModels."""

from gpugraph.library.saved_models.model_loader import load as load
from gpugraph.library.saved_models.saved_model_file import (
    maybe_saved_model_directory as maybe_saved_model_directory,
)
