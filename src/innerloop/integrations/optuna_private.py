"""Everything that innerloop needs of Optuna and that Optuna does not document.

No other file uses such names. Each stands in one function, which says by what it would be replaced;
`tests/test_optuna_private.py` says which of them has changed in the Optuna that is installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

if TYPE_CHECKING:
    from sqlalchemy import Engine


def storage_of(study: Study) -> BaseStorage:
    """The storage that a study reads from and writes to: `Study._storage`.

    There is no public way: a property `Study.storage` would be one. `Study.set_user_attr` is none:
    users see what it writes, it writes nothing about a trial, and the views of a study that
    `HyperbandPruner` gives to samplers do not have it.

    Args:
        study: a study, or the view of one that a sampler is given.

    Returns:
        The storage itself, not a copy; behind a cache if it is a database.
    """
    return study._storage


def study_id_of(study: Study) -> int:
    """The number by which its storage knows a study: `Study._study_id`.

    Where the storage is at hand, `get_study_id_from_name(study.study_name)` of it is public, and
    asks the database; else a property `Study.study_id` would have to become public.

    Args:
        study: a study, or the view of one that a sampler is given.

    Returns:
        The number, which the storage may use again once the study is deleted.
    """
    return study._study_id


def trial_id_of(trial: FrozenTrial | Trial) -> int:
    """The number by which its storage knows a trial: `FrozenTrial._trial_id`, `Trial._trial_id`.

    Where storage and study are at hand, `get_trial_id_from_study_id_trial_number` of the storage is
    public, and asks the database; else a property `FrozenTrial.trial_id` would have to become
    public.

    Args:
        trial: a trial of a study.

    Returns:
        The number, which is not that of the trial in its study.
    """
    return trial._trial_id


def latest_trials(study: Study) -> list[FrozenTrial]:
    """All trials of a study as they are now.

    The public way is `Study.get_trials(deepcopy=False)`, once the views of a study that
    `HyperbandPruner` gives to samplers list all trials by it and not those of one bracket only.

    Args:
        study: a study, or the view of one that a sampler is given.

    Returns:
        The trials by number, not to be changed.
    """
    return storage_of(study).get_all_trials(study_id_of(study), deepcopy=False)


def listed_trials(study: Study) -> list[FrozenTrial]:
    """All trials of a study as this thread listed them first for its trial: `Study._get_trials`.

    There is no public way: `Study.get_trials` asks the database whenever it is called, which would
    be once for each parameter. It would have to take `use_cache=True`.

    Args:
        study: a study, or the view of one that a sampler is given.

    Returns:
        The trials by number, not to be changed.
    """
    return study._get_trials(deepcopy=False, use_cache=True)


def forget_listed_trials(study: Study) -> None:
    """Have `listed_trials` list them anew in this thread: `Study._thread_local`.

    `Study.ask` and `Study.tell` do so. There is no public way beside them, and none is needed where
    they are used.

    Args:
        study: a study of which this thread begins a trial.
    """
    study._thread_local.cached_all_trials = None


def begin_trial(study: Study, system_attrs: Mapping[str, Any]) -> Trial:
    """Begin a trial that has attributes from its first moment on: by the constructor of `Trial`.

    Optuna advises against that constructor. There is no public way: `Study.ask` would have to take
    `system_attrs`. An attribute that is set after `Study.ask` is missing if the process dies in
    between, and `Study.add_trial` does not say which trial it has added.

    Args:
        study: the study.
        system_attrs: attributes that users do not see, ready for JSON.

    Returns:
        The trial, which is running and has no parameters yet.
    """
    template = create_trial(state=TrialState.RUNNING, system_attrs=dict(system_attrs))
    forget_listed_trials(study)
    return Trial(study, storage_of(study).create_new_trial(study_id_of(study), template))


def fixed_params_of(trial: FrozenTrial) -> dict[str, Any]:
    """Values that a trial was enqueued with: the system attribute "fixed_params".

    There is no public way: a property `FrozenTrial.fixed_params` would be one. What a trial has
    taken of them is in `FrozenTrial.params`, but too late for the choice of the others.

    Args:
        trial: a trial of a study.

    Returns:
        The values by name as users know them; none if the trial was not enqueued.
    """
    return dict(trial.system_attrs.get("fixed_params") or {})


def set_constraints_of(
    study: Study,
    trial: FrozenTrial,
    state: TrialState,
    constraints_func: Callable[[FrozenTrial], Sequence[float]],
) -> None:
    """Keep constraints as samplers of Optuna do: `_process_constraints_after_trial`.

    There is no public way where the values come from a function of a finished trial:
    `FrozenTrial.set_constraint` writes nothing to the storage.

    Args:
        study: the study.
        trial: a trial that is about to finish.
        state: what it will be; only one that is complete or pruned gets constraints.
        constraints_func: what says by how much the trial violates each of them.
    """
    from optuna.samplers._base import _process_constraints_after_trial

    _process_constraints_after_trial(constraints_func, study, trial, state)


def engine_of(storage: RDBStorage) -> Engine:
    """The engine of SQLAlchemy by which a storage talks to its database: `RDBStorage.engine`.

    The name is not private, but not documented either. There is no other way: `RDBStorage` would
    have to document it, or take an engine instead of a URL.

    Args:
        storage: a database.

    Returns:
        The engine itself, whose events and connections are those of the storage.
    """
    engine: Engine = storage.engine
    return engine


def set_user_attr_once(storage: RDBStorage, study: int, key: str, value: Any) -> None:
    """Set an attribute of a study unless it is there, as a row of `StudyUserAttributeModel`.

    Of processes that do so at the same moment the first one sets it, as no two rows may have one
    study and key. There is no public way: `set_study_user_attr` of a storage replaces what it
    finds. It would have to take `overwrite=False`, or `optuna.create_study` the attributes.

    Args:
        storage: the database.
        study: the number by which it knows the study.
        key: the name of the attribute.
        value: ready for JSON.
    """
    from optuna.storages._rdb.models import StudyUserAttributeModel  # slow to import

    row = {"study_id": study, "key": key, "value_json": json.dumps(value)}
    _insert(storage, StudyUserAttributeModel, [row])


def set_trial_user_attrs_once(
    storage: RDBStorage, trial: int, attributes: Mapping[str, Any]
) -> None:
    """Set attributes of a trial that are not there, as rows of `TrialUserAttributeModel`.

    As with `set_user_attr_once` the first of several processes sets each of them, and for the same
    reason there is no public way.

    Args:
        storage: the database.
        trial: the number by which it knows the trial.
        attributes: values by name, ready for JSON.
    """
    from optuna.storages._rdb.models import TrialUserAttributeModel  # slow to import

    _insert(storage, TrialUserAttributeModel, _rows(trial, attributes))


def set_constraints_once(storage: RDBStorage, trial: int, excesses: Mapping[str, float]) -> None:
    """Set constraints of a trial that are not there, as rows of `TrialSystemAttributeModel`.

    The public way is `Trial.set_constraint`, which is for trials that run: a limit that is relative
    to a trial may become known when others have finished.

    Args:
        storage: the database.
        trial: the number by which it knows the trial.
        excesses: by how much each of them is violated, by name; up to 0 it is met.
    """
    from optuna.storages._rdb.models import TrialSystemAttributeModel  # slow to import

    named = {f"constraints:{name}": excess for name, excess in excesses.items()}
    _insert(storage, TrialSystemAttributeModel, _rows(trial, named))


def _rows(trial: int, attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Attributes of a trial as rows: their columns are not documented, either."""
    texts = {key: json.dumps(value) for key, value in attributes.items()}
    return [{"trial_id": trial, "key": key, "value_json": text} for key, text in texts.items()]


def _insert(storage: RDBStorage, model: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add those rows that the database does not have: all at once if it has none of them.

    Sessions of SQLAlchemy are documented; what is not is said where this is called.
    """
    from sqlalchemy.exc import IntegrityError
    from sqlalchemy.orm import Session

    try:
        with Session(engine_of(storage)) as session:
            session.add_all([model(**row) for row in rows])
            session.commit()
    except IntegrityError:
        for row in rows if len(rows) > 1 else ():
            _insert(storage, model, [row])
