"""Doing something anew whenever a study has changed, until Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from innerloop.studies.view import StudyView

# Seconds between looks; and how many times what the last one has taken, so that most of a
# processor is left to those who evaluate.
_PAUSE, _REST = 2.0, 3.0


def watch(
    look: Callable[[], Sequence[StudyView]], act: Callable[[Sequence[StudyView]], None]
) -> None:
    """Look at studies, and act whenever they have changed; until KeyboardInterrupt."""
    before: Hashable = None
    while True:
        began = time.monotonic()
        studies = look()
        now = tuple(map(_mark, studies))
        if now != before:
            act(studies)
            before = now
        time.sleep(max(_PAUSE, _REST * (time.monotonic() - began)))


def _mark(study: StudyView) -> Hashable:
    """What differs as soon as anything has been asked, told or changed."""
    trials = study.stored_trials()
    states = tuple((t.number, t.state.name, len(t.params), len(t.user_attrs)) for t in trials)
    return study.name, len(study.changes()), states
