"""Summaries that a run writes to event files by itself: `tf.contrib.summary`, TensorFlow 2's."""
