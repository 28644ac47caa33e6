/// timingwheel-walkthrough-facts: what docs/walkthrough.md is made of, as one JSON document.

#include "apps/walkthrough/Json.h"
#include "apps/walkthrough/Story.h"

#include <cstdio>
#include <functional>

namespace walkthrough {

namespace {

json::Raw told(std::function<void(Story&)> const& happens) {
    Story story;
    happens(story);
    while (story.wake()) {
    }
    return json::list(story.frames(), toJson);
}

std::string facts() {
    auto const example = told([](Story& story) {
        for (std::int64_t const delay : kExampleDelays) story.schedule(delay);
    });
    auto const again = told([](Story& story) {
        story.wait(10);
        story.schedule(11);
    });
    auto const twice = told([](Story& story) {
        story.schedule(20);
        story.wait(5);
        story.schedule(15);
    });
    auto const cancelled = told([](Story& story) {
        for (int const delay : {25, 30}) story.schedule(delay);
        for (std::size_t const task : {0U, 1U}) story.cancel(task);
    });
    return json::object("example", example, "again", again, "twice", twice, "cancelled", cancelled);
}

}  // namespace

}  // namespace walkthrough

int main() { std::printf("%s\n", walkthrough::facts().c_str()); }
