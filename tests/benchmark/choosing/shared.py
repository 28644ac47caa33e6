"""What the comparison has and this needs too. Plots are imported by those who draw."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "compare"))

from compare import describeMachine  # noqa: E402, F401
from data import summarise  # noqa: E402, F401
