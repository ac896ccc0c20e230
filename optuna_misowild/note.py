"""What is said of a study in words: sources, costs, and the recommendation, as Markdown."""

from __future__ import annotations

from collections import Counter
import math
from typing import TYPE_CHECKING
from typing import Any

from optuna.trial import TrialState

from optuna_misowild.visualization.source_worth import source_worths


if TYPE_CHECKING:
    from collections.abc import Mapping

    from optuna_misowild.visualization.look import Look


HEADING = "## Sources and costs"


def note_of(look: Look, *, before: str = "") -> str:
    """Return the note on a study.

    Args:
        look: The study.
        before: The note that it has; what stands above our heading is kept.
    """
    kept = before.split(HEADING)[0].rstrip()
    parts = [kept] if kept else []
    parts += [HEADING, _sources(look), _spent(look), _recommendation(look), _best(look)]
    parts.append("*Written by optuna_misowild. What you write above the heading is kept.*")
    return "\n\n".join(parts) + "\n"


def _sources(look: Look) -> str:
    lines = ["| source | queries | cost | share | best value | verdict |"]
    lines.append("|---|--:|--:|--:|--:|---|")
    worths = source_worths(look) if look.valued and look.model is not None else {}
    best_of = max if look.is_maximised else min
    for source, label in enumerate(look.labels):
        own = [query for query in look.queries if query.source == source]
        cost = math.fsum(query.paid for query in own)
        share = f"{cost / look.view.spent:.0%}" if look.view.spent > 0.0 else ""
        values = [q.value for q in own if math.isfinite(q.value) and q.feasible]
        best = f"{best_of(values):.6g}" if values else ""
        verdict = worths[source].verdict if source > 0 and source in worths else ""
        name = f"**{_escape(label)}** (preferred)" if source == 0 else _escape(label)
        lines.append(f"| {name} | {len(own)} | {cost:.4g} | {share} | {best} | {verdict} |")
    return "\n".join(lines)


def _spent(look: Look) -> str:
    states = Counter(trial.state for trial in look.view.trials)
    counts = ", ".join(f"{states[s]} {s.name.lower()}" for s in TrialState if states[s])
    budget = look.view.settings.budget
    of_budget = f" of {budget:g} ({look.view.spent / budget:.0%})" if budget is not None else ""
    n_infeasible = sum(not query.feasible for query in look.queries)
    infeasible = f" {n_infeasible} of them broke a constraint of yours." if n_infeasible else ""
    return (
        f"**Spent:** {look.view.spent:.4g}{of_budget}{look.cost_unit} by {counts or 'no'} trials."
        f"{infeasible}"
    )


def _recommendation(look: Look) -> str:
    recommendation = look.recommendation
    if recommendation is None:
        return "**Recommended:** nothing yet."
    params = _text(recommendation.params)
    preferred = _escape(look.labels[0])
    if recommendation.verified:
        how = f"verified on {preferred}: {recommendation.value:.6g}"
    else:
        how = f"not verified on {preferred} yet"
    if recommendation.verified:
        how += "" if recommendation.feasible else ", **but it breaks a constraint of yours**"
    elif recommendation.probability < 1.0:
        how += f", feasible with probability {recommendation.probability:.2g}"
    expected = f"the model expects {recommendation.mean:.6g} ± {recommendation.std:.2g} there"
    return f"**Recommended:** {params}; {how}; {expected}."


def _best(look: Look) -> str:
    preferred = _escape(look.labels[0])
    if not look.best_verified:
        return f"**Best verified:** nothing on {preferred} yet."
    best = look.best_verified[-1]
    params = {k: v for k, v in best.trial.params.items() if k != look.view.sources.name}
    return (
        f"**Best verified:** {best.value:.6g} on {preferred}, by trial {best.trial.number}: "
        f"{_text(params)}."
    )


def _text(params: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{_escape(name)} = {value:.5g}"
        if isinstance(value, float)
        # Whatever else a parameter can be.
        else f"{_escape(name)} = {_escape(str(value))}"
        for name, value in params.items()
    )


def _escape(text: str) -> str:
    """Keep Markdown from reading a name as its own signs."""
    for sign in "\\`*_|<>[]~#":
        text = text.replace(sign, "\\" + sign)
    return text.replace("\n", " ")
