"""Distributions of `tf.contrib.distributions` beyond those of `tf.distributions`."""
