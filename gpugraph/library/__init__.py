"""Libraries built on graphs: losses, metrics, layers, Keras, training and others."""
