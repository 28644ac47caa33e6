"""Where the other benchmarks' Python is found. Plots are imported by those who draw."""

import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parent.parent
sys.path += [str(BENCHMARK / "compare"), str(BENCHMARK / "page")]
