"""A study that goes on with another preferred source."""

from __future__ import annotations

import optuna
import pytest
from toy_studies import METHODS
from toy_studies import study_of
from toy_studies import toy
from toy_studies import warnings_of

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import MisoWildSampler
from optuna_misowild import recommend


@pytest.mark.parametrize("method", METHODS)
def test_it_is_said_that_the_best_trial_may_be_of_another_source(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    cheap_first = MisoWildSampler(method=method, preferred_source="cheap", seed=0)
    study = study_of(cheap_first, n_trials=12)
    assert "it was another when" not in warnings_of(caplog)
    study.sampler = MisoWildSampler(method=method, seed=0)
    study.optimize(toy, n_trials=9)
    said = warnings_of(caplog)
    assert said.count("The preferred source is 'full', but it was another when 12 of the") == 1
    assert "read the result with `recommend(study)`" in said
    assert study.best_params["source"] == "cheap"  # As is said.
    best = recommend(study, sampler=MisoWildSampler(seed=0))
    assert best.source == "full" and best.verified


def test_another_order_of_the_other_sources_is_fine(caplog: pytest.LogCaptureFixture) -> None:
    study = study_of(n_trials=6)
    study.sampler = CarboCoolingSampler(10.0, preferred_source="full", seed=0)
    study.optimize(toy, n_trials=2)
    copied = study_of(MisoWildSampler(seed=0))
    copied.add_trials(study.trials)
    copied.optimize(toy, n_trials=1)
    # Trials of another sampler are not marked.
    begun = study_of(optuna.samplers.RandomSampler(seed=0), n_trials=4)
    begun.sampler = MisoWildSampler(preferred_source="cheap", seed=0)
    begun.optimize(toy, n_trials=1)
    assert "it was another when" not in warnings_of(caplog)
