"""Libraries of tf.contrib: layers, framework, the models of slim and others."""
