"""`tf.keras.experimental`: what Keras tries out."""

from gpugraph.keras.layers.recurrent.recurrent_cells import PeepholeLSTMCell as PeepholeLSTMCell
