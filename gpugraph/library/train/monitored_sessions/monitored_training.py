"""`tf.contrib.training.train`, which runs the loop of a training in a MonitoredTrainingSession."""

from __future__ import annotations

from typing import Any

from gpugraph.library.train.monitored_sessions.monitored_training_session import (
    MonitoredTrainingSession,
)


def train(
    train_op: Any,
    logdir: Any,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: Any = 600,
    save_summaries_steps: Any = 100,
    config: Any = None,
    max_wait_secs: float = 7200,
    run_metadata: Any = None,
) -> Any:
    """Run `train_op` until a hook stops the training, and return the last value of `train_op`, the
    loss.

    On the chief, raises ValueError if `logdir` is None, unless `save_checkpoint_secs` and
    `save_summaries_steps` are None. For the other arguments, see
    `tf.train.MonitoredTrainingSession`.

    Args:
      logdir: the folder of checkpoints and summaries.
    """
    if logdir is None and is_chief:
        if save_summaries_steps:
            raise ValueError("logdir cannot be None when save_summaries_steps is not None")
        if save_checkpoint_secs:
            raise ValueError("logdir cannot be None when save_checkpoint_secs is not None")
    with MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
        max_wait_secs=max_wait_secs,
    ) as session:
        loss = None
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss
