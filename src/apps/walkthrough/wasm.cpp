/// What the page calls: the story, compiled to WebAssembly. Numbers go in as JavaScript has them,
/// frames come out as JSON.

#include "apps/walkthrough/Example.h"
#include "apps/walkthrough/Json.h"
#include "apps/walkthrough/Playback.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using walkthrough::Times;

std::unique_ptr<walkthrough::Playback> playback;
std::vector<std::int64_t> sizes;
std::string answer;

std::size_t count() { return playback->frames().size(); }

}  // namespace

extern "C" {

/// The size of the next level of the next story.
void storyLevel(int size) { sizes.push_back(size); }
void storyBegin(int flatSlots, int isClock, double start) {
    playback = std::make_unique<walkthrough::Playback>(walkthrough::Story::Options{
        .levelSizes = std::exchange(sizes, {}),
        .flatSlots = flatSlots,
        .times = isClock != 0 ? Times::Style::clock : Times::Style::milliseconds,
        .start = static_cast<std::int64_t>(start)});
}
double storyMaxDelay() { return static_cast<double>(walkthrough::Story::kMaxDelay); }
std::size_t storySchedule(double delay) {
    playback->schedule(static_cast<std::int64_t>(delay));
    return count();
}
std::size_t storyScheduleExample() {
    for (std::int64_t const delay : walkthrough::kExampleDelays) playback->schedule(delay);
    return count();
}
double storyClockStart() { return static_cast<double>(walkthrough::kClockStart); }
std::size_t storyScheduleClock() {
    for (std::int64_t const delay : walkthrough::clockDelays()) playback->schedule(delay);
    return count();
}
std::size_t storyCancel(int task) {
    playback->cancel(static_cast<std::size_t>(task));
    return count();
}
std::size_t storyWake() {
    playback->wake();
    return count();
}
std::size_t storyWait(double ticks) {
    playback->wait(static_cast<std::int64_t>(ticks));
    return count();
}
std::size_t storyTakeBackTo(int frame) {
    playback->takeBackTo(static_cast<std::size_t>(frame));
    return count();
}
char const* storyFrame(int frame) {
    answer = toJson(playback->frames()[static_cast<std::size_t>(frame)]);
    return answer.c_str();
}

}  // extern "C"
