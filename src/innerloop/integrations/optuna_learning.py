"""Hyperparameters that are learned once for given trials, and found in the study by all others."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from optuna.exceptions import StorageInternalError
from optuna.study import Study

from innerloop.optimizer.learn import Learned, Results, learn
from innerloop.space.space import Space

_LEARNED = "innerloop:learned"
_VERSION = 1
# MySQL holds attributes of up to 64 KiB.
_LONGEST = 60_000


@dataclass(frozen=True)
class SharedLearning:
    """What a study holds of the parameters of a space, under a name that they share.

    identity: tells their present ranges from others.
    """

    name: str
    identity: str
    d: int

    @staticmethod
    def of(space: Space, names: Iterable[str]) -> SharedLearning:
        """What is learned of the parameters of those names."""
        name = f"{_LEARNED}:{_digest(sorted(names))}"
        return SharedLearning(name, _digest(space.to_dict()), space.d)

    def learn(
        self, study: Study, numbers: tuple[int, ...], results: Results, sign: float
    ) -> Learned:
        """Hyperparameters, as the study has them or learned now, going on from what it has."""
        stored = self._stored(study)
        before = Learned.from_dict(stored["learned"]) if stored else None
        trials = _digest(numbers)
        if before is not None and stored["space"] == self.identity:
            is_due = before.is_due(len(results.values))
            if stored["trials"] == trials or not is_due:
                return before
        learned = learn(results, sign, before)
        self._store(study, {"trials": trials, "learned": learned.to_dict()})
        return learned

    def _stored(self, study: Study) -> dict[str, Any]:
        """What was learned last of these parameters, maybe with other ranges; may be empty."""
        stored = study._storage.get_study_system_attrs(study._study_id).get(self.name) or {}
        known = stored.get("version") == _VERSION and stored["d"] == self.d
        return stored if known else {}

    def _store(self, study: Study, content: dict[str, Any]) -> None:
        whole = {"version": _VERSION, "space": self.identity, "d": self.d, **content}
        if len(repr(whole)) <= _LONGEST:
            # A database that is busy just now loses nothing that could not be learned again.
            with contextlib.suppress(StorageInternalError):
                study._storage.set_study_system_attr(study._study_id, self.name, whole)


def _digest(content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]
