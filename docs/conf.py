"""Configuration of Sphinx: the documentation is built without network, and warnings are errors.

python -m sphinx -W --keep-going -b html docs docs/_build/html
"""

from __future__ import annotations

from pathlib import Path
import sys

import optuna_misowild


sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "optuna-misowild"
author = "The optuna-misowild developers"
project_copyright = author
version = release = optuna_misowild.__version__

extensions = [
    "mathml",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "_ext"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Every reference to something of ours must lead somewhere; those to others have no target here,
# since their inventories are on the network.
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(optuna|np|numpy|go|plotly|collections|typing)\..*"),
    ("py:.*", "(NDArray|ArrayLike|Any|Sequence|Mapping|Callable|Array|Method|FittedModel|Prior)"),
    ("py:class", "(BaseSampler|BaseStorage|Study|Trial|FrozenTrial|TrialState|BaseDistribution)"),
    # Ours, of the layers that are not documented here.
    (
        "py:class",
        "(Observations|Domain|Proposal|Incumbent|StudyView|Sources|MethodSampler|Continuation)",
    ),
]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_attr_annotations = False
napoleon_use_rtype = False

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"optuna-misowild {version}"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sphinx = False
copybutton_exclude = ".linenos, .gp, .go"
