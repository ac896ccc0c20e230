"""Render mathematics as MathML, which browsers draw by themselves: no scripts, no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(_mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    number = ""
    if node.get("number"):
        number = f'<span class="eqno">({node["number"]})</span>'
    formula = _mathml(node.astext(), as_block=True)
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(f"{number}{formula}</div>\n")
    raise nodes.SkipNode


def _mathml(tex: str, **options: Any) -> str:
    try:
        return tex2mathml(tex, **options)
    except MathError as error:
        raise ExtensionError(f"Formula {tex!r}: {error}") from error


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(visit_inline, None),
        block_renderers=(visit_block, None),
    )
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
