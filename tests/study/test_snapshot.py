"""What a sampler knows of a study at one moment."""

from __future__ import annotations

from collections import Counter
from typing import Any

import optuna
import pytest
from toy_studies import METHODS
from toy_studies import study_of
from toy_studies import toy

from optuna_misowild import MisoWildSampler
from optuna_misowild.study import attributes


@pytest.mark.parametrize("method", METHODS)
def test_a_suggestion_reads_only_the_trial_that_is_new(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And that once, not once for the initial design and once for the models."""
    study = study_of(MisoWildSampler(method=method, seed=0), n_trials=14)
    n_read: Counter[int] = Counter()

    def counted(trial: optuna.trial.FrozenTrial, *args: Any) -> bool:
        n_read[trial.number] += 1
        return original(trial, *args)

    original = attributes.has_no_query
    monkeypatch.setattr(attributes, "has_no_query", counted)
    toy(study.ask())
    assert "misowild:row" not in study.trials[-1].system_attrs
    assert n_read == Counter([13])
