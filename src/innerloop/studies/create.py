"""A new study, or one that is there and agrees with what is given."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

import optuna
from optuna.storages import RDBStorage
from optuna.study import StudyDirection

from innerloop import checks
from innerloop.errors import StudyError
from innerloop.integrations.optuna_private import set_user_attr_once
from innerloop.optimizer.goals import Goals
from innerloop.space.space import Space
from innerloop.studies.book import directions_of
from innerloop.studies.records import Record
from innerloop.studies.storage import open_storage, storage_errors
from innerloop.studies.study import Study, open_study
from innerloop.studies.view import ATTRIBUTE, WITH_GOALS, goals_of

_WAYS = {"minimize": StudyDirection.MINIMIZE, "maximize": StudyDirection.MAXIMIZE}
_LONGEST_NAME = 200


def create_study(
    url: str,
    name: str,
    *,
    space: Space | None,
    direction: str | None = None,
    seed: int | None = None,
    goals: Goals | None = None,
) -> Study:
    """A study that is there and agrees with what is given, or a new one.

    Args:
        url: that of the database.
        name: that of the study.
        space: what to choose from; None for a study that is there.
        direction: "minimize" or "maximize"; None for that which it has, or else the former.
        seed: None for that which it has, or else a random one.
        goals: None for those which it has, or else one objective of that direction.

    Returns:
        The study; a StudyError if it is there and differs from what is given.
    """
    if goals is not None:
        _refuse_names(goals)
    if space is None:
        study = open_study(url, name)
    else:
        storage = open_storage(url, writing=True)
        with storage_errors(url):
            wanted = goals or Goals.of(None, direction=direction or "minimize")
            with suppress(optuna.exceptions.DuplicatedStudyError):
                directions = [_WAYS[each] for each in wanted.objectives.values()]
                optuna.create_study(storage=storage, study_name=name, directions=directions)
            _adopt(storage, name, space, seed, goals)
            study = Study(storage, name, url)
    _refuse_difference(study, space, direction, seed)
    if goals not in (None, study.goals):
        raise _other_goals(study.goals, goals, name)
    return study


def _adopt(
    storage: RDBStorage, name: str, space: Space, seed: int | None, goals: Goals | None
) -> None:
    """Give a study its space, seed and goals, unless it has some."""
    study = optuna.load_study(study_name=name, storage=storage)
    if ATTRIBUTE in study.user_attrs:
        return
    number = storage.get_study_id_from_name(name)
    drawn = secrets.randbits(32) if seed is None else checks.count("seed", seed, 0)
    settings = {"version": 1, "space": space.to_dict(), "seed": drawn}
    if goals is None:
        goals_of(name, directions_of(study), settings)
        set_user_attr_once(storage, number, ATTRIBUTE, settings)
        return
    if directions_of(study) != list(goals.objectives.values()):
        there, given = ", ".join(directions_of(study)), ", ".join(goals.objectives.values())
        raise StudyError(f"study {name!r} is there already, to {there}, not to {given}")
    settings |= {"version": WITH_GOALS, "goals": goals.to_dict()}
    set_user_attr_once(storage, number, ATTRIBUTE, settings)
    kept = Study(storage, name, "").goals  # another process may have been faster
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.set_metric_names(list(kept.objectives))


def _refuse_names(goals: Goals) -> None:
    """Outcomes are columns beside those that all trials have."""
    columns = {field.name for field in fields(Record)} - {"value"}
    for name in goals.names:
        if name in columns or name != name.strip() or len(name) > _LONGEST_NAME:
            raise StudyError(
                f"an outcome cannot be called {name!r}: names are not those of other columns, have "
                f"no blanks around them and at most {_LONGEST_NAME} characters"
            )


def _other_goals(ours: Goals, theirs: Goals, name: str) -> StudyError:
    here, there = ours.to_dict(), theirs.to_dict()
    different = [f"{k} were {here[k]} and are now {there[k]}" for k in here if here[k] != there[k]]
    advice = "give another --study or leave out --space"
    about = f"study {name!r} is there already with other goals"
    return StudyError(f"{about}: {'; '.join(different)}: {advice}")


def _refuse_difference(
    study: Study, space: Space | None, direction: str | None, seed: int | None
) -> None:
    """What a study was created with stays as it is."""
    about = f"study {study.name!r} is there already"
    if space is not None and study.space is not None:
        different = list(_differences(study.space.to_dict(), space.to_dict()))
        if different:
            advice = "give another --study or leave out --space; 'innerloop space' changes it"
            raise StudyError(f"{about} with another space: {'; '.join(different)}: {advice}")
    if direction is not None and len(study.goals.objectives) > 1:
        raise StudyError(f"{about} with several objectives: leave out --direction")
    if direction not in (None, study.direction):
        raise StudyError(f"{about}, to {study.direction}, not to {direction}")
    if seed not in (None, study.seed):
        raise StudyError(f"{about} with seed {study.seed}, not {seed}")


def _differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterable[str]:
    """In what a given space differs from that of the study."""
    here, there = ours["parameters"], theirs["parameters"]
    for name in {**here, **there}:
        if name not in there:
            yield f"{name!r} is missing"
        elif name not in here:
            yield f"{name!r} is new"
        elif here[name] != there[name]:
            yield f"{name!r} was {here[name]} and is now {there[name]}"
    if list(ours["constraints"]) != list(theirs["constraints"]):
        yield f"constraints were {ours['constraints']} and are now {theirs['constraints']}"
