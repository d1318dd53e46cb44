"""`tf.contrib.slim`'s models: `nets` has the networks, `model_analyzer` counts variables,
`learning` makes ops that train."""

from gpugraph.library.contrib.slim_models import (
    learning as learning,
    model_analyzer as model_analyzer,
    nets as nets,
)
