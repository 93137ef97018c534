"""What innerloop relies on in Optuna beyond its documentation, and that it stands in one file.

When Optuna changes, the id of the test that fails is the name that has changed.
"""

import ast
import inspect
import threading
from pathlib import Path

import pytest

optuna = pytest.importorskip("optuna", reason="needs Optuna: pip install 'innerloop[study]'")

import sqlalchemy  # noqa: E402
from optuna.distributions import (  # noqa: E402
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.storages import BaseStorage, RDBStorage  # noqa: E402
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial  # noqa: E402

import innerloop as il  # noqa: E402
from innerloop.integrations import optuna_private  # noqa: E402
from innerloop.integrations.optuna_private import (  # noqa: E402
    begin_trial,
    engine_of,
    fixed_params_of,
    forget_listed_trials,
    latest_trials,
    listed_trials,
    set_constraints_of,
    set_constraints_once,
    set_trial_user_attrs_once,
    set_user_attr_once,
    storage_of,
    study_id_of,
    trial_id_of,
)

optuna.logging.set_verbosity(optuna.logging.ERROR)
PACKAGE = Path(il.__file__).parent
PRIVATE = Path(optuna_private.__file__)


class Database:
    """A database in a file with some studies, as several processes would have it open."""

    def __init__(self, path):
        self.path, self._open = path, []
        for name in ("another", "ours"):
            optuna.create_study(storage=self.storage(), study_name=name)

    def storage(self):
        """The database, opened once more."""
        self._open.append(RDBStorage(f"sqlite:///{self.path}"))
        return self._open[-1]

    def study(self, **options):
        """The study "ours" as one more process has it."""
        return optuna.load_study(study_name="ours", storage=self.storage(), **options)

    def close(self):
        for storage in self._open:
            storage.remove_session()
            storage.engine.dispose()


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "studies.db")
    yield database
    database.close()


class Looking(optuna.samplers.RandomSampler):
    """Looks at what samplers are given."""

    def __init__(self, look):
        super().__init__(seed=0)
        self.look = look

    def infer_relative_search_space(self, study, trial):
        self.look(study, trial)
        return {}


def bracket(database):
    """A study of three trials, and the view of it that its pruner gives to samplers."""
    views = []
    study = database.study(
        pruner=optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9),
        sampler=Looking(lambda view, _: views.append(view)),
    )
    for _ in range(3):
        trial = study.ask()
        trial.suggest_float("x", 0.0, 1.0)
        trial.report(0.0, 1)
        trial.should_prune()  # this is when the pruner gets its brackets
    assert type(views[-1]) is not type(study)
    return study, views[-1]


# Each private name: that it is there, and does what the function in front of it says.


def check_storage(database):
    study, other = database.study(), database.study()
    storage = storage_of(study)
    assert isinstance(storage, BaseStorage)
    assert storage_of(study) is storage
    trial = study.ask()
    (frozen,) = study.get_trials(deepcopy=False)
    storage.set_trial_system_attr(trial_id_of(frozen), "plan", {"x": 1})
    assert other.trials[trial.number].system_attrs["plan"] == {"x": 1}
    storage.set_study_system_attr(study_id_of(study), "learned", [1.5])
    theirs = storage_of(other).get_study_system_attrs(study_id_of(other))
    assert theirs["learned"] == [1.5]
    assert other.user_attrs == {}  # users do not see it
    whole, view = bracket(database)
    assert storage_of(view) is storage_of(whole)


def check_study_id(database):
    number = study_id_of(database.study())
    assert type(number) is int
    storage = database.storage()
    assert number == storage.get_study_id_from_name("ours")
    assert number != storage.get_study_id_from_name("another")
    whole, view = bracket(database)
    assert study_id_of(view) == study_id_of(whole) == number


def check_trial_id(kind):
    def check(database):
        study, storage = database.study(), database.storage()
        trials = [study.ask(), study.ask()]
        for trial in trials if kind is Trial else study.trials:
            assert type(trial) is kind
            found = storage.get_trial_id_from_study_id_trial_number(
                study_id_of(study), trial.number
            )
            assert type(trial_id_of(trial)) is int
            assert trial_id_of(trial) == found

    return check


def check_get_trials(database):
    study, other = database.study(), database.study()
    study.ask()
    seen = listed_trials(study)
    assert [type(trial) for trial in seen] == [FrozenTrial]
    other.ask()
    assert [trial.number for trial in listed_trials(study)] == [0]  # as it was
    assert [trial.number for trial in latest_trials(study)] == [0, 1]
    study.tell(0, 1.0)
    assert [trial.number for trial in listed_trials(study)] == [0, 1]
    assert listed_trials(study)[0].value == 1.0
    _, view = bracket(database)
    forget_listed_trials(view)
    assert len(view.get_trials()) < 5  # the reason why it is not used
    assert [trial.number for trial in listed_trials(view)] == [0, 1, 2, 3, 4]
    assert [trial.number for trial in latest_trials(view)] == [0, 1, 2, 3, 4]


def check_thread_local(database):
    study, other = database.study(), database.study()
    assert listed_trials(study) == []
    other.ask()
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(len(listed_trials(study))))
    thread.start()
    thread.join()
    assert elsewhere == [1]  # each thread has a list of its own
    assert listed_trials(study) == []
    forget_listed_trials(study)
    assert len(listed_trials(study)) == 1


def check_trial(database):
    assert list(inspect.signature(Trial).parameters) == ["study", "trial_id"]
    owners = []
    study, other = database.study(), database.study()
    study.sampler.before_trial = lambda *_: owners.append(other.trials[-1].system_attrs)
    study.ask()
    assert listed_trials(study)[-1].number == 0
    trial = begin_trial(study, {"owner": {"pid": 7}})
    assert owners == [{}, {"owner": {"pid": 7}}]  # before anything else is done with it
    assert type(trial) is Trial
    assert trial.number == 1
    assert listed_trials(study)[-1].number == 1
    theirs = other.trials[1]
    assert theirs.state == TrialState.RUNNING
    assert theirs.datetime_start is not None
    x = trial.suggest_float("x", 0.0, 1.0)
    assert other.trials[1].params == {"x": x}
    study.tell(trial, 2.0)
    assert other.trials[1].value == 2.0


def check_fixed_params(database):
    study = database.study()
    values = {"x": 0.25, "kind": "b", "n": 3, "none": None}
    study.enqueue_trial(values)
    assert fixed_params_of(study.trials[0]) == values
    trial = study.ask()
    assert fixed_params_of(study.trials[0]) == values
    assert study.trials[0].params == {}
    assert trial.suggest_float("x", 0.0, 1.0) == 0.25
    study.ask()
    study.add_trial(create_trial(value=0.0))
    assert fixed_params_of(study.trials[1]) == fixed_params_of(study.trials[2]) == {}


def check_constraints(database):
    study, other = database.study(), database.study()
    for _ in range(3):
        study.ask()
    complete, pruned, failed = study.trials
    states = TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL
    for trial, state in zip((complete, pruned, failed), states, strict=True):
        set_constraints_of(study, trial, state, lambda trial: [trial.number - 1.0, 2])
    found = [trial.constraints for trial in other.trials]
    assert found == [{"0": -1.0, "1": 2.0}, {"0": 0.0, "1": 2.0}, {}]
    study.ask()
    with pytest.raises(ValueError, match="NaN"):
        set_constraints_of(study, study.trials[3], TrialState.COMPLETE, lambda _: [float("nan")])
    assert other.trials[3].constraints == {}


def check_engine(database):
    storage, said = database.storage(), []
    engine = engine_of(storage)
    assert isinstance(engine, sqlalchemy.Engine)
    assert engine.url.database == str(database.path)

    @sqlalchemy.event.listens_for(engine, "begin")
    def listen(_):
        said.append("begin")

    storage.get_all_studies()
    assert said


def check_user_attributes(database):
    first, second = database.storage(), database.storage()
    number = first.get_study_id_from_name("ours")
    set_user_attr_once(first, number, "settings", {"seed": 1})
    set_user_attr_once(second, number, "settings", {"seed": 2})
    assert database.study().user_attrs == {"settings": {"seed": 1}}
    another = second.get_study_id_from_name("another")
    set_user_attr_once(second, another, "settings", {"seed": 2})
    assert second.get_study_user_attrs(another) == {"settings": {"seed": 2}}
    assert database.study().user_attrs == {"settings": {"seed": 1}}


def check_trial_attributes(database):
    first, second = database.storage(), database.storage()
    study, another = database.study(), database.study()
    trial, other = trial_id_of(study.ask()), trial_id_of(study.ask())
    set_trial_user_attrs_once(first, trial, {"yield": 1.5, "note": "a"})
    set_trial_user_attrs_once(second, trial, {"yield": 2.5, "cost": 3.5})  # one of them is there
    set_trial_user_attrs_once(second, other, {"yield": 2.5})
    attributes = [each.user_attrs for each in another.trials]
    assert attributes == [{"yield": 1.5, "note": "a", "cost": 3.5}, {"yield": 2.5}]


def check_trial_constraints(database):
    first, second = database.storage(), database.storage()
    study = database.study()
    asked = [study.ask(), study.ask()]
    trial = trial_id_of(asked[0])
    set_constraints_once(first, trial, {"heat": -1.5})
    asked[1].set_constraint("heat", 2.0)
    study.tell(asked[0], 0.0)
    set_constraints_once(second, trial, {"heat": 7.0, "noise: loud": 0.5})  # also when it is done
    set_constraints_once(second, trial, {})
    found = [each.constraints for each in database.study().trials]
    assert found == [{"heat": -1.5, "noise: loud": 0.5}, {"heat": 2.0}]


NAMES = {
    "Study._storage": check_storage,
    "Study._study_id": check_study_id,
    "FrozenTrial._trial_id": check_trial_id(FrozenTrial),
    "Trial._trial_id": check_trial_id(Trial),
    "Study._get_trials": check_get_trials,
    "Study._thread_local.cached_all_trials": check_thread_local,
    "Trial.__init__": check_trial,
    "system attribute fixed_params": check_fixed_params,
    "optuna.samplers._base._process_constraints_after_trial": check_constraints,
    "RDBStorage.engine": check_engine,
    "optuna.storages._rdb.models.StudyUserAttributeModel": check_user_attributes,
    "optuna.storages._rdb.models.TrialSystemAttributeModel": check_trial_constraints,
    "optuna.storages._rdb.models.TrialUserAttributeModel": check_trial_attributes,
}


@pytest.mark.parametrize("check", NAMES.values(), ids=NAMES)
def test_private_name(check, database):
    check(database)


# Methods of storages are documented, though not meant for users: how they are called here.
CALLS = {
    "create_new_trial": (1, create_trial(state=TrialState.RUNNING)),
    "get_all_trials": (1, False),
    "get_study_id_from_name": ("ours",),
    "get_study_system_attrs": (1,),
    "get_trial": (1,),
    "get_trial_id_from_study_id_trial_number": (1, 0),
    "set_study_system_attr": (1, "key", 0),
    "set_trial_state_values": (1, TrialState.COMPLETE, [0.0]),
    "set_trial_system_attr": (1, "key", 0),
    "set_trial_user_attr": (1, "key", 0),
}


@pytest.mark.parametrize("method", CALLS)
def test_method_of_storages(method):
    for kind in (BaseStorage, RDBStorage):
        inspect.signature(getattr(kind, method)).bind(None, *CALLS[method])
    names = list(inspect.signature(BaseStorage.get_all_trials).parameters)
    assert names[:3] == ["self", "study_id", "deepcopy"]


# No other file uses such names.

#: Names without an underscore that Optuna does not document, and its own system attributes.
UNDOCUMENTED = {"engine"}
RESERVED = {"fixed_params", "fail_reason"}


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def private_names_of_optuna():
    """Private attributes of what is had from Optuna: on none of these may files use their own."""
    study = optuna.create_study()
    things = [study, study.ask(), study.trials[0], study.sampler, study.pruner, storage_of(study)]
    things += [FloatDistribution(0.0, 1.0), IntDistribution(0, 1), CategoricalDistribution([0])]
    things += [RDBStorage, BaseStorage, optuna]
    return {name for thing in things for name in dir(thing) if is_private(name)}


OPTUNAS = private_names_of_optuna()


def own_names(tree):
    """Private methods and attributes of the classes of a module, but those that Optuna has too."""
    defined = {"_replace"}  # of named tuples, which is public
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            defined |= {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            defined |= {node.attr} if is_self(node.value) else set()
    return defined - OPTUNAS


def is_self(node):
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def imports_of_optuna(tree):
    """Each name that a module imports from Optuna, as written out in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.split(".")[0] == "optuna")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "optuna":
            yield from (f"{node.module}.{each.name}" for each in node.names)


def private_uses(source):
    """What a file uses that is private to others, or that Optuna does not document."""
    tree = ast.parse(source)
    imported = list(imports_of_optuna(tree))
    own = own_names(tree)
    makes_trials = {"optuna.Trial", "optuna.trial.Trial"}
    if makes_trials & set(imported):
        makes_trials.add("Trial")
    found = [name for name in imported if any(map(is_private, name.split(".")))]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not is_self(node.value):
            others = is_private(node.attr) and node.attr not in own
            if others or node.attr in UNDOCUMENTED:
                found.append(node.attr)
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in makes_trials:
                found.append(f"{called}()")
            elif called in ("getattr", "setattr", "hasattr", "operator.attrgetter", "attrgetter"):
                texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
                found += [text for text in texts if isinstance(text, str) and is_private(text)]
        elif isinstance(node, ast.Constant) and node.value in RESERVED:
            found.append(node.value)
    return found


def concerned(path):
    """Whether a file has to do with Optuna."""
    folder = path.relative_to(PACKAGE).parts[0]
    is_close = folder in ("integrations", "studies")
    return is_close or any(imports_of_optuna(ast.parse(path.read_text())))


FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PRIVATE and concerned(path)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_one_file_uses_private_names(path):
    assert private_uses(path.read_text()) == []


def test_files_that_use_optuna_are_looked_at():
    names = {str(path.relative_to(PACKAGE)) for path in FILES}
    assert {"integrations/optuna.py", "studies/study.py", "cli/studies.py"} <= names
    assert not any(name.startswith("optimizer/") for name in names)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("study._storage.get_trial(0)", ["_storage"]),
        ("self.optuna._study_id", ["_study_id"]),
        ("trials[0]._trial_id", ["_trial_id"]),
        ("study._thread_local.cached_all_trials = None", ["_thread_local"]),
        ("import optuna\noptuna._typing", ["_typing"]),
        ("import optuna._typing", ["optuna._typing"]),
        ("from optuna.storages._rdb import models", ["optuna.storages._rdb.models"]),
        ("def f():\n    from optuna.storages import _CachedStorage", ["optuna.storages._Cached"]),
        ("getattr(study, '_storage')", ["_storage"]),
        ("trial.system_attrs['fixed_params']", ["fixed_params"]),
        ("storage.engine.dispose()", ["engine"]),
        ("import optuna\noptuna.Trial(study, 1)", ["optuna.Trial()"]),
        ("from optuna.trial import Trial\nTrial(study, 1)", ["Trial()"]),
        # A class of the same file has an attribute of that name, but so has a study.
        (
            "class A:\n    def f(self, study):\n        self._storage = study._storage",
            ["_storage"],
        ),
        ("class A:\n    def _suggest(self): ...\ntrial._suggest('x', d)", ["_suggest"]),
    ],
)
def test_private_names_elsewhere_would_be_found(source, found):
    (name,) = private_uses(source)
    assert name.startswith(*found)


@pytest.mark.parametrize(
    "source",
    [
        "self._storage.get_trial(0)",
        "cls._made",
        "class A:\n    def _bind(self): ...\n    def new(self):\n        A()._bind()",
        "class A:\n    def f(self, other):\n        self._own = other._own",
        "ask._replace(rivals=1)",
        "type(self).__name__",
        "study.get_trials(deepcopy=False)",
        "from innerloop.optimizer.trials import Trial\nTrial(0, {})",
        "from innerloop._version import version",
        "_private_function(1)",
    ],
)
def test_names_of_ones_own_are_allowed(source):
    assert private_uses(source) == []


def test_each_private_name_has_a_test_and_is_explained():
    """So that a name that is added to the one file cannot go without."""
    source = PRIVATE.read_text()
    used = {name.rpartition(".")[2] for name in private_uses(source)}
    assert used == {
        "StudyUserAttributeModel",
        "Trial()",
        "TrialSystemAttributeModel",
        "TrialUserAttributeModel",
        "_get_trials",
        "_process_constraints_after_trial",
        "_storage",
        "_study_id",
        "_thread_local",
        "_trial_id",
        "engine",
        "fixed_params",
    }
    for name in used:
        assert any(name.removesuffix("()") in each for each in NAMES)
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            text = ast.get_docstring(node)
            assert any(words in text for words in ("public", "document")), node.name
            for name in private_uses(ast.unparse(node)):
                assert name.removesuffix("()").rpartition(".")[2] in text, node.name
