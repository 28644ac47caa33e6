#pragma once

#include <cstdint>
#include <string_view>

/// Figures: what a test shows of a promise of docs/guarantees.md, in numbers.
namespace timingwheel::test {

/// What is asked of a figure. Counts are for the test to check. Times depend on the machine: those
/// are printed, and for a person to judge.
struct Asked {
    std::string_view relation;  ///< "=", "<=" or ">="; empty if nothing is asked
    double value = 0;
    bool isForAPerson = false;

    bool holds(double reached) const noexcept {
        if (relation == "=") return reached == value;
        if (relation == "<=") return reached <= value;
        if (relation == ">=") return reached >= value;
        return true;
    }
};

template <class Number>
Asked exactly(Number value) noexcept {
    return {"=", static_cast<double>(value)};
}
template <class Number>
Asked atMost(Number value) noexcept {
    return {"<=", static_cast<double>(value)};
}
template <class Number>
Asked atLeast(Number value) noexcept {
    return {">=", static_cast<double>(value)};
}

/// For a person: at most this on an idle machine.
inline Asked aboutAtMost(double value) noexcept { return {"<=", value, true}; }
/// For a person, who has to know what is usual.
inline Asked noBound() noexcept { return {"", 0, true}; }

/// Of how many, and of how many a release build's longest test is asked to be. A run that
/// TIMINGWHEEL_STRESS_SCALE makes shorter is asked as much less.
struct Of {
    std::uint64_t count = 0;
    std::uint64_t asked = 0;
};

void tellFigure(std::string_view promise, std::string_view what, double reached, Asked asked,
                Of of);

/// Prints a figure, appends it to the file that TIMINGWHEEL_FIGURES names, one JSON object to a
/// line, and expects that a count is what is asked.
///
/// `what` names the figure within its promise, with the unit of a time. It has no quotes.
template <class Number>
void figure(std::string_view promise, std::string_view what, Number reached, Asked asked,
            Of of = {}) {
    tellFigure(promise, what, static_cast<double>(reached), asked, of);
}

}  // namespace timingwheel::test
