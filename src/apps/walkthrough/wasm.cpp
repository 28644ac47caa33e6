/// What the page calls: the story, compiled to WebAssembly. Numbers go in as JavaScript has them,
/// frames come out as JSON.

#include "apps/walkthrough/Example.h"
#include "apps/walkthrough/Json.h"
#include "apps/walkthrough/Playback.h"

#include <cstdint>
#include <memory>
#include <string>

namespace {

std::unique_ptr<walkthrough::Playback> playback;
std::string answer;

std::size_t count() { return playback->frames().size(); }

}  // namespace

extern "C" {

void storyBegin(int wheelSize, int flatSlots) {
    playback = std::make_unique<walkthrough::Playback>(
        walkthrough::Story::Options{.wheelSize = wheelSize, .flatSlots = flatSlots});
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
