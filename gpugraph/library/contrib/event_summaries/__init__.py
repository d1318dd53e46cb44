"""Summaries that ops write to event files during a run: `tf.contrib.summary` and TensorFlow 2's
summaries.
"""
