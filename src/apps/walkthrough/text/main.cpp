/// timingwheel-walkthrough-facts: what docs/walkthrough.md is made of, as one JSON document.

#include "apps/walkthrough/Example.h"
#include "apps/walkthrough/Json.h"
#include "apps/walkthrough/text/Ways.h"

#include <cstdio>
#include <functional>

namespace walkthrough {

namespace {

using json::Raw;

constexpr std::int64_t kLongest = 100'000;

Raw story(Story::Options options, std::function<void(Story&)> const& happens) {
    Story story{std::move(options)};
    happens(story);
    tellAll(story, std::vector<std::int64_t>{});
    return {json::list(story.frames(), toJson)};
}

Raw ways(Load const& load) {
    return {json::list(allWays(load), [](Cost const& cost) {
        return json::object("way", cost.way, "tasks", cost.tasks, "cancelled", cost.cancelled,
                            "onTime", cost.onTime, "slots", cost.slots, "comparisons",
                            cost.comparisons, "lookedAt", cost.lookedAt, "moves", cost.moves,
                            "wakeUps", cost.wakeUps);
    })};
}

std::string facts() {
    return json::object(
        "longest", kLongest,                                                               //
        "example", story({}, [](Story& told) { tellAll(told, kExampleDelays); }),          //
        "clock", story(clockOptions(), [](Story& told) { tellAll(told, kClockDelays); }),  //
        "again",
        story({},
              [](Story& told) {
                  told.wait(10);
                  told.schedule(11);
              }),
        "twice",
        story({},
              [](Story& told) {
                  told.schedule(20);
                  told.wait(5);
                  told.schedule(15);
              }),
        "cancelled",
        story({},
              [](Story& told) {
                  for (int const delay : {25, 30}) told.schedule(delay);
                  for (std::size_t const task : {0U, 1U}) told.cancel(task);
              }),
        "exampleWays", ways({{kExampleDelays.begin(), kExampleDelays.end()}}), "allRun",
        ways({spreadDelays(10'000, kLongest)}), "mostlyCancelled",
        ways({spreadDelays(10'000, kLongest), 10}));
}

}  // namespace

}  // namespace walkthrough

int main() { std::printf("%s\n", walkthrough::facts().c_str()); }
