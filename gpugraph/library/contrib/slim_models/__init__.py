"""The models of `tf.contrib.slim`: `nets` has the networks, `model_analyzer` counts variables,
`learning` creates training ops."""

from gpugraph.library.contrib.slim_models import (
    learning as learning,
    model_analyzer as model_analyzer,
    nets as nets,
)
