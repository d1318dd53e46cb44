"""The frozen record between compilation and runtime: what a run does, step by step."""

from gpugraph.plan.plan_record import (
    Clock,
    FeedSlot,
    FetchSlot,
    Mailbox,
    PassReport,
    Placed,
    Plan,
    PlanKey,
    Step,
    Transfer,
    all_steps,
    blame,
    rendezvous_key,
    runs_of,
)

__all__ = [
    "Clock",
    "FeedSlot",
    "FetchSlot",
    "Mailbox",
    "PassReport",
    "Placed",
    "Plan",
    "PlanKey",
    "Step",
    "Transfer",
    "all_steps",
    "blame",
    "rendezvous_key",
    "runs_of",
]
