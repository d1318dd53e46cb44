"""Layers and networks of layers: their variables, calls, losses, configurations and summaries.

`keras_layer` has the base class of layers, `layer_calls` has the state of a layer's call in
progress, and `network` has the base class of networks.
"""
