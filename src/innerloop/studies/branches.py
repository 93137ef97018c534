"""Which part of an inferred space is searched, where trials differ in the parameters they have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from innerloop.errors import InputError
from innerloop.space.parameters import Choice
from innerloop.space.space import Space
from innerloop.studies.records import Record
from innerloop.studies.view import StudyView


def searched_of(study: StudyView, records: Sequence[Record]) -> Space | None:
    """Where trials have the parameters of the best one, or of most on the front.

    Args:
        study: any study.
        records: its trials.

    Returns:
        Its space, or the part of it; None if nothing varies there.
    """
    if study.space is None or not study.is_inferred:
        return study.space
    sets = Counter(tuple(record.params) for record in _best_of(study, records))
    names = max(sets, key=lambda each: sets[each], default=())
    return _branch(study.space, names, [record.params for record in records])


def space_of(parameters: Mapping[str, Any]) -> Space | None:
    """The space of some parameters; None if none of them varies."""
    try:
        return Space(parameters)
    except InputError:
        return None


def _best_of(study: StudyView, records: Sequence[Record]) -> Sequence[Record]:
    """The best trial, or the front, within all limits; all that are complete if there is none."""
    complete = [record for record in records if record.state == "complete"] or records
    front = study.goals.front(records)
    if len(study.goals.objectives) > 1 or not front:
        return front or complete
    sign = -study.goals.signs[0]
    return [min(front, key=lambda record: sign * (record.value or 0.0))]


def _branch(
    space: Space, names: Collection[str], tried: Sequence[Mapping[str, Any]]
) -> Space | None:
    """The part of a space with some parameters, and the choices of trials that have them all."""
    having = [params for params in tried if set(names) <= params.keys()]
    parameters = {n: p for n, p in space.parameters.items() if n in names}
    if len(having) < sum(map(bool, tried)):
        for name, parameter in parameters.items():
            if isinstance(parameter, Choice):
                made = {params[name] for params in having}
                parameters[name] = Choice([each for each in parameter.values if each in made])
    return space_of(parameters)
