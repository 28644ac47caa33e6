#include "apps/demo/Drawing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace demo {
namespace {

using namespace std::chrono_literals;
using Colours = Terminal::Colours;

constexpr Terminal::Abilities kAscii{false, Colours::none};
constexpr Terminal::Abilities kUnicode{true, Colours::none};

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
    picture.rates = {40'000, 35'000, 90'000, 8'000, 6'000, 990};
    picture.lateness = {20us, 400us, 3ms};
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

 level 1  5 ms a slot     1,000 in 1 bucket, at most 1,000
                 ███████
                 ███████
                 ███████
 ───────    ▲    ─────── ─────── ───────

 level 0  1 ms a slot          21 in 4 buckets, at most 16
                                 ███████
 ▄▄▄▄▄▄▄                         ███████
 ███████ ▆▆▆▆▆▆▆                 ███████
 ─────── ─────── ───────    ▲    ───────

 next buckets  level 0  slot 4   in   700 us       16 timeouts
               level 0  slot 0   in   1.7 ms        1 timeout

 scheduled/s  cancelled/s  pushed back/s  cascades/s    runs/s  wake-ups/s
      40,000       35,000         90,000       8,000     6,000         990
 lateness  p50 20 us  p99 400 us  worst 3 ms   (p50, p99: of the last second)

 ▁▄█ root of the count   ▲ clock   Ctrl-C ends
)");
}

TEST(Drawing, DoesWithAsciiAndSixtyColumns) {
    EXPECT_EQ(drawn(twoLevels(), {60, 14}, kAscii), R"(
 1,111 timeouts pending   12.3 of 60 s   1 ms x 5 slots
 level 1  5 ms a slot     1,000 in 1 bucket, at most 1,000
                 #######
 -------    ^    ------- ------- -------
 level 0  1 ms a slot          21 in 4 buckets, at most 16
 ::::::: .......                 #######
 ------- ------- -------    ^    -------
 next buckets  level 0  slot 4   in   700 us       16
               level 0  slot 0   in   1.7 ms        1
               level 1  slot 2           now    1,000
  sched/s cancel/s pushed/s   casc/s   runs/s  wakes/s
   40,000   35,000   90,000    8,000    6,000      990
 lateness  p50 20 us  p99 400 us  worst 3 ms
 .:# root of the count   ^ clock   Ctrl-C ends
)");
}

TEST(Drawing, PutsTheHandAmongTheBarsWhereRowsAreFew) {
    EXPECT_EQ(drawn(twoLevels(), {60, 11}, kUnicode), R"(
 1,111 timeouts pending   12.3 of 60 s   1 ms x 5 slots
 level 1  5 ms a slot     1,000 in 1 bucket, at most 1,000
 ·······    ▲    ███████ ······· ·······
 level 0  1 ms a slot          21 in 4 buckets, at most 16
 ▄▄▄▄▄▄▄ ▂▂▂▂▂▂▂ ·······    ▲    ███████
 next buckets  level 0  slot 4   in   700 us       16
               level 0  slot 0   in   1.7 ms        1
  sched/s cancel/s pushed/s   casc/s   runs/s  wakes/s
   40,000   35,000   90,000    8,000    6,000      990
 lateness  p50 20 us  p99 400 us  worst 3 ms
 ▁▄█ root of the count   ▲ clock   Ctrl-C ends
)");
}

TEST(Drawing, MakesALevelALineWhereRowsAreFewer) {
    EXPECT_EQ(drawn(twoLevels(), {60, 9}, kUnicode), R"(
 1,111 timeouts pending   12.3 of 60 s   1 ms x 5 slots
  1     5 ms  ······   ▲    ██████ ······ ······     1,000
  0     1 ms  ▄▄▄▄▄▄ ▂▂▂▂▂▂ ······   ▲    ██████        21
 next buckets  level 0  slot 4   in   700 us       16
               level 0  slot 0   in   1.7 ms        1
  sched/s cancel/s pushed/s   casc/s   runs/s  wakes/s
   40,000   35,000   90,000    8,000    6,000      990
 lateness  p50 20 us  p99 400 us  worst 3 ms
 ▁▄█ root of the count   ▲ clock   Ctrl-C ends
)");
}

TEST(Drawing, LeavesOutTheCoarsestLevelsForWhichNoRowIsLeft) {
    EXPECT_EQ(drawn(twoLevels(), {60, 8}, kUnicode), R"(
 1,111 timeouts pending   12.3 of 60 s   1 level not shown
  0     1 ms  ▄▄▄▄▄▄ ▂▂▂▂▂▂ ······   ▲    ██████        21
 next buckets  level 0  slot 4   in   700 us       16
               level 0  slot 0   in   1.7 ms        1
  sched/s cancel/s pushed/s   casc/s   runs/s  wakes/s
   40,000   35,000   90,000    8,000    6,000      990
 lateness  p50 20 us  p99 400 us  worst 3 ms
 ▁▄█ root of the count   ▲ clock   Ctrl-C ends
)");
}

TEST(Drawing, PutsSlotsTogetherThatAreMoreThanColumns) {
    Picture picture = twoLevels();
    picture.wheelSize = 100;
    picture.levels.pop_back();
    picture.levels[0].hand = 10;
    picture.levels[0].armed = {{0, 16}, {3, 1}, {12, 4}, {99, 16}};
    std::vector<std::string> const lines = draw(picture, {60, 10}, kUnicode);
    EXPECT_EQ(lines[1], " level 0  1 ms a slot, 2 slots a cell      37 in 4 buckets");
    EXPECT_EQ(lines[2], " █▂    ▄                                          █");
    EXPECT_EQ(lines[3], " ─────▲────────────────────────────────────────────");
}

TEST(Drawing, ColoursWhatExpiresSoonUnlikeWhatExpiresLate) {
    auto const finest = [](Colours colours) {
        return draw(twoLevels(), {20, 11}, {true, colours})[4];
    };
    EXPECT_EQ(
        finest(Colours::eight),
        " \033[33m▄▄\033[0m \033[32m▂▂\033[0m \033[2m··\033[0m \033[1m▲\033[0m  \033[33m██\033[0m");
    EXPECT_EQ(finest(Colours::many),
              " \033[38;5;148m▄▄\033[0m \033[38;5;78m▂▂\033[0m \033[2m··\033[0m \033[1m▲\033[0m  "
              "\033[38;5;220m██\033[0m");
}

TEST(Drawing, FitsEverySize) {
    for (std::size_t const levels : {0U, 1U, 2U, 4U, 20U}) {
        Picture picture = twoLevels();
        picture.levels.resize(levels, picture.levels.front());
        for (std::size_t columns = 1; columns < 130; columns += 3) {
            for (std::size_t rows = 1; rows < 70; ++rows) {
                std::vector<std::string> const lines =
                    draw(picture, {columns, rows}, {true, Colours::many});
                ASSERT_LE(lines.size(), rows);
                for (std::string const& line : lines) ASSERT_LE(columnsOf(line), columns);
            }
        }
    }
}

}  // namespace
}  // namespace demo
