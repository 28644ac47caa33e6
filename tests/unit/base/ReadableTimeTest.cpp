#include "core/base/ReadableTime.h"

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::detail {
namespace {

using namespace std::chrono_literals;

std::string told(std::chrono::nanoseconds time) {
    std::ostringstream out;
    out << ReadableTime{time};
    return out.str();
}

TEST(ReadableTimeTest, HasTheUnitThatAPersonWouldTake) {
    std::vector<std::pair<std::chrono::nanoseconds, std::string>> const cases{
        {0ns, "0 ns"},         {1ns, "1 ns"},
        {999ns, "999 ns"},     {1us, "1 us"},
        {1500ns, "1.5 us"},    {2ms, "2 ms"},
        {3250us, "3.25 ms"},   {12345678ns, "12.346 ms"},
        {1s, "1 s"},           {1050ms, "1.05 s"},
        {59s, "59 s"},         {60s, "1 min"},
        {1s + 1us, "1.001 s"}, {1ms + 1ns, "1.001 ms"},
        {61s, "1 min 1 s"},    {60s + 1ms, "1 min 1 s"},
        {90min, "1 h 30 min"}, {24h, "1 d"},
        {25h, "1 d 1 h"},      {24h * 365, "365 d"},
    };
    for (auto const& [time, text] : cases) EXPECT_EQ(told(time), text);
}

TEST(ReadableTimeTest, RoundsUpAndOverIntoTheNextUnit) {
    EXPECT_EQ(told(999'999'999ns), "1 s");
    EXPECT_EQ(told(999'999ns), "999.999 us");
    EXPECT_EQ(told(59s + 999'999'999ns), "1 min");
    EXPECT_EQ(told(59min + 59s + 1ns), "1 h");
    EXPECT_EQ(told(23h + 59min + 1s), "1 d");
}

TEST(ReadableTimeTest, KnowsTheLongest) {
    EXPECT_EQ(told(std::chrono::nanoseconds::max()), "106751 d 23 h");
}

}  // namespace
}  // namespace timingwheel::detail
