"""What a picture is about: an optimizer, one of its outcomes, and the model of that."""

from __future__ import annotations

from typing import TypeAlias

from innerloop import checks, linalg
from innerloop.errors import InputError
from innerloop.insight.model import FittedModel
from innerloop.insight.outcomes import OutcomesModel
from innerloop.optimizer.optimizer import Optimizer
from innerloop.run.result import Result
from innerloop.studies.optimizers import optimizer_of
from innerloop.studies.view import StudyView

Source: TypeAlias = Optimizer | Result | StudyView


def optimizer_in(source: Source) -> Optimizer:
    """The optimizer that has what is to be drawn, with a trial at least."""
    expected = "an Optimizer, a Result or a study"
    checks.instance("what is drawn", source, (Optimizer, Result, StudyView), expected)
    optimizer = source
    if isinstance(source, Result):
        optimizer = source.optimizer
    elif isinstance(source, StudyView):
        optimizer = optimizer_of(source)
    assert isinstance(optimizer, Optimizer)
    if not optimizer.trials:
        raise InputError("there is nothing to draw: no trial has been asked or added yet")
    return optimizer


def outcome_in(optimizer: Optimizer, outcome: str | None) -> str:
    """The name of an outcome; by default the first objective."""
    names = optimizer.goals.names
    if outcome is not None:
        checks.one_of("outcome", outcome, names)
    return names[0] if outcome is None else outcome


def model_of(optimizer: Optimizer, outcome: str) -> FittedModel:
    """What has been learned of an outcome; an InputError if there is nothing to learn from."""
    with linalg.one_blas_thread():
        if optimizer.goals.is_plain:
            return FittedModel.of(optimizer)
        known = OutcomesModel.of(optimizer)
    if known is None:
        raise InputError("nothing has been learned: no trial has been told all outcomes yet")
    return known.models[outcome]
