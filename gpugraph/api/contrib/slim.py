"""`tf.contrib.slim`: layers, `arg_scope`, and functions on a model's variables."""

from gpugraph.api.contrib.framework import *
from gpugraph.api.contrib.layers import *
from gpugraph.library.contrib.slim_models import (
    data_decoder as data_decoder, learning as learning, model_analyzer as model_analyzer,
    nets as nets, tfexample_decoder as tfexample_decoder,
)
