"""`tf.saved_model.tag_constants`: the usual tags of meta graphs."""

from gpugraph.library.saved_models.model_names import (
    GPU as GPU, SERVING as SERVING, TPU as TPU, TRAINING as TRAINING,
)
