"""The timeline as an SVG picture: one arm, or several under one another on one time axis.

`theme` has the colours and styles, `letters` measures text, `sheet` writes elements, `picture` puts panels together,
`board` is one panel, and `lanes`, `rules` and `marks` draw on it; `legend` and `words` say what is to be seen.
"""

from reports.svg.picture import Panel, svg
from reports.svg.theme import PROPERTIES

__all__ = ["PROPERTIES", "Panel", "svg"]
