"""`slim.evaluation` restores variables by names of the checkpoint, in graphs without summaries."""

from __future__ import annotations

from pathlib import Path

import gpugraph as tf
from gpugraph.tensorflow_import.internals import slim_evaluation


def test_averages_are_restored_in_place_of_variables(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", initializer=2.0)
        tf.train.get_or_create_global_step()
        average = tf.train.ExponentialMovingAverage(0.5)
        update = average.apply([w])
        session.run(tf.global_variables_initializer())
        session.run(w.assign(10.0))
        session.run(update)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    for is_average, expected in ((False, 10.0), (True, 6.0)):
        with tf.Graph().as_default():
            w = tf.get_variable("w", shape=[])
            names = {"w/ExponentialMovingAverage" if is_average else "w": w}
            names["global_step"] = tf.train.get_or_create_global_step()
            value = slim_evaluation.evaluate_once(
                "", path, str(tmp_path), final_op=[w.read_value()], variables_to_restore=names
            )
        assert value == [expected]
