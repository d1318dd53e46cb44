"""What `Session.explain` shows of a run of a cluster: which task does what, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpugraph.cluster.part_specs import StageSpec

_MOST_NAMES = 12


class ClusterExplanation(NamedTuple):
    """How a run is spread over the tasks of a cluster, as text.

    Each task compiles its stages, and explains what it compiles in its own process only.
    """

    text: str

    def __str__(self) -> str:
        return self.text


def explanation_of(tasks: Mapping[str, str], stages: Mapping[str, Sequence[StageSpec]]) -> str:
    """The text for a run: the task of each operation, and the stages of each task."""
    lines = [f"A run over {len(stages)} task{'s' if len(stages) > 1 else ''}"]
    for task, part in stages.items():
        names = [name for name, other in tasks.items() if other == task and name[0] != "_"]
        lines.append(f"{task}: {len(names)} operations: {_listed(names)}")
        for number, stage in enumerate(part, 1):
            lines.append(f"  stage {number}: {'; '.join(_words(stage)) or 'nothing'}")
    return "\n".join(lines)


def _words(stage: StageSpec) -> list[str]:
    words = [f"takes {key or 'the end'} of {task}" for _, task, key in stage.receives]
    computed = [name for name, _ in stage.fetches]
    makers = {name.partition(":")[0] for name in computed}
    run = [name for name in stage.targets if name not in makers]
    if run:
        words.append(f"runs {_listed(run)}")
    if computed:
        words.append(f"computes {_listed(computed)}")
    ways = [(way.rpartition(">")[2], key) for way, key in stage.sends]
    return words + [f"sends {key or 'its end'} to {task}" for task, key in ways]


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
