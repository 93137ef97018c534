"""Who runs a trial, and whether that process is still there."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def this_process() -> dict[str, Any]:
    """Host, process and when it started, ready for JSON."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "started": _started(os.getpid())}


def is_dead(owner: Mapping[str, Any]) -> bool:
    """Whether a process has ended, as far as this host can know.

    Args:
        owner: what `this_process` gave in that process.

    Returns:
        Whether it has; False for other hosts.
    """
    try:
        pid, started = int(owner["pid"]), str(owner["started"])
    except (KeyError, TypeError, ValueError):
        return False
    if owner.get("host") != socket.gethostname():
        return False
    # A number may have been given to another process since then.
    return _started(pid) != started


def _started(pid: int) -> str | None:
    """When a process started, in whatever terms the system has; None if there is none."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        # The name of the program, in parentheses, may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return None
    except OSError:
        return None
    else:
        return None if fields[0] in "ZX" else f"{boot} {fields[19]}"
    listed = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listed.stdout.strip() or None
