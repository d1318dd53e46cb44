"""`tf.contrib.learn.RunConfig`, which is the RunConfig of estimators with the arguments of
contrib.learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.config import ConfigProto
from gpugraph.library.train.hooks.session_run_hook import SessionRunHook
from gpugraph.tensorflow_import.tensorflow_names import find

_CHECKPOINT_SECONDS = 600
_Base: Any = find("estimator", "RunConfig")


class RunConfig(_Base):  # type: ignore[misc]
    """The settings of an estimator's runs. See `tf.estimator.RunConfig` for the other arguments.

    Args:
      master: the target of the sessions that train.
      evaluation_master: the target of the sessions that evaluate.
      num_cores, log_device_placement, gpu_memory_fraction: settings in the ConfigProto `tf_config`.
    """

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_secs: Any = _Base,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: str | None = None,
        session_config: Any = None,
        session_creation_timeout_secs: int = 7200,
    ) -> None:
        if save_checkpoints_secs is _Base:
            save_checkpoints_secs = None if save_checkpoints_steps else _CHECKPOINT_SECONDS
        super().__init__(
            model_dir=model_dir,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_secs=save_checkpoints_secs,
            save_checkpoints_steps=save_checkpoints_steps,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            protocol=protocol,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )
        self._tf_config = ConfigProto(
            log_device_placement=log_device_placement,
            inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
        )
        self._tf_config.gpu_options.per_process_gpu_memory_fraction = gpu_memory_fraction
        if master is not None:
            self._master = master
        if evaluation_master:
            self._evaluation_master = evaluation_master

    @property
    def tf_config(self) -> Any:
        """The ConfigProto with the settings that the constructor received."""
        return self._tf_config

    @property
    def environment(self) -> str:
        """The environment of the cluster, which is "local"."""
        return "local"


def replace_monitors_with_hooks(
    monitors_or_hooks: Sequence[Any] | None, estimator: Any
) -> list[SessionRunHook]:
    """Return a list of the hooks. Raises NotImplementedError if an item is not a hook, such as a
    monitor.
    """
    del estimator
    for hook in monitors_or_hooks or ():
        if not isinstance(hook, SessionRunHook):
            raise NotImplementedError(
                f"tf.contrib.learn.monitors: {hook!r} is no SessionRunHook: write it as one"
            )
    return list(monitors_or_hooks or ())
