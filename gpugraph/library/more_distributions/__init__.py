"""The distributions of `tf.contrib.distributions` that are not in `tf.distributions`."""
