"""How numbers are written in plots, tables and sentences."""

import math


def number(value):
    """Three digits, for people."""
    if abs(value) < 0.005:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(digits, 0), 2)}f}".replace("-", "\N{MINUS SIGN}")


def humanCount(n):
    return "10" + superscript(round(math.log10(n)))


def superscript(number):
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(number))


def power(n):
    exponent = len(str(int(n))) - 1
    return f"10{superscript(exponent)}" if n == 10**exponent else number(float(f"{n:.1g}"))


def humanTime(ns, _=None):
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= factor:
            return f"{ns / factor:g} {unit}".replace("-", "\N{MINUS SIGN}")
    return f"{ns:g} ns" if ns else "0"
