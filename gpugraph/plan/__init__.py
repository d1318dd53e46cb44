"""The plan, a frozen record of the steps of a run. It is the interface between compilation and
runtime.
"""

from gpugraph.plan.arena_record import (
    ArenaRecord as ArenaRecord,
    BufferRecord as BufferRecord,
    LoopRecord as LoopRecord,
)
from gpugraph.plan.graph_record import (
    LASTING as LASTING,
    GraphRecord as GraphRecord,
    NodeRecord as NodeRecord,
    StorageRecord as StorageRecord,
    TensorRecord as TensorRecord,
)
from gpugraph.plan.plan_record import (
    FeedSlot as FeedSlot,
    FetchSlot as FetchSlot,
    Mailbox as Mailbox,
    OpenSizes as OpenSizes,
    PassReport as PassReport,
    Placement as Placement,
    Plan as Plan,
    PlanKey as PlanKey,
    SeparatedCopiesError as SeparatedCopiesError,
    Transfer as Transfer,
    UnfitReportError as UnfitReportError,
    UnfitShapesError as UnfitShapesError,
    rendezvous_key as rendezvous_key,
)
from gpugraph.plan.plan_steps import (
    Access as Access,
    Run as Run,
    Step as Step,
    StepGroup as StepGroup,
    StepKind as StepKind,
    StepSequence as StepSequence,
    WaitingRun as WaitingRun,
    all_steps as all_steps,
    failed_step as failed_step,
    note_step as note_step,
    noting_step as noting_step,
    step_codes as step_codes,
)
from gpugraph.plan.run_clock import (
    INTERRUPTED as INTERRUPTED,
    RUN_CLOCK as RUN_CLOCK,
    Clock as Clock,
    FetchDestination as FetchDestination,
    Take as Take,
    TimeLimit as TimeLimit,
    check_run as check_run,
    give_early as give_early,
)
from gpugraph.plan.step_code import (
    GRAPH as GRAPH,
    NATIVE as NATIVE,
    StepCode as StepCode,
    plain_code as plain_code,
)
