"""Hyperparameters that are learned once for given trials, and found in the study by all others."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from optuna.exceptions import StorageInternalError
from optuna.study import Study

from innerloop.errors import InputError
from innerloop.integrations.optuna_private import storage_of, study_id_of
from innerloop.optimizer.learn import Kinds, learn
from innerloop.optimizer.learned import Learned
from innerloop.optimizer.plain_data import class_name
from innerloop.optimizer.results import Results
from innerloop.space.space import Space
from innerloop.surrogate.kernels import Kernel, Matern52

_LEARNED = "innerloop:learned"
# Kernels of the first version have no axes.
_VERSION, _READABLE = 2, (1, 2)
# MySQL holds attributes of up to 64 KiB.
_LONGEST = 60_000


@dataclass(frozen=True)
class SharedLearning:
    """What a study holds of the parameters of a space.

    Args:
        name: that under which the study holds it, the same for the same parameters.
        identity: tells their present ranges from others.
        d: how many coordinates the space has.
    """

    name: str
    identity: str
    d: int

    @staticmethod
    def of(space: Space, names: Iterable[str]) -> SharedLearning:
        """What is learned of the parameters of a space.

        Args:
            space: the space.
            names: those of its parameters that vary.

        Returns:
            Where the study holds it.
        """
        name = f"{_LEARNED}:{_digest(sorted(names))}"
        return SharedLearning(name, _digest(space.outline()), space.d)

    def of_outcome(self, outcome: str) -> SharedLearning:
        """What is learned of one of several outcomes.

        Args:
            outcome: its name.

        Returns:
            Where the study holds it, apart from what is learned of others or of one alone.
        """
        return replace(self, name=f"{self.name}:{_digest(outcome)}")

    def learn(
        self,
        study: Study,
        numbers: tuple[int, ...],
        results: Results,
        sign: float,
        kinds: Kinds = Kinds(),  # noqa: B008 - it never changes
        *,
        seconds: float | None = None,
        changed: tuple[tuple[int, int], ...] = (),
    ) -> Learned:
        """Hyperparameters, as the study has them or learned now, going on from what it has.

        Args:
            study: the study.
            numbers: those of the trials that the results are of.
            results: what came of them.
            sign: 1 if large values are good, -1 if small ones are.
            kinds: as in `learn`; what was learned with other kernels is passed over.
            seconds: as in `learn`.
            changed: numbers and marks of the trials that were changed. What was learned from them
                as they were before is passed over.

        Returns:
            What was learned, of one of these kinds.
        """
        kind = _name_of(kinds.kernels)
        stored, marks = self._stored(study, kind), _digest(changed) if changed else None
        if stored.get("changed") != marks:
            stored = {}
        before = Learned.from_dict(stored["learned"]) if stored else None
        trials = _digest(numbers)
        if before is not None and stored["space"] == self.identity:
            is_due = before.is_due(len(results.values))
            if stored["trials"] == trials or not is_due:
                return before
        learned = learn(results, sign, before, kinds, seconds=seconds)
        if kind is not None:
            content = {"kernel": kind, "trials": trials, "learned": learned.to_dict()}
            content |= {} if marks is None else {"changed": marks}
            self._store(study, content)
        return learned

    def _stored(self, study: Study, kind: str | None) -> dict[str, Any]:
        """What was learned last of these parameters, maybe with other ranges; may be empty."""
        attributes = storage_of(study).get_study_system_attrs(study_id_of(study))
        stored: dict[str, Any] = attributes.get(self.name) or {}
        known = (
            stored.get("version") in _READABLE
            and stored["d"] == self.d
            and stored.get("kernel", _name_of((Matern52,))) == kind  # there was no other once
        )
        return stored if known else {}

    def _store(self, study: Study, content: dict[str, Any]) -> None:
        whole = {"version": _VERSION, "space": self.identity, "d": self.d, **content}
        if len(repr(whole)) <= _LONGEST:
            # A database that is busy just now loses nothing that could not be learned again.
            with contextlib.suppress(StorageInternalError):
                storage_of(study).set_study_system_attr(study_id_of(study), self.name, whole)


def _name_of(kernels: tuple[type[Kernel], ...]) -> str | None:
    """Kinds of kernels as other processes can find them; None if they cannot."""
    try:
        return " ".join(class_name(kernel) for kernel in kernels)
    except InputError:
        return None


def _digest(content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]
