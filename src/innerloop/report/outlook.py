"""What seems left to gain, in plain words."""

from __future__ import annotations

import math

import numpy as np

from innerloop.insight.model import FittedModel
from innerloop.insight.outcomes import OutcomesModel
from innerloop.report.numbers import number, percent
from innerloop.report.subject import Subject
from innerloop.run.stopping import distance_to_optimum

# That the best value is farther from the optimum than is said.
_RISK = 0.05
_CAVEAT = "up to Monte Carlo error and the inner search having found the largest gain"
# The gain to be expected, as a share of the gap between the best value and a typical one.
_VERDICTS = (
    (0.001, "Almost nothing seems left to gain."),
    (0.02, "Little seems left to gain."),
    (0.1, "Some improvement still seems possible."),
)


def outlook(subject: Subject) -> list[str]:
    """Some sentences on what the model expects of the next points."""
    if subject.trouble is not None:
        return [f"There is no model of the results: {subject.trouble}."]
    if not subject.trials:
        return ["Nothing has been tried yet."]
    if subject.copy is None and subject.complete():
        return ["No parameter varies, so there is nothing to learn about."]
    if subject.model is None and subject.outcomes is None:
        return ["No trial has given a value yet, so there is nothing to learn from."]
    if subject.exhausted:
        return ["Every combination of values has been tried or is being tried."]
    if not subject.next_trials:
        return []
    if any((t.prediction or t.predictions) is None for t in subject.next_trials):
        return [
            f"With {_count(subject.used, 'result')} it is too early to say what is left to "
            "gain: the next points are still spread evenly, to learn where good values are."
        ]
    if subject.model is not None:
        return _expectation(subject, subject.model)
    return [] if subject.outcomes is None else _aims(subject, subject.outcomes)


def _aims(subject: Subject, known: OutcomesModel) -> list[str]:
    """What the next points are after, where there are several outcomes."""
    goals, count = subject.goals, len(subject.next_trials)
    points = "The next point is" if count == 1 else f"The next {count} points are"
    them = "it is" if count == 1 else "they are"
    if not subject.front:
        aim = f"No trial is within all limits yet. {points} chosen to find one."
    elif len(goals.objectives) > 1:
        aim = f"{points} chosen for how far {them} expected to move the front."
    else:
        aim = f"{points} chosen by how much better than the best {them} expected to be."
    sentences = [aim]
    if subject.has_limits:
        X = known.first.space.encode_all([trial.params for trial in subject.next_trials])
        chances = [percent(float(each)) for each in np.sort(known.feasible(X))[[0, -1]]]
        said = chances[0] if chances[0] == chances[1] else f"{chances[0]} to {chances[1]}"
        sentences.append(f"The chance to be within all limits is {said} there.")
    sentences.append(
        f"This is the view of models, one for each outcome, that have seen "
        f"{_count(subject.used, 'result')}; they may be surprised where nothing has been "
        "tried."
    )
    return sentences


def _expectation(subject: Subject, model: FittedModel) -> list[str]:
    X = model.space.encode_all([trial.params for trial in subject.next_trials])
    chances, certificate = model.chance(X), subject.next_trials[0].certificate
    points = _points(len(X))
    by_certificate = subject.learner.acquisition == "ei" and certificate is not None
    if by_certificate and certificate is not None:
        gain = certificate.value * model.unit
    else:
        gain = float(model.improvement(X).max())
    said = f"The model expects {points} to improve the best value by {number(gain, 2)} on average"
    share = gain / model.outputs.typical
    varied = bool(model.posterior.y.std() > 0.0)
    if varied:
        said += f", {percent(share)} of the gap between the best value and a typical one"
    said += (
        f". The most promising has a chance of {percent(float(chances.max()))} to be better at all."
    )
    sentences = [_verdict(share)] if varied else []
    sentences.append(said)
    if by_certificate and certificate is not None and certificate.upper_bound is not None:
        bound = number(certificate.upper_bound * model.unit, 2)
        if certificate.fraction is not None and len(X) > 1:
            sentences.append(
                f"No other {len(X)} points could be expected to gain more than {bound}, {_CAVEAT}."
            )
    distance = distance_to_optimum(subject.learner, _RISK)
    if math.isfinite(distance):
        sentences.append(
            f"With a chance of {percent(1.0 - _RISK)} the best value is within "
            f"{number(distance, 2)} of the best there is."
        )
    sentences.append(
        f"This is the view of a model that has seen {_count(subject.used, 'result')}; "
        "it may be surprised where nothing has been tried."
    )
    return sentences


def _verdict(share: float) -> str:
    for limit, words in _VERDICTS:
        if share < limit:
            return words
    return "Much seems left to gain."


def _points(count: int) -> str:
    return "the next point" if count == 1 else f"the next {count} points together"


def _count(number_: int, word: str) -> str:
    return f"{number_} {word}{'' if number_ == 1 else 's'}"
