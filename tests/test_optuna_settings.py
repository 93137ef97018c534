"""What the sampler for Optuna may be given beyond names, and what of it goes into the study."""

import numpy as np
import pytest

optuna = pytest.importorskip("optuna", reason="needs Optuna: pip install 'innerloop[study]'")

from optuna.distributions import (  # noqa: E402
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import create_trial  # noqa: E402

import innerloop as il  # noqa: E402
from innerloop.integrations.optuna import InnerLoopSampler  # noqa: E402
from innerloop.integrations.optuna_private import storage_of, study_id_of  # noqa: E402
from innerloop.integrations.optuna_space import (  # noqa: E402
    contains,
    distribution_of,
    external,
    take,
)
from innerloop.maximizers.bfgs import BFGS  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)
UNIT = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}


def value(x, y):
    return np.sin(5.0 * x) + (y - 0.6) ** 2


def study_of(**settings):
    """A study of twelve results and the sampler that has the settings."""
    study = optuna.create_study(sampler=InnerLoopSampler(seed=0, **settings))
    for x, y in np.random.default_rng(0).random((12, 2)).tolist():
        params = {"x": x, "y": y}
        study.add_trial(create_trial(params=params, distributions=UNIT, value=value(x, y)))
    return study


def asked(study):
    return list(study.ask(UNIT).params.values())


def stored(study):
    """What the study holds of what was learned, by its name."""
    attributes = storage_of(study).get_study_system_attrs(study_id_of(study))
    return {key: each for key, each in attributes.items() if key.startswith("innerloop:learned")}


def learned(study):
    """What was learned, which is held once."""
    (held,) = stored(study).values()
    return held["learned"]


@pytest.mark.parametrize(
    ("by_name", "by_instance"),
    [
        ({"acquisition": "sr"}, {"acquisition": il.SimpleRegret()}),
        ({"acquisition": "ucb"}, {"acquisition": il.UpperConfidenceBound()}),
        ({"maximizer": "bfgs"}, {"maximizer": BFGS()}),
        ({}, {"kernel": il.Matern52}),
    ],
)
def test_a_name_and_what_it_stands_for_choose_alike(by_name, by_instance):
    assert asked(study_of(**by_name)) == asked(study_of(**by_instance))


def test_utilities_of_the_users_own_are_maximized():
    """Of two beliefs in the improvement the bold one looks farther from the best result."""
    look = np.random.default_rng(1).random((20, 2))
    choices = [
        asked(study_of(acquisition=each))
        for each in (il.UpperConfidenceBound(0.01), il.UpperConfidenceBound(400.0))
    ]
    results = np.array([list(t.params.values()) for t in study_of().trials])
    careful, bold = (np.linalg.norm(results - each, axis=1).min() for each in choices)
    assert bold > careful
    point = asked(study_of(acquisition=il.KnowledgeGradient(look)))
    assert all(0.0 <= each <= 1.0 for each in point)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": "matern"}, "kernel must be a class"),
        ({"kernel": il.Matern52([0.1, 0.1], 1.0)}, "kernel must be a class"),
        ({"acquisition": 3}, "acquisition must be one of"),
        ({"acquisition": il.KnowledgeGradient([[0.5]]), "form": "incremental"}, "form='increm"),
        ({"maximizer": BFGS(), "way": "default"}, "way='default' has searches of its own"),
        ({"maximizer": 3}, "maximizer"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(il.InputError, match=message):
        InnerLoopSampler(**arguments)


# Spaces and distributions.


@pytest.mark.parametrize(
    "parameter",
    [
        il.Real(-1.5, 2.5),
        il.Real(1e-4, 10.0, log=True),
        il.Real(0.1, 0.7, step=0.2),
        il.Integer(-3, 9),
        il.Integer(1, 10, step=3),
        il.Integer(1, 256, log=True),
        il.Choice(["a", 1.5, None, True]),
    ],
    ids=repr,
)
def test_trials_take_values_of_the_parameter(parameter):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(5):
        trial = study.ask()
        take(trial, "p", parameter)
        assert trial.distributions == {"p": distribution_of(parameter)}
        parameter.check("p", trial.params["p"])  # refuses what is none of its values


@pytest.mark.parametrize(
    ("distribution", "inside", "outside"),
    [
        (FloatDistribution(0.5, 2.0), [0.5, 1.1, 2.0], [0.4, 2.1]),
        (FloatDistribution(0.5, 2.0, step=0.5), [0.5, 1.5, 2.0], [0.0, 0.7, 2.5]),
        (FloatDistribution(1e-3, 1.0, log=True), [1e-3, 0.2], [1e-4, 1.5]),
        (IntDistribution(1, 10, step=3), [1, 4, 10], [-2, 2, 13]),
        (CategoricalDistribution(["a", "b", "c"]), [0, 2], [-1, 3]),
    ],
    ids=repr,
)
def test_values_of_a_distribution_are_told_from_others(distribution, inside, outside):
    """As Optuna does itself when a trial is made of them."""
    for each in inside:
        assert contains(distribution, each)
        params = {"p": external(distribution, each)}
        create_trial(params=params, distributions={"p": distribution}, value=0.0)
    assert not any(contains(distribution, each) for each in outside)


# Kernels and what is learned with them.


def test_what_was_learned_with_another_kernel_is_learned_anew():
    study = study_of(kernel=il.Matern52)
    asked(study)
    before = learned(study)
    assert before["gp"]["kernel"].endswith(":Matern52")
    study.sampler = InnerLoopSampler(seed=0, kernel=il.SquaredExponential)
    asked(study)
    # As in a study that has never known the other kernel: not even the start is taken from it.
    alone = study_of(kernel=il.SquaredExponential)
    asked(alone)
    assert learned(study) == learned(alone)
    pairs = zip(surrogates(learned(study)), surrogates(before), strict=True)
    for ours, earlier in pairs:
        assert ours["kernel"].endswith(":SquaredExponential")
        assert ours["lengthscales"] != earlier["lengthscales"]


def surrogates(held):
    return [held["gp"], *held["others"]]


def shifted(study):
    """The study, with lengthscales that nobody would learn."""
    ((name, held),) = stored(study).items()
    held["learned"]["gp"]["lengthscales"] = [0.03, 30.0]
    storage_of(study).set_study_system_attr(study_id_of(study), name, held)
    return name, held


def test_what_was_learned_with_the_same_kernel_is_found_by_others():
    study = study_of(kernel=il.SquaredExponential)
    asked(study)
    shifted(study)
    study.sampler = InnerLoopSampler(seed=0, kernel=il.SquaredExponential)
    asked(study)
    assert learned(study)["gp"]["lengthscales"] == [0.03, 30.0]


@pytest.mark.parametrize(("kernel", "is_found"), [(il.Matern52, True), (il.Matern32, False)])
def test_what_was_stored_before_there_was_a_choice_is_of_the_default_kernel(kernel, is_found):
    study = study_of()
    asked(study)
    name, held = shifted(study)
    old = {key: each for key, each in held.items() if key != "kernel"} | {"version": 1}
    (other,) = (each for each in old["learned"].pop("others") if "axes" not in each)
    del other["bent"]
    old["learned"]["other"] = other
    for part in ("gp", "other"):
        del old["learned"][part]["kernel"]
    storage_of(study).set_study_system_attr(study_id_of(study), name, old)
    study.sampler = InnerLoopSampler(seed=0, kernel=kernel)
    asked(study)
    assert (learned(study)["gp"]["lengthscales"] == [0.03, 30.0]) == is_found


def test_a_kernel_that_others_cannot_import_is_not_kept_for_them():
    class OfThisTest(il.Matern52):
        pass

    study, plain = study_of(kernel=OfThisTest), study_of()
    assert asked(study) == asked(plain)
    assert stored(study) == {}
    study.sampler = InnerLoopSampler(seed=0)
    asked(study)
    assert learned(study)["gp"]["kernel"].endswith(":Matern52")


@pytest.mark.parametrize("seconds", [None, 1e-9])
def test_fits_have_no_more_time_than_asks(seconds):
    """One without any time for it leaves lengthscales where they were."""
    study = study_of()
    trial = study.ask(UNIT)
    before = learned(study)
    study.tell(trial, 1.0)
    study.sampler = InnerLoopSampler(seed=0, seconds=seconds)
    asked(study)
    after = learned(study)
    assert after["n"] == before["n"] + 1
    is_same_scaling = after["outputs"]["bent"] == before["outputs"]["bent"]
    lengthscales = surrogates(after)[0 if is_same_scaling else 1]["lengthscales"]
    stayed = lengthscales == pytest.approx(before["gp"]["lengthscales"], rel=1e-9)
    assert stayed == (seconds is not None)
