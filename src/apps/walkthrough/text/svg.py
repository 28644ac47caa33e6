"""SVG by hand: a panel that is readable on a light and on a dark page, and what is drawn on it.

Colours have a meaning, the same in all drawings: one for each level, amber for the delay heap,
green for what runs.
"""

from html import escape

LEVELS = ("#0f9d8a", "#3b7dd8", "#8a5bd6", "#d6637a")
HEAP = "#c98a1b"
RUN = "#2e9e5b"

STYLE = f"""
    text {{ font-family: system-ui, -apple-system, "Segoe UI", sans-serif; font-size: 13px;
           fill: #1f2328; }}
    .panel {{ fill: #ffffff; stroke: #d1d9e0; }}
    .slot {{ fill: #f6f8fa; stroke: #d1d9e0; }}
    .muted {{ fill: #59636e; }}
    .line {{ stroke: #818b98; stroke-width: 1.5; fill: none; }}
    .tip {{ fill: #818b98; }}
    .title {{ font-size: 18px; font-weight: 600; }}
    .strong {{ font-weight: 600; }}
    .big {{ font-size: 15px; font-weight: 700; }}
    .small {{ font-size: 11px; }}
    .tiny {{ font-size: 10px; }}
    .middle {{ text-anchor: middle; }}
    .end {{ text-anchor: end; }}
    .on {{ fill: #ffffff; font-weight: 700; font-size: 15px; text-anchor: middle; }}
    .onTiny {{ fill: #ffffff; font-size: 10px; text-anchor: middle; }}
    .ghost {{ fill-opacity: .14; stroke-width: 1.5; stroke-dasharray: 4 3; }}
    .zoom {{ fill-opacity: .12; }}
    .way {{ fill: none; stroke-width: 2; }}
    .l0 {{ fill: {LEVELS[0]}; }} .l1 {{ fill: {LEVELS[1]}; }}
    .l2 {{ fill: {LEVELS[2]}; }} .l3 {{ fill: {LEVELS[3]}; }}
    .s0 {{ stroke: {LEVELS[0]}; }} .s1 {{ stroke: {LEVELS[1]}; }}
    .s2 {{ stroke: {LEVELS[2]}; }} .s3 {{ stroke: {LEVELS[3]}; }}
    .slot.heapLine {{ stroke: {HEAP}; stroke-width: 2; }}
    .run {{ fill: {RUN}; }}
    .t0 {{ fill: #0a7567; }} .t1 {{ fill: #2763b5; }} .t2 {{ fill: #6f42c1; }}
    .t3 {{ fill: #b5405a; }} .tHeap {{ fill: #8f5f0a; }} .tRun {{ fill: #1f7a43; }}
    @media (prefers-color-scheme: dark) {{
      text {{ fill: #e6edf3; }}
      .panel {{ fill: #0d1117; stroke: #3d444d; }}
      .slot {{ fill: #1b212a; stroke: #3d444d; }}
      .muted {{ fill: #9198a1; }}
      .ghost {{ fill-opacity: .25; }}
      .zoom {{ fill-opacity: .22; }}
      .t0 {{ fill: #3fc7b4; }} .t1 {{ fill: #79aef5; }} .t2 {{ fill: #b795f2; }}
      .t3 {{ fill: #f08fa2; }} .tHeap {{ fill: #e0a943; }} .tRun {{ fill: #57c785; }}
      .on, .onTiny {{ fill: #ffffff; }}
    }}
"""


class Drawing:
    def __init__(self, width, height, title, description):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" role="img"'
            ' aria-labelledby="title description">',
            f'  <title id="title">{escape(title)}</title>',
            f'  <desc id="description">{escape(description)}</desc>',
            f"  <style>{STYLE}  </style>",
        ]
        self.box(0.5, 0.5, width - 1, height - 1, "panel", round=10)

    def add(self, part):
        self.parts.append("  " + part)

    def box(self, x, y, width, height, kind, round=3):
        self.add(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}"'
                 f' height="{height:g}" rx="{round}"/>')  # fmt: skip

    def text(self, x, y, text, kind=""):
        kind = f' class="{kind}"' if kind else ""
        self.add(f'<text{kind} x="{x:g}" y="{y:g}">{escape(text)}</text>')

    def path(self, way, kind):
        self.add(f'<path class="{kind}" d="{way}"/>')

    def tip(self, x, y, kind, direction="down"):
        """The head of an arrow that ends at x, y."""
        if direction == "down":
            self.path(f"M{x - 5:g} {y - 8:g} L{x + 5:g} {y - 8:g} L{x:g} {y:g} Z", kind)
        else:
            self.path(f"M{x - 8:g} {y - 5:g} L{x - 8:g} {y + 5:g} L{x:g} {y:g} Z", kind)

    def done(self):
        return "\n".join([*self.parts, "</svg>"]) + "\n"
