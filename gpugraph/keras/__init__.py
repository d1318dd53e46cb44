"""`tf.keras`, of which the backend is here: what Keras's layers and models are written in."""

from gpugraph.keras import backend as backend
