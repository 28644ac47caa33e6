#include <support/Effort.h>
#include <support/Figure.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace timingwheel::test {
namespace {

std::string inWords(std::string_view promise, std::string_view what, double reached, Asked asked,
                    Of of) {
    std::ostringstream out;
    out.precision(12);
    out << promise << ' ' << what << ": " << reached;
    if (of.count > 0) out << " of " << of.count;
    if (!asked.relation.empty()) out << " (asked: " << asked.relation << ' ' << asked.value << ')';
    return out.str();
}

/// A part is asked of a run that does a part: `./dev test --slow`.
std::uint64_t askedHere(Of of) {
    return static_cast<std::uint64_t>(static_cast<double>(of.asked) * std::min(stressScale(), 1.0));
}

std::string inJson(std::string_view promise, std::string_view what, double reached, Asked asked,
                   Of of) {
    testing::TestInfo const* const test = testing::UnitTest::GetInstance()->current_test_info();
    std::ostringstream out;
    out.precision(15);
    out << std::boolalpha << R"({"promise": ")" << promise << R"(", "what": ")" << what
        << R"(", "reached": )" << reached << R"(, "relation": ")" << asked.relation
        << R"(", "asked": )" << asked.value << R"(, "isForAPerson": )" << asked.isForAPerson
        << R"(, "of": )" << of.count << R"(, "askedOf": )" << askedHere(of)
        << R"(, "isSanitized": )" << kIsSanitized << R"(, "test": ")" << test->test_suite_name()
        << '.' << test->name() << "\"}\n";
    return out.str();
}

}  // namespace

void tellFigure(std::string_view promise, std::string_view what, double reached, Asked asked,
                Of of) {
    std::string const words = inWords(promise, what, reached, asked, of);
    std::cout << "[  FIGURE  ] " << words << std::endl;
    if (!asked.isForAPerson) {
        EXPECT_TRUE(asked.holds(reached)) << words;
    }
    char const* const path = std::getenv("TIMINGWHEEL_FIGURES");
    if (path == nullptr) return;
    // In one go: several tests may write at the same time.
    std::ofstream{path, std::ios::app} << inJson(promise, what, reached, asked, of);
}

}  // namespace timingwheel::test
