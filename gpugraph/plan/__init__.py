"""The frozen record between compilation and runtime: what a run does, step by step."""

from gpugraph.plan.plan_record import (
    Clock as Clock,
    FeedSlot as FeedSlot,
    FetchSlot as FetchSlot,
    Mailbox as Mailbox,
    PassReport as PassReport,
    Placed as Placed,
    Plan as Plan,
    PlanKey as PlanKey,
    Step as Step,
    Transfer as Transfer,
    all_steps as all_steps,
    blame as blame,
    rendezvous_key as rendezvous_key,
    runs_of as runs_of,
)
