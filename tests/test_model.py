from __future__ import annotations

import inspect
import math
import pickle
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
import pytest

from optuna_misowild import MisoWildSampler
from optuna_misowild import Model


METHODS = ["paper", "robust"]


def fitted(method: str, direction: str = "minimize") -> Model:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", ["full", "cheap"])
        x = trial.suggest_float("x", 1.0, 100.0, log=True)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        trial.set_user_attr("cost", 10.0 if source == "full" else 1.0)
        value = 50.0 + np.log10(x) + (0.5 if kind == "b" else 0.0) + 7.0 * (source == "cheap")
        return value if direction == "minimize" else -value

    sampler = MisoWildSampler(method=method, seed=0)
    study = optuna.create_study(sampler=sampler, direction=direction)
    study.optimize(objective, n_trials=22)
    return sampler.model(study)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_it_answers_in_raw_units_and_in_the_minimised_sense(method: str, direction: str) -> None:
    model = fitted(method, direction)
    params = {"x": 10.0, "kind": "a"}
    mean, std = model.predict(params)
    assert mean == pytest.approx(51.0, abs=0.2)
    assert 0.0 <= std < 0.5
    assert model.predict(params, "cheap")[0] == pytest.approx(58.0, abs=0.4)
    assert model.predict_cost(params, "full")[0] == pytest.approx(10.0, rel=0.05)
    assert model.predict_cost(params, "cheap")[0] == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("method", METHODS)
def test_a_list_gives_arrays_and_a_dict_numbers(method: str) -> None:
    model = fitted(method)
    one, two = {"x": 10.0, "kind": "a"}, {"x": 2.0, "kind": "b", "source": "cheap"}
    assert isinstance(model.acquisition(one, "cheap"), float)
    for ask in (model.predict, model.predict_cost, model.acquisition, model.discrepancy):
        together = np.array(ask([one, two], "cheap"))
        apart = np.stack([np.array(ask(one, "cheap")), np.array(ask(two, "cheap"))], axis=-1)
        np.testing.assert_allclose(together, apart, rtol=1e-6, atol=1e-9)


def test_a_source_among_the_parameters_is_never_taken_for_another() -> None:
    model = fitted("robust")
    full = {"x": 10.0, "kind": "a", "source": "full"}
    cheap = {**full, "source": "cheap"}
    assert model.predict(full) == model.predict(cheap, "full")
    for params in (cheap, [full, cheap]):
        with pytest.raises(ValueError, match="'source' = 'cheap', but .* one, 'full', is meant"):
            model.predict(params)


def test_what_the_paper_fits() -> None:
    model = fitted("paper")
    assert len(model.objective) == len(model.cost) == 2
    assert model.objective[1].X.shape[1] == 2
    assert model.objective[1].y.min() > 57.0
    assert model.incumbent >= 50.0
    assert set(model.inducing) <= set(range(22))
    assert model.discrepancy({"x": 10.0, "kind": "a"}, "cheap") == pytest.approx(7.0, abs=1.0)


def test_what_the_robust_method_fits() -> None:
    model = fitted("robust")
    assert model.length_scale.shape == (2,)
    assert model.rho[0] == 1.0
    assert model.noise.shape == model.tau.shape == model.kappa.shape == (2,)
    assert model.amplitude > 0.0
    # δ_s takes the offset of the source: f_s = ρ_s·f_1 + δ_s.
    mean, std = model.discrepancy({"x": 10.0, "kind": "a"}, "cheap")
    f_1, f_s = model.predict({"x": 10.0, "kind": "a"})[0], 58.0
    assert mean == pytest.approx(f_s - model.rho[1] * f_1, abs=0.4)
    assert std >= 0.0


def test_what_it_cannot_answer() -> None:
    model = fitted("robust")
    with pytest.raises(ValueError, match=r"`params` must have all of \['kind', 'x'\].*\['x'\]"):
        model.predict({"kind": "a"})
    with pytest.raises(ValueError, match=r"`params` has 'x' = 'a', which is no value of Float"):
        model.predict({"kind": "a", "x": "a"})
    one_of = r"`source` must be one of \['full', 'cheap'\], but got 'none'"
    with pytest.raises(ValueError, match=one_of):
        model.predict({"x": 1.0, "kind": "a"}, "none")
    with pytest.raises(AttributeError):
        model.missing  # noqa: B018


@pytest.mark.parametrize("params", [None, 3, "x", [3], ["x"], ({"x": 1.0, "kind": "a"}, None)])
def test_parameters_are_dicts(params: Any) -> None:
    model = fitted("robust")
    for ask in (model.predict, model.acquisition, model.probability_of_feasibility):
        with pytest.raises(TypeError, match="`params` must be a dict of parameters, or several"):
            ask(params)


def test_any_number_of_parameter_sets_can_be_asked_at_once() -> None:
    model = fitted("robust")
    sets = [{"x": 1.0, "kind": "a"}, {"x": 9.0, "kind": "b"}]
    for given in (sets, tuple(sets), iter(sets)):
        mean, std = model.predict(given)
        assert mean.shape == std.shape == (2,)
    assert model.acquisition([]).shape == (0,)


@pytest.mark.parametrize(
    "name",
    ["predict", "predict_cost", "discrepancy", "acquisition", "probability_of_feasibility"],
)
def test_docstrings_say_what_goes_in_and_comes_out(name: str) -> None:
    text = inspect.getdoc(getattr(Model, name)) or ""
    for part in (
        "Args:",
        "params: ",
        "source: ",
        "Returns:",
        "(m,)",
        "TypeError: ",
        "ValueError: ",
    ):
        assert part in text


def test_a_study_without_a_source_has_no_source_to_name() -> None:
    sampler = MisoWildSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=6)
    model = sampler.model(study)
    assert model.predict({"x": 0.5})[0] == pytest.approx(0.5, abs=0.1)
    with pytest.raises(ValueError, match="no source parameter 'source', but `source` is 'full'"):
        model.predict({"x": 0.5}, "full")


def test_it_can_be_pickled() -> None:
    model = fitted("robust")
    params = {"x": 3.0, "kind": "b"}
    assert pickle.loads(pickle.dumps(model)).predict(params) == model.predict(params)


@pytest.mark.parametrize(
    ("choices", "is_shared"), [([64, 16, 4, 1], True), (["fine", "good", "poor", "bad"], False)]
)
def test_sources_of_several_sizes_share_one_discrepancy(
    choices: list[Any], is_shared: bool
) -> None:
    rng = np.random.default_rng(0)
    study = optuna.create_study(sampler=MisoWildSampler())
    space = {
        "source": CategoricalDistribution(choices),
        "x": FloatDistribution(0, 1),
        "y": FloatDistribution(0, 1),
    }
    for i in range(40):
        x, y = rng.random(2)
        error = 0.2 * (4.0 ** (0.6 * (i % 4)) - 1.0) * (1.0 + math.cos(3.0 * y))
        study.add_trial(
            optuna.trial.create_trial(
                params={"source": choices[i % 4], "x": x, "y": y},
                distributions=space,
                value=math.sin(5.0 * x) + y**2 + error,
            )
        )
    joint = MisoWildSampler().model(study).joint
    assert (joint.hyperparameters.decay is not None) == is_shared
