"""Loops made by hand: a number that counts, and variables, which may end on their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import raw_ops

__all__ = ["RawLoop", "times"]


class RawLoop:
    """Counts from 0 to `limit`; `left` is the number in the end. `around` is the loop around."""

    def __init__(self, limit: int = 3, name: str = "loop", around: RawLoop | None = None) -> None:
        self.name = name
        self.around = around
        self.backs: list[tuple[tf.Tensor, tf.Tensor]] = []
        self.count = self.merge(self.outside(0))
        self.goes_on = raw_ops.LoopCond(tf.less(self.count, self.constant(limit)))
        self.left, going = self.switch(self.count, self.goes_on)
        self.back(self.count, going + self.constant(1))
        self.pivot = tf.identity(going)

    def enter(self, value: Any, is_constant: bool = False) -> tf.Tensor:
        return raw_ops.Enter(value, frame_name=self.name, is_constant=is_constant)

    def constant(self, value: Any) -> tf.Tensor:
        """Return a value that is available in each iteration."""
        return self.enter(self.outside(value), True)

    def outside(self, value: Any) -> tf.Tensor:
        """Return a constant where the loop is, which is there if the loop around it goes on."""
        with tf.control_dependencies([self.around.pivot] if self.around else []):
            return tf.convert_to_tensor(value)

    def merge(self, start: tf.Tensor) -> tf.Tensor:
        entered = self.enter(start)
        return raw_ops.Merge([entered, entered]).output

    def switch(self, value: tf.Tensor, goes_on: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """`value` outside, if the loop is over for it, and inside, if it goes on."""
        sides = raw_ops.Switch(value, goes_on)
        return raw_ops.Exit(sides.output_false), sides.output_true

    def back(self, variable: tf.Tensor, value: tf.Tensor) -> None:
        """`value` is the variable's next one."""
        self.backs.append((variable, raw_ops.NextIteration(value)))

    def variable(
        self,
        start: tf.Tensor,
        goes_on: Callable[[tf.Tensor], tf.Tensor] | None = None,
        step: Callable[[tf.Tensor], tf.Tensor] = lambda value: value * 2.0,
    ) -> tf.Tensor:
        """Add a variable, and return it as it leaves the loop: with the number, or by its own
        condition.
        """
        merge = self.merge(start)
        asked = self.goes_on if goes_on is None else goes_on(self.count)
        left, going = self.switch(merge, asked)
        self.back(merge, step(going))
        return left

    def close(self) -> tf.Tensor:
        """Leads all variables back; the number in the end."""
        for variable, value in self.backs:
            variable.op._update_input(1, value)
        self.backs.clear()
        return self.left


def times(count: int, body: Any, start: list[Any], **given: Any) -> list[Any]:
    """Return the variables of a tf.while_loop after `count` iterations."""
    last = tf.while_loop(
        lambda i, *_: i < count, lambda i, *held: [i + 1, *body(*held)], [0, *start], **given
    )
    return last[1:]
