"""The runtime, which executes plans. It does not depend on graphs, ops or the compiler."""

from __future__ import annotations

from gpugraph.runtime.executor import (
    execute as execute,
    execute_in_context as execute_in_context,
    execute_traced as execute_traced,
)
from gpugraph.runtime.rendezvous import Rendezvous as Rendezvous, parse_key as parse_key
from gpugraph.runtime.step_times import StepTime as StepTime, StepTrace as StepTrace
