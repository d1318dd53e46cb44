"""The steps of swapped tensors on devices that can copy while kernels run.

A Send begins the copy, and its Recv waits until the copy has ended. A device whose memory is host
memory copies such a tensor at the Recv, like any other tensor.
"""

from __future__ import annotations

from gpugraph.compile.placement.graph_partition import SWAPPED
from gpugraph.compile.steps.plan_arrays import Arrays
from gpugraph.plan import Run


def swap_copies(arrays: Arrays) -> dict[int, Run]:
    """Return the callables of the Sends and Recvs of swapped tensors, by node id."""
    runs: dict[int, Run] = {}
    homes = arrays.unit.homes
    for send, back in arrays.unit.send_recv_pairs:
        out = send.input_edge(0).src if SWAPPED in back.attrs else send
        device = arrays.devices[back.assigned_device]
        if SWAPPED not in out.attrs or not device.has_kernels:
            continue
        leaving = arrays.sends[out.id]
        edge = leaving.input_edge(0)
        source = arrays.array(homes[edge.src.id, edge.src_output])
        copies = device.swapping(source, arrays.array(homes[back.id, 0]))
        arrays.owned.append(copies)
        arrays.holdings.swaps.append(copies)
        runs.update(
            {
                **{leaving.id: copies.leave, out.id: copies.left},
                **{send.id: copies.come, back.id: copies.back},
            }
        )
    return runs
