"""The HTML that notebooks show for a session. It lists the devices with their memory, and the
compiled plans.
"""

from __future__ import annotations

from html import escape

from gpugraph.base.html_tables import folded, html_table
from gpugraph.graph.client.client_graph import Graph
from gpugraph.memory import human_readable_bytes
from gpugraph.session.session_backend import SessionBackend

_MAX_PLANS = 50
_MAX_DEVICES = 100


def session_html(target: str, graph: Graph, backend: SessionBackend) -> str:
    """Return the HTML of an open session."""
    stats = backend.memory_stats()
    devices = [
        (
            device.name.rpartition("device:")[2],
            device.device_type,
            human_readable_bytes(device.memory_limit_bytes),
            human_readable_bytes(stats[device.name].bytes_in_use) if device.name in stats else "",
        )
        for device in backend.list_devices()
    ]
    plans = backend.plan_rows()
    head = f"{len(graph._by_name)} operations, {len(plans)} compiled plans"
    parts = [
        f"<p>{escape(head)}</p>",
        html_table(("device", "type", "memory limit", "in use"), devices, _MAX_DEVICES),
        html_table(("plan of", "shapes of the feeds", "runs"), plans, _MAX_PLANS) if plans else "",
    ]
    return folded(f"Session {target}".rstrip(), "".join(parts), True)


def closed_html(target: str) -> str:
    """Return the HTML of a closed session."""
    return folded(f"Session {target}".rstrip(), "<p>closed</p>", True)
