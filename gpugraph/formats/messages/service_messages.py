"""Messages between the servers of a cluster, and between servers and clients.

All these messages are gpugraph's own messages, not TensorFlow's. The tables have the syntax of
`declaration_text`. GraphDefs and ConfigProtos are included as bytes. `METHODS` lists the calls that
a server accepts.
"""

from __future__ import annotations

SERVICE = """
Nothing:
Failure: 1 code int32, 2 message string, 3 node string
Segment: 1 pid int64, 2 number int64, 3 token bytes, 4 size int64
Value: 1 dtype int32, 2 sizes *int64, 3 content bytes, 4 ticket string, 5 size int64,
    6 segment Segment
Values: 1 value *Value, 2 step_stats *bytes, 3 partition_graph *bytes
Pair: 1 first string, 2 second string
Device: 1 name string, 2 device_type string, 3 memory_limit int64, 4 incarnation int64,
    5 description string
Status: 1 task string, 2 incarnation int64, 3 device *Device, 4 segment Segment
CreateSession: 1 config bytes
SessionHandle: 1 handle string, 2 client_is_gone bool
ExtendSession: 1 handle string, 2 graph bytes, 3 old_version int64, 4 new_version int64,
    5 config bytes
ListDevices: 1 handle string, 2 filter *string
Devices: 1 device *Device
Containers: 1 container *string, 2 filter *string
StepNames: 1 feed *string, 2 fetch *string, 3 target *string, 4 connection *Pair, 5 done *string
ExplainStep: 1 handle string, 2 names StepNames
Explanation: 1 text string
RunStep: 1 handle string, 2 slot int64, 3 value *Value, 4 names StepNames, 5 timeout_ms int64,
    6 trace bool, 7 is_near bool, 8 graphs bool
Transfer: 1 key string, 2 task string, 3 value string
Stage: 1 feed *Pair, 2 fetch *Pair, 3 target *string, 4 connection *Pair, 5 done *string,
    6 receive *Transfer, 7 send *Pair, 8 collective *Collective, 9 take *string
Collective: 1 operation *string, 2 num_local int64, 3 leader string, 4 is_whole bool,
    5 is_inside bool
RegisterPart: 1 handle string, 2 stage *Stage, 3 feed *string, 4 fetch *string,
    5 task *string
PartHandle: 1 part int64
RunPart: 1 handle string, 2 part int64, 3 step int64, 4 value *Value, 5 timeout_ms int64,
    6 task *string, 7 trace bool, 8 round *int64, 9 first SendTensors,
    10 graphs bool
SendTensors: 1 step int64, 2 key *string, 3 value *Value
Tickets: 1 ticket *string
PartOfStep: 1 step int64
PartState: 1 state int32, 2 incarnation int64
AbortStep: 1 step int64, 2 failure Failure
CollectiveMember: 1 task string, 2 session string, 3 device *string, 4 segment Segment,
    5 incarnation int64
JoinCollective: 1 step int64, 2 key string, 3 size int64, 4 signature *string, 5 wait string,
    6 limit_s double, 7 member CollectiveMember, 8 round int64, 9 turn int64,
    10 sequence int64, 11 leader_incarnation int64
CollectiveMeeting: 1 step int64, 2 member *CollectiveMember, 3 leader_incarnation int64
CollectiveOutcome: 1 wait string, 2 meeting CollectiveMeeting, 3 failure Failure
LeaveCollective: 1 step int64, 2 key string, 3 wait string, 4 failure Failure, 5 device string,
    6 session string, 7 round int64, 8 is_own bool, 9 sequence int64
MemoryOf: 1 handle string, 2 is_released bool
MemoryUse: 1 device string, 2 counter *int64, 3 owner *string, 4 owned *int64
MemoryUses: 1 use *MemoryUse, 2 given_back int64
KeptTensors: 1 handle string, 2 tensor *string, 3 must_be_there bool
"""

METHODS: dict[str, tuple[str, str]] = {
    "GetStatus": ("Nothing", "Status"),
    "CreateSession": ("CreateSession", "SessionHandle"),
    "ExtendSession": ("ExtendSession", "Nothing"),
    "RunStep": ("RunStep", "Values"),
    "ExplainStep": ("ExplainStep", "Explanation"),
    "ListDevices": ("ListDevices", "Devices"),
    "CloseSession": ("SessionHandle", "Nothing"),
    "Reset": ("Containers", "Nothing"),
    "RegisterGraph": ("ExtendSession", "Nothing"),
    "RegisterPart": ("RegisterPart", "PartHandle"),
    "RunPart": ("RunPart", "Values"),
    "SendTensors": ("SendTensors", "Nothing"),
    "FreeParcels": ("Tickets", "Nothing"),
    "GetPartState": ("PartOfStep", "PartState"),
    "AbortStep": ("AbortStep", "Nothing"),
    "JoinCollective": ("JoinCollective", "CollectiveMeeting"),
    "SettleCollective": ("CollectiveOutcome", "Nothing"),
    "LeaveCollective": ("LeaveCollective", "Nothing"),
    "CloseWorkerSession": ("SessionHandle", "Nothing"),
    "ClearContainers": ("Containers", "Nothing"),
    "GetMemoryUse": ("MemoryOf", "MemoryUses"),
    "ReadKept": ("KeptTensors", "Values"),
    "DeleteKept": ("KeptTensors", "Nothing"),
}
"""The request and the response message of each method."""

ONE_WAY = frozenset(("SendTensors", "FreeParcels", "SettleCollective"))
"""Methods whose callers do not wait. A request that is sent over a stream gets no response."""
