"""Layers, networks and models of Keras: their parts, how they run, and how they train.

`keras_layer` has the base class of layers, `layer_calls` the context of one call of a layer.
"""
