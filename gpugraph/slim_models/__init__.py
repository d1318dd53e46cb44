"""`tf.contrib.slim`'s models: `nets` has the networks, `model_analyzer` counts variables."""

from gpugraph.slim_models import model_analyzer as model_analyzer, nets as nets
