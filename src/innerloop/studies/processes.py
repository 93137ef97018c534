"""Processes that evaluate a target, each killed and replaced when it takes too long or dies."""

from __future__ import annotations

import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from innerloop.errors import StudyError
from innerloop.studies.command import Command
from innerloop.studies.targets import Function, Returned, TargetError, numbers

_WORKER = (sys.executable, "-m", "innerloop.studies.worker")


class DaemonThreads:
    """An executor of `concurrent.futures` whose threads do not keep the program from ending."""

    def __init__(self, number: int) -> None:
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(number):
            threading.Thread(target=self._work, daemon=True).start()

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Have fn(*args) called."""
        future: Future[Any] = Future()
        self._jobs.put((future, fn, args))
        return future

    def _work(self) -> None:
        while True:
            future, fn, args = self._jobs.get()
            if future.set_running_or_notify_cancel():
                try:
                    result = fn(*args)
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)


class Processes:
    """Evaluates a target in other processes, as many at a time as threads call it."""

    def __init__(self, target: Function | Command, *, timeout: float | None) -> None:
        self._target, self._timeout = target, timeout
        self._lock, self._closed = threading.Lock(), False
        self._all: set[_Process] = set()
        self._idle = [self._started()]

    def __call__(self, params: dict[str, Any]) -> Returned:
        """The value, or values by name; raises TargetError if there is none."""
        process = self._taken()
        try:
            answer = process.ask(params, self._timeout)
        except (TargetError, StudyError):
            process.kill()
            with self._lock:
                self._all.discard(process)
            raise
        with self._lock:
            self._idle.append(process)
        if "error" in answer:
            raise TargetError(answer["error"])
        return numbers(answer["value"])

    def close(self) -> None:
        """Kill all processes with everything that they have started."""
        with self._lock:
            self._closed = True
            everything = list(self._all)
        for process in everything:
            process.kill()

    def _taken(self) -> _Process:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._started()

    def _started(self) -> _Process:
        with self._lock:
            if self._closed:
                raise TargetError("the run has ended")
            process = _Process()
            self._all.add(process)
        answer = process.ask(self._target.to_dict(), None)
        if "refused" in answer:
            process.kill()
            raise StudyError(answer["refused"])
        return process


class _Process:
    """One process and the pipes to it."""

    def __init__(self) -> None:
        self._popen = subprocess.Popen(
            _WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )

    def ask(self, content: Mapping[str, Any], timeout: float | None) -> dict[str, Any]:
        """Its answer; raises TargetError if there is none in time, or never will be."""
        assert self._popen.stdin is not None
        with suppress(OSError, ValueError):
            self._popen.stdin.write(json.dumps(content).encode() + b"\n")
        line = self._line(None if timeout is None else time.monotonic() + timeout)
        if line is None:
            raise TargetError(f"no value within {timeout:g} seconds")
        if not line.endswith(b"\n"):
            raise TargetError(self._how_it_ended())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def kill(self) -> None:
        """End it with everything that it has started."""
        with suppress(OSError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _line(self, deadline: float | None) -> bytes | None:
        """A line, what there is of one if it has ended, or None if it is too late."""
        pipe, text = self._popen.stdout, b""
        assert pipe is not None
        with selectors.DefaultSelector() as selector:
            try:
                selector.register(pipe, selectors.EVENT_READ)
            except (ValueError, OSError):  # closed
                return text
            while not text.endswith(b"\n"):
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return None
                if selector.select(left):
                    piece = os.read(pipe.fileno(), 65536)
                    if not piece:
                        break
                    text += piece
        return text

    def _how_it_ended(self) -> str:
        status = self._popen.wait()
        if status < 0:
            return f"the process that evaluated it was ended by signal {-status}"
        return f"the process that evaluated it ended with status {status}"
