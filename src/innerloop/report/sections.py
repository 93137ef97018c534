"""The sections of the page: headings, and what a reader sees in each figure, in plain words."""

from __future__ import annotations

from innerloop.report.document import Section
from innerloop.report.outcomes_sections import (
    LEFT_OUT,
    MATTERS,
    OFTEN_NARROW,
    TIED,
    sections_of_outcomes,
)
from innerloop.report.subject import Subject


def sections(subject: Subject) -> list[Section]:
    """The sections there is something to show in."""
    if subject.goals.is_plain:
        found = [_convergence(subject)] if subject.trials else []
        if subject.model is not None:
            found += [_importance()] if subject.modelled > 1 else []
            found += [_effects(subject), _map(subject)]
        if subject.next_trials:
            found.append(_next(subject))
        if subject.best is not None and subject.varied:
            found.append(_parallel(subject))
    else:
        found = [Section(*each) for each in sections_of_outcomes(subject)]
    if subject.batches():
        found.append(_certificates())
    if any(trial.asked is not None for trial in subject.trials):
        found.append(_timeline(subject))
    if subject.batches() or any(trial.asked and trial.told for trial in subject.trials):
        found.append(_timings())
    if any(trial.state in ("failed", "expired") for trial in subject.trials):
        found.append(_failures())
    if subject.trials:
        found.append(_trials(subject))
    return found


def _trials(subject: Subject) -> Section:
    words = "Click on a heading to sort by it."
    if subject.shows_all:
        return Section("trials", "All trials", (words,))
    few = (
        f"{len(subject.shown)} of the {len(subject.trials)} trials are shown, here and in all "
        "figures: those that were better than all before them, the ones that the model has learned "
        "from, the last ones, and an even choice of the others."
    )
    return Section("trials", "Trials", (few, words))


def _better(subject: Subject) -> str:
    return "Lower is better." if subject.sign < 0.0 else "Higher is better."


def _convergence(subject: Subject) -> Section:
    words = (
        "Each dot is the value of one trial; the line is the best value so far. "
        f"{_better(subject)} A line that has long been flat means that new trials no longer find "
        "anything better."
    )
    return Section("convergence", "Progress", (words,))


def _importance() -> Section:
    return Section(
        "importance",
        "Which parameters matter",
        (
            f"{MATTERS} The change is that of the expected value along the slice of each parameter "
            "in the next section.",
        ),
    )


def _effects(subject: Subject) -> Section:
    if subject.modelled == 1:
        only = "What the model expects along the parameter: the line is the expected value, and the"
        only += " band is where the true value lies with a probability of about 95 %, noise aside"
        only += " (two standard deviations of the model). " + OFTEN_NARROW
        return Section("effects", "What the parameter does", (only,))
    words = [
        "What the model expects if one parameter varies and the others stay as in the best trial, "
        "the most important parameter first. The line is the expected value. The band is where "
        "the true value lies with a probability of about 95 %, noise aside (two standard "
        f"deviations of the model). {OFTEN_NARROW} Dots are trials: they differ from the slice in "
        "the other parameters, the fainter the more, so they need not lie on the line.",
    ]
    if subject.is_conditional:
        words.append(LEFT_OUT)
    if subject.constraints:
        words.append("Lines end where the constraints do not allow more.")
    if subject.is_tied:
        words.append(TIED)
    return Section("effects", "What each parameter does", tuple(words))


def _map(subject: Subject) -> Section:
    if subject.modelled == 1:
        return Section(
            "map",
            "Where improvement is expected",
            (
                "The improvement over the best value that the model expects of a trial, on "
                "average, counting trials that fail or are no better as 0.",
            ),
        )
    words = [
        "The model over two parameters, the others as in the best trial: to the left the expected "
        "value, to the right the improvement over the best value that a trial is expected to "
        "bring on average, which is where to look next. Marks lie at their values of these two "
        "parameters and may differ in the others.",
    ]
    if subject.model is not None and subject.model.success is not None:
        words.append("Trials that are likely to fail are likely to bring nothing.")
    if any(trial.state == "pending" for trial in subject.trials):
        words.append("Trials that are still running count as if their results were known.")
    if subject.constraints:
        words.append("Nothing is drawn where the constraints do not allow a trial.")
    if subject.is_tied:
        words.append(TIED)
    return Section("map", "The landscape", tuple(words))


def _next(subject: Subject) -> Section:
    words = (
        "What innerloop would ask now" if subject.case.is_inferred else "What would be asked now"
    )
    if subject.model is not None:
        words += (
            ", what the model expects there, with the range that holds the true value with a "
            "probability of about 95 %, and the chance that it succeeds and is better than the "
            "best so far"
        )
    further = []
    if subject.case.is_inferred:
        further.append("They can be given to Optuna with enqueue_trial.")
    return Section("next", "Next points", (f"{words}.", *further))


def _parallel(subject: Subject) -> Section:
    words = (
        "Each line is a trial that passes through the values of its parameters and ends at "
        "its own value. Strong colours are good values: where they gather, good values are."
    )
    if subject.is_conditional or subject.case.lacks:
        words += " Lines have gaps where a trial lacks a parameter."
    return Section("parallel", "All trials at once", (words,))


def _certificates() -> Section:
    return Section(
        "certificates",
        "How good the choices were",
        (
            "Points that are asked together come with a certificate: at 90 %, no other batch of "
            "that size could be expected to gain more than this one divided by 0.9. It holds up "
            "to Monte Carlo error and the inner search having found the largest gain. It is about "
            "the choice of points, given what the model knew, and not about how near the best "
            "value is to the best possible one.",
        ),
    )


def _timeline(subject: Subject) -> Section:
    who = "process by process" if subject.case.workers else "in as few lanes as there can be"
    words = f"Each bar is a trial, from when it was asked to when it was told, {who}."
    return Section("timeline", "When trials ran", (words,))


def _timings() -> Section:
    return Section(
        "timings",
        "Time",
        ("How long trials took from being asked to being told, and how long choosing them took.",),
    )


def _failures() -> Section:
    return Section(
        "failures",
        "Failures",
        ("Trials that failed or were given up. Open an error to see all of it.",),
    )
