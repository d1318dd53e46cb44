"""Libraries of tf.contrib: layers, framework and the models of slim."""
