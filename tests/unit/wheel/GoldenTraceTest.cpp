#include <support/Folders.h>
#include <support/GoldenTrace.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace timingwheel {
namespace {

using test::Difference;
using test::Lines;
using test::linesOf;
using Invariants = test::GoldenTrace::Invariants;

std::string const kFolder = test::goldenFolder() + "/";

class GoldenTrace : public testing::TestWithParam<std::string> {
protected:
    Lines const lines_ = linesOf(kFolder + GetParam() + ".trace");
};

TEST_P(GoldenTrace, ReplaysLineByLine) {
    std::optional<Difference> const difference =
        test::GoldenTrace::replay(lines_, Invariants::checkedAfterEveryLine);
    EXPECT_FALSE(difference) << *difference;
}

TEST_P(GoldenTrace, ReplaysLineByLineWithASizeForEachLevel) {
    std::optional<Difference> const difference = test::GoldenTrace::replay(
        lines_, Invariants::checkedAfterEveryLine, test::GoldenTrace::Sizes::listed);
    EXPECT_FALSE(difference) << *difference;
}

// A comparison that cannot fail proves nothing: every number that the trace says the wheel
// *answered* is changed once, on the first line that has it.
TEST_P(GoldenTrace, FailsWhenAnyOneAnswerIsAnother) {
    struct Answer {
        std::string_view event;
        std::size_t word;
    };
    std::vector<Answer> const answers{{"add", 4},    {"add", 5},   {"add", 6},   {"add", 7},
                                      {"cancel", 3}, {"flush", 1}, {"flush", 2}, {"flush", 3},
                                      {"flush", 4},  {"fire", 1},  {"move", 1},  {"move", 2},
                                      {"move", 3},   {"move", 4},  {"end", 1},   {"end", 2},
                                      {"end", 4},    {"done", 1},  {"done", 2},  {"done", 3}};
    for (Answer const& answer : answers) {
        Lines changed = lines_;
        std::size_t changedLine = 0;
        for (std::size_t at = 0; at < changed.size() && changedLine == 0; ++at) {
            std::istringstream in{changed[at]};
            std::vector<std::string> words;
            for (std::string word; in >> word;) words.push_back(word);
            if (words[0] != answer.event || words.size() <= answer.word) continue;
            std::string& word = words[answer.word];
            word.back() = word.back() == '9' ? '8' : static_cast<char>(word.back() + 1);
            changed[at] = words[0];
            for (std::size_t i = 1; i < words.size(); ++i) changed[at] += ' ' + words[i];
            changedLine = at + 1;
        }
        ASSERT_NE(changedLine, 0U) << answer.event << " has no word " << answer.word;
        std::optional<Difference> const difference =
            test::GoldenTrace::replay(changed, Invariants::unchecked);
        ASSERT_TRUE(difference) << changed[changedLine - 1] << " went unnoticed";
        EXPECT_EQ(difference->line, changedLine) << *difference;
    }
}

TEST_P(GoldenTrace, FailsWhenALineIsMissing) {
    for (std::string_view event : {"fire", "move", "flush", "add", "done"}) {
        Lines changed = lines_;
        auto const line = std::find_if(changed.begin(), changed.end(),
                                       [&](auto const& text) { return text.starts_with(event); });
        ASSERT_NE(line, changed.end());
        changed.erase(line);
        EXPECT_TRUE(test::GoldenTrace::replay(changed, Invariants::unchecked))
            << "without its first " << event;
    }
}

TEST_P(GoldenTrace, FailsWhenTimeGoesOnAndNothingExpires) {
    Lines changed = lines_;
    auto const line = std::find_if(changed.begin(), changed.end(), [](auto const& text) {
        return text.starts_with("end") && text.find("size=0") == std::string::npos;
    });
    ASSERT_NE(line, changed.end());
    std::size_t const number = static_cast<std::size_t>(line - changed.begin()) + 1;
    changed.insert(line, "advance 1000000000000");
    std::optional<Difference> const difference =
        test::GoldenTrace::replay(changed, Invariants::unchecked);
    ASSERT_TRUE(difference);
    EXPECT_EQ(difference->line, number + 1) << *difference;
}

INSTANTIATE_TEST_SUITE_P(Kafka, GoldenTrace, testing::Values("t1-w20-s0", "t7-w13-s1000"),
                         [](auto const& test) {
                             std::string name = test.param;
                             std::erase(name, '-');
                             return name;
                         });

TEST(GoldenTracePlacements, AreThoseOfTheWorkedExampleLineByLine) {
    Lines lines = linesOf(kFolder + "placements-t1-w20.txt");
    std::erase_if(lines, [](std::string const& line) { return line.starts_with('#'); });
    ASSERT_EQ(lines.size(), 9U);
    for (std::string const& line : lines) EXPECT_EQ(test::placementsOf(std::stoll(line)), line);
}

}  // namespace
}  // namespace timingwheel
