"""A process that evaluates a target: params come in as lines of JSON, outcomes go out as such.

It leads a process group of its own. When nobody is left to talk to it ends, with everything that
its target has started.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import traceback
from typing import IO, Any

from innerloop.errors import StudyError
from innerloop.studies.targets import Evaluate, TargetError, load, target_of


def main() -> None:
    """Evaluate until there is nothing more to read."""
    requests, answers = _channels()
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, lines), daemon=True).start()
    try:
        evaluate = load(target_of(json.loads(lines.get())))
    except StudyError as error:
        _answer(answers, {"refused": str(error)})
        return
    _answer(answers, {"ready": True})
    while True:
        _answer(answers, _outcome(evaluate, json.loads(lines.get())))


def _channels() -> tuple[IO[str], IO[str]]:
    """Where to read and to write, out of the target's way: what it prints goes to stderr."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return requests, answers


def _listen(requests: IO[str], lines: queue.SimpleQueue[str]) -> None:
    for line in requests:
        lines.put(line)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _answer(answers: IO[str], content: dict[str, Any]) -> None:
    try:
        answers.write(json.dumps(content) + "\n")
        answers.flush()
    except OSError:  # nobody is left to hear it
        os.killpg(os.getpgrp(), signal.SIGKILL)


def _outcome(evaluate: Evaluate, params: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"value": evaluate(params)}
    except TargetError as error:
        return {"error": str(error)}
    except BaseException:  # whatever the target raises is its failure
        return {"error": traceback.format_exc().strip()}
    finally:
        sys.stdout.flush()


if __name__ == "__main__":
    main()
