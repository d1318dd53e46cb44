"""Threads for kernels: all works are run, errors of any are raised."""

from __future__ import annotations

import pytest

from gpugraph.ops.framework.thread_pool import run_in_threads


def test_all_works_are_run() -> None:
    done: list[int] = []
    run_in_threads([lambda at=index: done.append(at) for index in range(5)])  # type: ignore[misc]
    assert sorted(done) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("failing", [0, 2])
def test_an_error_is_raised_when_all_have_ended(failing: int) -> None:
    done: list[int] = []

    def work(index: int) -> None:
        if index == failing:
            raise ValueError(f"work {index}")
        done.append(index)

    with pytest.raises(ValueError, match=f"work {failing}"):
        run_in_threads([lambda at=at: work(at) for at in range(4)])  # type: ignore[misc]
    assert sorted(done) == [at for at in range(4) if at != failing]
