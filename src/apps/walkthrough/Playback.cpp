#include "apps/walkthrough/Playback.h"

#include <utility>

namespace walkthrough {

Playback::Playback(Story::Options options)
    : options_{std::move(options)}, story_{std::make_unique<Story>(options_)} {}

void Playback::perform(Command const& command) {
    switch (command.kind) {
        case Command::Kind::schedule:
            story_->schedule(command.argument);
            break;
        case Command::Kind::cancel:
            story_->cancel(static_cast<std::size_t>(command.argument));
            break;
        case Command::Kind::wake:
            story_->wake();
            break;
        case Command::Kind::wait:
            story_->wait(command.argument);
            break;
    }
    commands_.push_back(command);
}

void Playback::takeBackTo(std::size_t frame) {
    std::vector<Command> const told = std::exchange(commands_, {});
    story_ = std::make_unique<Story>(options_);
    for (Command const& command : told) {
        if (story_->frames().size() > frame) break;
        perform(command);
    }
}

}  // namespace walkthrough
