"""How tests start the command: in a process of its own, or here."""

import io
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout

import pytest

from innerloop.cli.main import main

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
