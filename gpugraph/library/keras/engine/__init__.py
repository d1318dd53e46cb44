"""Layers, networks and models of Keras: what they are made of, and how they run and train.

`keras_layer` has the base of all layers, `layer_calls` one call of a layer.
"""
