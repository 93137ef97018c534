"""Headings and words of the page where there are several outcomes."""

from __future__ import annotations

from math import isfinite

from innerloop.insight.outcomes import growth
from innerloop.optimizer.goals import OutcomeConstraint
from innerloop.optimizer.trials import Trial
from innerloop.report.numbers import number
from innerloop.report.subject import Subject

OFTEN_NARROW = (
    "With few trials, or across steps, it is often too narrow: with 15 trials it held 84 to 98 % "
    "of true values on average."
)
LEFT_OUT = "Parameters that do not apply to that trial are left out."
TIED = (
    "Parameters that an equation ties to those shown cannot stay as they are: they change as "
    "little as they can, all others stay."
)
MATTERS = (
    "Of the variance of the expected value over the whole space, the share that is left once all "
    "other parameters are known: the total Sobol index. What parameters do together counts for "
    "each of them, so that shares may add up to more than 100 %; where an equation ties "
    "parameters, or some may be left out, it is what each does alone. All this is the view of the "
    "model, and as wrong as that."
)
_Section = tuple[str, str, tuple[str, ...]]


def sections_of_outcomes(subject: Subject) -> list[_Section]:
    """Names, headings and words of the sections that one objective has otherwise."""
    several = len(subject.goals.objectives) > 1
    found: list[_Section] = []
    if several and subject.complete():
        found += [_front(subject), *_hypervolume(subject)]
    elif subject.trials:
        found.append(_progress(subject))
    if subject.outcomes is not None:
        if subject.modelled > 1:
            found += [_importance()]
        found.append(_effects(subject))
        found += [_map(subject)] if subject.modelled > 1 else []
    if subject.next_trials:
        found.append(_next(subject))
    return found


def aims(subject: Subject) -> str:
    """What is done with the outcomes: Minimizing cost and maximizing yield, with ph <= 7,"""
    objectives = subject.goals.objectives.items()
    *most, last = [f"{way.removesuffix('e')}ing {name}" for name, way in objectives]
    said = " and ".join([", ".join(most), last] if most else [last])
    limits = ", ".join(each.text.strip() for each in subject.goals.constraints)
    return said[0].upper() + said[1:] + (f", with {limits}," if limits else "")


def limit_of(constraint: OutcomeConstraint, subject: Subject) -> str:
    """A limit as it was written, and its number if it is relative to a trial."""
    limit = constraint.limit(subject.trials)
    if constraint.trial is None:
        return constraint.text.strip()
    known = "not known yet" if limit is None else number(limit, 6)
    return f"{constraint.text.strip()} ({known})"


def others(subject: Subject, trial: Trial) -> str:
    """The outcomes of a trial that have limits, with these: heat 3.2 (heat <= 4)."""
    told = trial.outcomes or {}
    return ", ".join(
        f"{each.name} {number(told[each.name], 6)} ({limit_of(each, subject)})"
        for each in subject.goals.constraints
    )


def _front(subject: Subject) -> _Section:
    goals = subject.goals
    words = "Each mark is a complete trial. The front is made of the trials that no other one "
    words += "beats in all objectives"
    words += " among those within all limits: " if goals.constraints else ": "
    words += "to be better in one objective, another one has to give way. "
    if len(goals.objectives) == 2:
        words += "What lies on the worse side of the line is beaten by a trial of the front."
    else:
        words += "Seen in two objectives at a time, trials of the front may lie behind others."
    ways = ", ".join(
        f"{name} {'lower' if way == 'minimize' else 'higher'}"
        for name, way in goals.objectives.items()
    )
    return "front", "The front", (f"{words} Better is: {ways}.",)


def _hypervolume(subject: Subject) -> list[_Section]:
    grown = growth(subject.goals, subject.trials)
    if not subject.front or not isfinite(grown.volumes[-1]):
        return []
    worst = zip(subject.goals.objectives, grown.reference.tolist(), strict=True)
    reference = ", ".join(f"{name} {number(value, 5)}" for name, value in worst)
    words = (
        "The hypervolume is the volume between the front and the worst values of interest, "
        f"{reference}: the larger, the better the front. It is now "
        f"{number(float(grown.volumes[-1]), 6)}. A line that has long been flat means that new "
        "trials no longer add to it."
    )
    return [("hypervolume", "Progress", (words,))]


def _progress(subject: Subject) -> _Section:
    name, way = next(iter(subject.goals.objectives.items()))
    words = (
        f"Each mark is the {name} of one trial; the line is the best so far among trials within "
        f"all limits. {'Lower' if way == 'minimize' else 'Higher'} is better. A line that has "
        "long been flat means that new trials no longer find anything better."
    )
    return "convergence", "Progress", (words,)


def _importance() -> _Section:
    words = (
        f"{MATTERS} The change is that of the expected outcome along the slice of each parameter "
        "in the next section."
    )
    return "importance", "Which parameters matter", (words,)


def _center(subject: Subject) -> str:
    """The trial that slices and maps go through, in words."""
    if subject.outcomes is None:
        return ""
    number_ = subject.learned_from[subject.outcomes.first.best.id]
    if not subject.front:
        return f"trial {number_}, the likeliest to be within all limits"
    if len(subject.goals.objectives) == 1:
        return f"trial {number_}, the best one"
    return f"trial {number_}, which of the front is nearest to the best of all objectives"


def _effects(subject: Subject) -> _Section:
    only = subject.modelled == 1
    words = ["What the model of an outcome expects "]
    words[0] += (
        "along the parameter. "
        if only
        else f"if one parameter varies and the others stay as in {_center(subject)}. "
    )
    words[0] += (
        "The line is the expected value. The band is where the true value lies with a probability "
        "of about 95 %, noise aside (two standard deviations of the model). " + OFTEN_NARROW
    )
    if not only:
        words[0] += (
            " Dots are trials: they differ from the slice in the other parameters, the fainter "
            "the more, so they need not lie on the line."
        )
    if subject.has_limits:
        words.append(
            "A further choice is the chance that a trial there is within all limits, as the "
            "models see it."
        )
    if subject.is_conditional:
        words.append(LEFT_OUT)
    if subject.constraints:
        words.append("Lines end where the constraints do not allow more.")
    if subject.is_tied:
        words.append(TIED)
    return "effects", f"What {'the' if only else 'each'} parameter does", tuple(words)


def _map(subject: Subject) -> _Section:
    words = [
        f"The models over two parameters, the others as in {_center(subject)}. Marks lie at their "
        "values of these two parameters and may differ in the others."
    ]
    if subject.constraints:
        words.append("Nothing is drawn where the constraints do not allow a trial.")
    if subject.is_tied:
        words.append(TIED)
    return "map", "The landscape", tuple(words)


def _next(subject: Subject) -> _Section:
    words = (
        "What innerloop would ask now" if subject.case.is_inferred else "What would be asked now"
    )
    if subject.outcomes is not None:
        words += (
            ", and what the models expect there of each outcome, with the range that holds the "
            "true value with a probability of about 95 %"
        )
        if subject.has_limits:
            words += "; and the chance to be within all limits"
            if subject.learner.chance is not None:
                words += ", if they do not fail"
    return "next", "Next points", (f"{words}.",)
