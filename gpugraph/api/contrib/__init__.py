"""What programs take from `tf.contrib`: `framework`, `layers`, and `slim`, which has both."""

from gpugraph.api.contrib import framework as framework, layers as layers, slim as slim
