"""Libraries on top of graphs: losses, metrics, layers, Keras, training and others."""
