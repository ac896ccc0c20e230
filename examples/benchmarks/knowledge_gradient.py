"""The multi-fidelity knowledge gradient of BoTorch as an Optuna sampler.

Wu, Toscano-Palmerin, Frazier, Wilson (2020), Practical multi-fidelity Bayesian optimization for
hyperparameter tuning: ask where the expected gain in the largest posterior mean of the preferred
source, per unit cost, is largest. It is put together from BoTorch's parts as its tutorial on
discrete fidelities does. Two things that the tutorial knows are learnt here: what a source costs,
which depends on the location, and how close each source is to the preferred one.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
import math
from typing import Any

from botorch import fit_gpytorch_mll
from botorch.acquisition import PosteriorMean
from botorch.acquisition.cost_aware import InverseCostWeightedUtility
from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
from botorch.acquisition.knowledge_gradient import qMultiFidelityKnowledgeGradient
from botorch.acquisition.utils import project_to_target_fidelity
from botorch.models import MultiTaskGP
from botorch.models import SingleTaskGP
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.gpytorch import GPyTorchModel
from botorch.models.transforms import Normalize
from botorch.models.transforms.outcome import StratifiedStandardize
from botorch.optim import optimize_acqf
from botorch.optim.initializers import gen_one_shot_kg_initial_conditions
from botorch.utils.sampling import manual_seed
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.settings import lazily_evaluate_kernels
import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.search_space import intersection_search_space
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial
from optuna.trial import TrialState
import torch
from torch import Tensor

from optuna_misowild.optim.latin_hypercube import latin_hypercube_coordinate
from optuna_misowild.study.space import decode
from optuna_misowild.study.space import encode
from optuna_misowild.study.space import from_unit


SOURCE, COST = "source", "cost"

# The initial design of MisoWildSampler, as far as it may go: the same locations on all sources.
N_ROWS, N_PREFERRED_ROWS = 5, 3

# With these a suggestion takes seconds; with those of the tutorial it takes minutes.
N_FANTASIES = 8
N_RESTARTS, N_RAW = 2, 32  # per source
MAX_ITERATIONS = 20
MAX_FIT_ITERATIONS = 100


class KnowledgeGradientSampler(optuna.samplers.BaseSampler):
    """Sampler of the source and of real and integer parameters by the knowledge gradient.

    The objective suggests the source as the categorical parameter ``"source"``, whose first
    choice is the preferred one, and every trial has its cost as the user attribute ``"cost"``.
    For one worker.

    Args:
        seed: Seed of the initial design, of the fantasies and of the starts of the climbs.
    """

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the space of all trials, which is empty while the initial design runs."""
        self._raise_error_if_multi_objective(study)
        trials = _before(study, trial)
        if _next_in_design(trials) is not None:
            return {}
        return intersection_search_space(trials)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the source and the parameters of the largest knowledge gradient per cost."""
        if not search_space:
            return {}
        with manual_seed(self._seed + trial.number):
            return fit(study, search_space).query()

    def sample_independent(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return a value of the initial design."""
        source, row = _next_in_design(_before(study, trial)) or (0, trial.number)
        if param_name == SOURCE:
            assert isinstance(param_distribution, CategoricalDistribution)
            return param_distribution.choices[source]
        _check({param_name: param_distribution})
        u = latin_hypercube_coordinate(self._seed, param_name, row, N_ROWS)
        return from_unit(param_distribution, u)

    def recommend(self, study: optuna.Study) -> dict[str, Any]:
        """Return the parameters of the best posterior mean of the preferred source.

        While the initial design runs, those of the best trial of the preferred source.

        Raises:
            ValueError: If there is no such trial.
        """
        trials = study.get_trials(deepcopy=False)
        if _next_in_design(trials) is None:
            with manual_seed(self._seed):
                return fit(study, intersection_search_space(trials)).best()[0]
        preferred = [t for t in _completed(trials) if _source_of(t) == 0]
        if not preferred:
            raise ValueError("No trial of the preferred source has been completed.")
        sign = _sign(study)
        best = max(preferred, key=lambda t: sign * t.values[0])
        return {name: value for name, value in best.params.items() if name != SOURCE}


@dataclass(frozen=True)
class Surrogate:
    """What is known of the values, to be maximised, and of the costs.

    Locations have d + 1 coordinates: those of the unit cube, and the index of the source.

    Attributes:
        space: The parameters without the source.
        choices: The sources.
        value: Model of the values of the preferred source, and of what the others tell of them.
        log_cost: Model of the natural logarithm of the costs.
    """

    space: Mapping[str, BaseDistribution]
    choices: tuple[Any, ...]
    value: GPyTorchModel
    log_cost: GPyTorchModel

    def query(self) -> dict[str, Any]:
        """Return the source and the parameters of the largest knowledge gradient per cost."""
        d = len(self.space)
        knowledge_gradient = qMultiFidelityKnowledgeGradient(
            self.value,
            num_fantasies=N_FANTASIES,
            current_value=self.best()[1],
            cost_aware_utility=InverseCostWeightedUtility(GenericDeterministicModel(self.cost)),
            project=partial(project_to_target_fidelity, d=d + 1, target_fidelities={d: 0.0}),
        )
        bounds = _bounds(d, len(self.choices) - 1.0)
        with lazily_evaluate_kernels(False):
            starts = torch.cat(
                [
                    gen_one_shot_kg_initial_conditions(
                        knowledge_gradient,
                        bounds,
                        q=1,
                        num_restarts=N_RESTARTS,
                        raw_samples=N_RAW,
                        fixed_features={d: float(s)},
                        options={"num_inner_restarts": 4, "raw_inner_samples": 128},
                    )
                    for s in range(len(self.choices))
                ]
            )
            # All sources at once, which optimize_acqf_mixed would go through one by one.
            candidate, _ = optimize_acqf(
                knowledge_gradient,
                bounds,
                q=1,
                num_restarts=len(starts),
                batch_initial_conditions=starts,
                fixed_features={d: starts[:, 0, d]},
                options={"maxiter": MAX_ITERATIONS, "batch_limit": len(starts)},
            )
        *x, source = candidate[0].tolist()
        return {SOURCE: self.choices[round(source)], **decode(self.space, np.array(x))}

    def best(self) -> tuple[dict[str, Any], Tensor]:
        """Return the parameters of the largest mean of the preferred source, and this mean."""
        d = len(self.space)
        mean = FixedFeatureAcquisitionFunction(
            PosteriorMean(self.value), d=d + 1, columns=[d], values=[0.0]
        )
        with lazily_evaluate_kernels(False):
            candidate, value = optimize_acqf(
                mean, _bounds(d), q=1, num_restarts=4, raw_samples=256
            )
        return decode(self.space, candidate[0].numpy()), value

    def cost(self, X: Tensor) -> Tensor:
        """Return the predicted costs at X (..., d + 1), shape (..., 1)."""
        return self.log_cost.posterior(X).mean.exp()


def fit(study: optuna.Study, search_space: Mapping[str, BaseDistribution]) -> Surrogate:
    """Fit the models to the completed trials.

    Raises:
        ValueError: If there is a categorical parameter, or a trial without a positive cost.
    """
    space = {name: of for name, of in search_space.items() if name != SOURCE}
    _check(space)
    trials = _completed(study.get_trials(deepcopy=False))
    source = np.array([_source_of(t) for t in trials])
    X = torch.from_numpy(np.column_stack([encode(space, [t.params for t in trials]), source]))
    Y = _sign(study) * torch.tensor([t.values for t in trials], dtype=torch.double)
    log_cost = torch.tensor([[math.log(_cost_of(t))] for t in trials], dtype=torch.double)
    choices = _choices(trials[0])
    # Sources have no order, which the fidelities of SingleTaskMultiFidelityGP would need. The
    # means of their costs differ more than the shapes do: one more coordinate is enough there.
    value = MultiTaskGP(
        X,
        Y,
        task_feature=-1,
        output_tasks=[0],
        outcome_transform=StratifiedStandardize(-1, torch.arange(len(choices))),
    )
    cost = SingleTaskGP(X, log_cost, input_transform=Normalize(X.shape[-1]))
    return Surrogate(space, choices, _fitted(value), _fitted(cost))


def _fitted(model: GPyTorchModel) -> GPyTorchModel:
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
    with lazily_evaluate_kernels(False):  # These matrices are small: a third quicker.
        fit_gpytorch_mll(likelihood, optimizer_kwargs={"options": {"maxiter": MAX_FIT_ITERATIONS}})
    return model


def _next_in_design(trials: Iterable[FrozenTrial]) -> tuple[int, int] | None:
    """Return the source and the row of the initial design that come next, or None at its end."""
    trials = [t for t in trials if t.params]
    if not trials:
        return 0, 0
    sources = [_source_of(t) for t in trials]
    finished = [_source_of(t) for t in _completed(trials)]
    for s in range(len(_choices(trials[0]))):
        if finished.count(s) < (N_PREFERRED_ROWS if s == 0 else N_ROWS):
            return s, sources.count(s)
    return None


def _before(study: optuna.Study, trial: FrozenTrial) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False)[: trial.number]


def _completed(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    return [t for t in trials if t.state == TrialState.COMPLETE]


def _choices(trial: FrozenTrial) -> tuple[Any, ...]:
    distribution = trial.distributions.get(SOURCE)
    if not isinstance(distribution, CategoricalDistribution):
        raise ValueError(
            f"Trial {trial.number} has no source: the objective must suggest the categorical "
            f"parameter {SOURCE!r}, its first choice being the preferred source."
        )
    return distribution.choices


def _source_of(trial: FrozenTrial) -> int:
    return _choices(trial).index(trial.params[SOURCE])


def _cost_of(trial: FrozenTrial) -> float:
    cost = trial.user_attrs.get(COST)
    if not isinstance(cost, (int, float)) or not 0.0 < cost < math.inf:
        raise ValueError(
            f"Trial {trial.number} has the user attribute {COST!r} {cost!r}: it must be a "
            "positive number."
        )
    return float(cost)


def _sign(study: optuna.Study) -> float:
    return 1.0 if study.direction == StudyDirection.MAXIMIZE else -1.0


def _bounds(d: int, *upper: float) -> Tensor:
    """Return the bounds of the unit cube and of further coordinates from 0 on, shape (2, …)."""
    high = torch.tensor([1.0] * d + [*upper], dtype=torch.double)
    return torch.stack([torch.zeros_like(high), high])


def _check(space: Mapping[str, BaseDistribution]) -> None:
    for name, distribution in space.items():
        if isinstance(distribution, CategoricalDistribution):
            raise ValueError(
                f"KnowledgeGradientSampler takes real and integer parameters, and {name!r} is "
                "categorical."
            )
