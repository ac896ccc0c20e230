"""All problems of our benchmarks, by name."""

from __future__ import annotations

from examples.benchmarks.constrained import CONSTRAINED
from examples.benchmarks.formulas import FORMULAS
from examples.benchmarks.hpo import MLP_PHONEME
from examples.benchmarks.hpo import NAS_IMAGENET
from examples.benchmarks.hpo import REGRESSION_PROTEIN
from examples.benchmarks.problem import Problem
from examples.benchmarks.replay import forest
from examples.benchmarks.replay import svc


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        *FORMULAS,
        # The cost of about fifty evaluations by cost-cooling, the setting of the paper:
        svc("splice", evaluations=37),
        svc("svmguide1", evaluations=14),
        forest("splice", n_features=60, evaluations=20),
        forest("svmguide1", n_features=4, evaluations=20),
        forest("magic", n_features=10, evaluations=20),
        MLP_PHONEME,
        REGRESSION_PROTEIN,
        NAS_IMAGENET,
        *CONSTRAINED,
    )
}
