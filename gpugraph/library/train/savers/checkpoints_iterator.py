"""Waiting for the checkpoints that another process writes one after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from gpugraph.library.train.savers.checkpoint_files import latest_checkpoint
from gpugraph.platform import logging


def wait_for_new_checkpoint(
    checkpoint_dir: Any,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """Wait until a folder has a latest checkpoint other than `last_checkpoint`. Return its path.

    Args:
      seconds_to_sleep: the number of seconds between two checks of the folder.
      timeout: the number of seconds after which to return None if there is no new checkpoint. If
        `timeout` is None, wait forever.
    """
    logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    end = None if timeout is None else time.time() + timeout
    while True:
        path = latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            logging.info("Found new checkpoint at %s", path)
            return path
        if end is not None and time.time() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: Any,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yield the path of the latest checkpoint of a folder whenever there is a new checkpoint.

    A checkpoint is skipped if a newer checkpoint is saved before the next check of the folder.

    Args:
      min_interval_secs: the minimum number of seconds between two results.
      timeout: the number of seconds to wait for a new checkpoint. After this time the iteration
        ends, unless `timeout_fn` returns False.
    """
    path = None
    while True:
        new_path = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if new_path is None:
            if timeout_fn is None:
                logging.info("Timed-out waiting for a checkpoint.")
                return
            if timeout_fn():
                return
            continue
        start, path = time.time(), new_path
        yield path
        rest = start + min_interval_secs - time.time()
        if rest > 0:
            time.sleep(rest)
