"""Parts that are hardly cheaper are not used for long."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
import pytest
from searches import X
from searches import Y
from searches import search

from optuna_misowild.sklearn import trials
from optuna_misowild.sklearn.distributions import parameters_of
from optuna_misowild.sklearn.resources import Source
from optuna_misowild.sklearn.trials import Trials


SOURCES = [Source(choice, 1, []) for choice in ("100%", "20%")]
SPACE = {
    "n_samples": CategoricalDistribution(("100%", "20%")),
    "x": FloatDistribution(0.0, 1.0),
}


def worthwhile(*evaluations: tuple[str, float, float, float]) -> list[str]:
    """Return what is worth it after (source, x, seconds of fits, seconds of choosing)."""
    study = optuna.create_study(direction="maximize")
    for choice, x, evaluating, choosing in evaluations:
        study.add_trial(
            optuna.create_trial(
                params={"n_samples": choice, "x": x},
                distributions=SPACE,
                value=0.0,
                user_attrs={
                    "cost": evaluating + choosing,
                    "choosing_time": choosing,
                    "fit_time": [evaluating],
                },
            )
        )
    parameters = parameters_of({"x": FloatDistribution(0.0, 1.0)})
    return Trials(study, "n_samples", SOURCES, parameters).worthwhile()


PAIRS = [("100%", 0.1, 1.0, 0.0), ("100%", 0.2, 9.0, 0.0), ("20%", 0.1, 0.2, 0.0)]


def test_sources_are_compared_where_both_were_evaluated() -> None:
    assert worthwhile() == ["100%", "20%"]
    assert worthwhile(*PAIRS[:2], ("20%", 0.3, 5.0, 0.0)) == ["100%", "20%"]
    assert worthwhile(*PAIRS[:2], ("20%", 0.1, 5.0, 0.0)) == ["100%"]
    assert worthwhile(*PAIRS, ("20%", 0.3, 99.0, 0.0)) == ["100%", "20%"]
    assert worthwhile(*PAIRS, ("20%", 0.2, 3.0, 0.0)) == ["100%", "20%"]
    assert worthwhile(*PAIRS, ("20%", 0.2, 3.2, 0.0)) == ["100%"]


def test_what_the_latest_choices_take_counts_for_all() -> None:
    """In the initial design a choice takes no time, by a model it does."""
    pairs = [*PAIRS, ("20%", 0.2, 1.8, 0.0)]  # 2 of 10 seconds.
    later = [("100%", 0.5 + i / 10, 5.0, 3.0) for i in range(3)]
    assert worthwhile(*pairs, *later[:1]) == ["100%", "20%"]
    assert worthwhile(*pairs, *later) == ["100%"]  # 8 of 16.


def test_where_choosing_takes_all_of_the_time_it_becomes_a_plain_search(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    seconds = count()
    monkeypatch.setattr(trials, "time", SimpleNamespace(perf_counter=lambda: float(next(seconds))))
    sources = search(fractions=[1.0, 0.5, 0.1], n_iter=8).fit(X, Y).cv_results_["source"]
    names, counts = np.unique(sources, return_counts=True)
    of_source = dict(zip(names, counts, strict=True))
    assert of_source["50%"] <= 2 and of_source["10%"] <= 2
    assert of_source["100%"] >= 4
    assert not caplog.text  # Nothing of the sampler's own arguments.
