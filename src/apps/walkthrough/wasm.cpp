/// What the page calls: the story, compiled to WebAssembly. Numbers go in as JavaScript has them,
/// frames come out as JSON.

#include "apps/walkthrough/Story.h"

#include <memory>
#include <utility>

namespace {

std::unique_ptr<walkthrough::Story> story;
std::vector<std::int64_t> sizes;
std::string answer;

}  // namespace

extern "C" {

/// The size of the next level of the next story.
void storyLevel(int size) { sizes.push_back(size); }
void storyBegin(int flatSlots, int isClock, double start) {
    using Style = walkthrough::Times::Style;
    story = std::make_unique<walkthrough::Story>(
        walkthrough::Story::Options{.levelSizes = std::exchange(sizes, {}),
                                    .flatSlots = flatSlots,
                                    .style = isClock != 0 ? Style::clock : Style::milliseconds,
                                    .start = static_cast<std::int64_t>(start)});
}
void storySchedule(double delay) { story->schedule(static_cast<std::int64_t>(delay)); }
void storyCancel(double task) { story->cancel(static_cast<std::size_t>(task)); }
void storyWait(double ticks) { story->wait(static_cast<std::int64_t>(ticks)); }
int storyWake() { return story->wake() ? 1 : 0; }
int storyCount() { return static_cast<int>(story->frames().size()); }
char const* storyFrame(int frame) {
    answer = toJson(story->frames()[static_cast<std::size_t>(frame)]);
    return answer.c_str();
}

}  // extern "C"
