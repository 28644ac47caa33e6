/// timingwheel-walkthrough: the worked example, frame by frame, as lines of JSON.

#include "apps/walkthrough/Example.h"
#include "apps/walkthrough/Json.h"

#include <cstdio>

int main() {
    walkthrough::Story story;
    walkthrough::tellExample(story);
    for (walkthrough::Frame const& frame : story.frames())
        std::printf("%s\n", walkthrough::toJson(frame).c_str());
}
