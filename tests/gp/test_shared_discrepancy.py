"""Sources that differ in a size share one discrepancy, where that is clearly likelier."""

from __future__ import annotations

from gp_problems import SIZES
from gp_problems import Array
import numpy as np

from optuna_misowild.gp.in_order import fit_in_order
from optuna_misowild.gp.multi_source import MultiSourceGP


def first(X: Array) -> Array:
    return np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2


def fading_error(X: Array, source: Array) -> Array:
    """What is missing at a size fades with it, and is larger in some places than in others."""
    return 0.3 * (np.array(SIZES)[source] ** -0.6 - 1.0) * (1.0 + np.cos(3.0 * X[:, 1]))


def fitted(X: Array, source: Array, y: Array, sizes: tuple[float, ...] = SIZES) -> MultiSourceGP:
    return fit_in_order(
        X,
        source,
        y,
        n_sources=len(SIZES),
        n_initial=5,
        restart_every=8,
        categorical=np.zeros(2, dtype=bool),
        sizes=sizes,
    )


def error_of(model: MultiSourceGP, source: int) -> float:
    Z = np.random.default_rng(1).random((300, 2))
    expected = first(Z) + fading_error(Z, np.full(300, source))
    return float(np.sqrt(np.mean((model.means(Z, [source])[0][:, 0] - expected) ** 2)))


def test_a_source_that_was_never_asked_is_predicted() -> None:
    rng = np.random.default_rng(0)
    X, source = rng.random((40, 2)), rng.choice([0, 1, 3], 40)
    y = first(X) + fading_error(X, source)
    shared, own = fitted(X, source, y), fitted(X, source, y, sizes=())
    assert shared.hyperparameters.decay is not None and own.hyperparameters.decay is None
    spread = fading_error(rng.random((300, 2)), np.full(300, 2)).std()
    assert error_of(shared, 2) < 0.3 * spread
    assert error_of(own, 2) > 0.9 * spread
    assert error_of(shared, 0) < error_of(own, 0)


def test_sources_with_discrepancies_of_their_own_do_not_share_one() -> None:
    rng = np.random.default_rng(0)
    X, source = rng.random((60, 2)), rng.integers(0, 4, 60)
    own = [0.0 * X[:, 0], X[:, 0], np.sin(4.0 * X[:, 1]), X[:, 1] - X[:, 0]]
    y = first(X) + np.choose(source, own)
    assert fitted(X, source, y).hyperparameters.decay is None


def test_without_clear_evidence_none_is_shared() -> None:
    rng = np.random.default_rng(0)
    X, source = rng.random((12, 2)), np.arange(12) % 4
    assert fitted(X, source, first(X)).hyperparameters.decay is None


def test_two_sources_have_nothing_to_share() -> None:
    rng = np.random.default_rng(0)
    X, source = rng.random((20, 2)), rng.integers(0, 2, 20)
    model = fit_in_order(
        X,
        source,
        first(X),
        n_sources=2,
        n_initial=5,
        restart_every=8,
        categorical=np.zeros(2, dtype=bool),
        sizes=(1.0, 0.1),
    )
    assert model.hyperparameters.decay is None


def test_later_values_are_fitted_in_the_form_that_was_chosen() -> None:
    """Between two restarts the search goes on from what it has found, and so does the form."""
    rng = np.random.default_rng(0)
    X, source = rng.random((44, 2)), rng.integers(0, 4, 44)
    y = first(X) + fading_error(X, source)
    before, after = fitted(X[:40], source[:40], y[:40]), fitted(X, source, y)
    assert before.hyperparameters.decay is not None and after.hyperparameters.decay is not None
    np.testing.assert_allclose(after.hyperparameters.decay, before.hyperparameters.decay, rtol=0.3)
    assert not after.offsets.any()
