"""What programs take from `tf.contrib`: `framework`, `layers`, and `slim`, which has both."""

from gpugraph.api.contrib import framework, layers, slim

__all__ = ["framework", "layers", "slim"]
