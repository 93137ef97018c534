"""How tests start the command: in a process of its own, or here."""

import io
import socket
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout

import pytest

from innerloop.cli.main import main

PATIENCE = 60.0  # seconds until something that should have happened is taken to have not
INNERLOOP = (sys.executable, "-m", "innerloop.cli.main")


def call(folder, *arguments, status=0):
    """stdout and stderr of a command, called here: what counts is what it leaves on disk."""
    out, err = io.StringIO(), io.StringIO()
    with (
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main(list(map(str, arguments)))
    assert (ended.value.code or 0) == status, err.getvalue()
    assert "Traceback" not in err.getvalue()
    return out.getvalue(), err.getvalue()


#: What targets begin with that are to wait at a `Gate`, if there is one.
WAIT_AT_GATE = """\
import os, socket

def wait_at_gate(params):
    if os.path.exists("port"):
        with open("port") as file:
            port = int(file.read())
        with socket.create_connection(("127.0.0.1", port)) as gate:
            gate.sendall(f"{params['x']!r} {params['y']!r}\\n".encode())
            if not gate.recv(1):
                raise ConnectionError("the gate was closed")

"""


class Gate:
    """Where every trial says that it runs, and waits until it is let through."""

    def __init__(self, folder):
        self._port, self._server = folder / "port", socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(PATIENCE)
        self._port.write_text(str(self._server.getsockname()[1]))
        self._waiting = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """From now on trials do not wait."""
        self._port.unlink()
        self.forget()
        self._server.close()

    @property
    def waiting(self):
        """Points (x, y) of the trials that wait."""
        return [point for point, _ in self._waiting]

    def arrive(self):
        """Wait for the next trial to run."""
        connection, _ = self._server.accept()
        connection.settimeout(PATIENCE)
        with connection.makefile() as said:
            self._waiting.append((tuple(map(float, said.readline().split())), connection))

    def let_through(self):
        """Have the first of those that wait return its value; what was its point."""
        point, connection = self._waiting.pop(0)
        with connection:
            connection.sendall(b".")
        return point

    def forget(self):
        """Those that wait are no more."""
        while self._waiting:
            self._waiting.pop()[1].close()
