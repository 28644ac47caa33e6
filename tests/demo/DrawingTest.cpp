#include "apps/demo/Drawing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace demo {
namespace {

using namespace std::chrono_literals;
constexpr Terminal::Abilities kAscii{false, false};
constexpr Terminal::Abilities kUnicode{true, false};

/// Two levels of five slots. The clock stands in slot 3 of the finer, where it runs on to slot 0.
Picture twoLevels() {
    Picture picture;
    picture.tick = 1ms;
    picture.wheelSize = 5;
    picture.elapsed = 12'340ms;
    picture.duration = 60s;
    picture.pending = 1'111;
    picture.levels = {
        {.granularity = 1ms, .hand = 3, .fullest = 16, .armed = {{0, 4}, {1, 1}, {2, 0}, {4, 16}}},
        {.granularity = 5ms, .hand = 1, .fullest = 1'000, .armed = {{2, 1'000}}}};
    picture.next = {{0, 4, 700us, 16}, {0, 0, 1'700us, 1}, {1, 2, 0us, 1'000}};
    picture.rates = {{"scheduled/s", 40'000}, {"pushed back/s", 90'000}, {"runs/s", 6'000}};
    picture.lateness = "p50 20 us  p99 400 us";
    return picture;
}

std::string drawn(Picture const& picture, Terminal::Size size, Terminal::Abilities abilities) {
    std::string lines = "\n";
    for (std::string const& line : draw(picture, size, abilities)) lines += line + '\n';
    return lines;
}

TEST(Drawing, StandsTheLevelsAboveEachOtherTheFinestAtTheBottom) {
    EXPECT_EQ(drawn(twoLevels(), {78, 22}, kUnicode), R"(
 1,111 timeouts pending   12.3 of 60 s   1 ms x 5 slots

 level 1  5 ms a slot   1,000 in 1 bucket
                 ███████
                 ███████
                 ███████
 ───────    ▲    ─────── ─────── ───────

 level 0  1 ms a slot   21 in 4 buckets
                                 ███████
 ▄▄▄▄▄▄▄                         ███████
 ███████ ▆▆▆▆▆▆▆                 ███████
 ─────── ─────── ───────    ▲    ───────

 next buckets  level 0  slot 4   in   700 us       16 timeouts
               level 0  slot 0   in   1.7 ms        1 timeout

 scheduled/s  pushed back/s    runs/s
      40,000         90,000     6,000
 lateness  p50 20 us  p99 400 us

 ▁▄█ root of the count   ▲ clock   Ctrl-C ends
)");
}

TEST(Drawing, DoesWithAsciiAndFewColumns) {
    EXPECT_EQ(drawn(twoLevels(), {60, 14}, kAscii), R"(
 1,111 timeouts pending   12.3 of 60 s   1 ms x 5 slots
 level 1  5 ms a slot   1,000 in 1 bucket
                 #######
 -------    ^    ------- ------- -------
 level 0  1 ms a slot   21 in 4 buckets
 ::::::: .......                 #######
 ------- ------- -------    ^    -------
 next buckets  level 0  slot 4   in   700 us       16 timeou
               level 0  slot 0   in   1.7 ms        1 timeou
               level 1  slot 2           now    1,000 timeou
 scheduled/s  pushed back/s    runs/s
      40,000         90,000     6,000
 lateness  p50 20 us  p99 400 us
 .:# root of the count   ^ clock   Ctrl-C ends
)");
}

TEST(Drawing, PutsSlotsTogetherThatAreMoreThanColumns) {
    Picture picture = twoLevels();
    picture.wheelSize = 100;
    picture.levels.pop_back();
    picture.levels[0].hand = 10;
    picture.levels[0].armed = {{0, 16}, {3, 1}, {12, 4}, {99, 16}};
    std::vector<std::string> const lines = draw(picture, {60, 10}, kUnicode);
    EXPECT_EQ(lines[1], " level 0  1 ms a slot, 2 slots a cell   37 in 4 buckets");
    EXPECT_EQ(lines[2], " █▂    ▄                                          █");
    EXPECT_EQ(lines[3], " ─────▲────────────────────────────────────────────");
}

TEST(Drawing, ColoursWhatExpiresSoonUnlikeWhatExpiresLate) {
    EXPECT_EQ(draw(twoLevels(), {20, 14}, {true, true})[5],
              " \033[38;5;148m▄▄\033[0m \033[38;5;78m▂▂\033[0m       \033[38;5;220m██\033[0m");
}

TEST(Drawing, FitsEverySize) {
    for (std::size_t const levels : {0U, 1U, 2U, 4U, 20U}) {
        Picture picture = twoLevels();
        picture.levels.resize(levels, picture.levels.front());
        for (std::size_t columns = 1; columns < 130; columns += 3) {
            for (std::size_t rows = 1; rows < 70; ++rows) {
                std::vector<std::string> const lines = draw(picture, {columns, rows}, {true, true});
                ASSERT_LE(lines.size(), rows);
                for (std::string const& line : lines) ASSERT_LE(columnsOf(line), columns);
            }
        }
    }
}

}  // namespace
}  // namespace demo
