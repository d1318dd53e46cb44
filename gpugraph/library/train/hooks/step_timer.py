"""Timers that decide when a hook acts. They use intervals of steps or seconds."""

from __future__ import annotations

import time


class SecondOrStepTimer:
    """Decides at which steps to act. The interval is `every_secs` seconds or `every_steps` steps.

    The constructor raises ValueError unless exactly one of the arguments is passed.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Forget the last action, so that the next step is treated as the first step."""
        self._last_triggered_step: int | None = None
        self._last_triggered_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Return whether to act at this step. The result is True for the first step, and when the
        interval since the last action has passed.
        """
        last, moment = self._last_triggered_step, self._last_triggered_time
        if last is None or moment is None:
            return True
        if step == last:
            return False
        if self._every_steps is not None:
            return bool(step >= last + self._every_steps)
        return time.time() >= moment + (self._every_secs or 0)

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Record an action at this step, and return (the seconds, the steps) since the previous
        action. If there was no previous action, return (None, None).
        """
        now, moment, last = time.time(), self._last_triggered_time, self._last_triggered_step
        self._last_triggered_time, self._last_triggered_step = now, step
        if moment is None or last is None:
            return None, None
        return now - moment, step - last

    def last_triggered_step(self) -> int | None:
        """Return the step of the last action, or None if there was no action."""
        return self._last_triggered_step


class NeverTriggerTimer(SecondOrStepTimer):
    """A timer that never triggers."""

    def __init__(self) -> None:
        super().__init__(every_steps=1)

    def should_trigger_for_step(self, step: int) -> bool:
        """Return False."""
        return False

    def update_last_triggered_step(self, step: int) -> tuple[None, None]:
        """Record nothing."""
        return None, None
