#pragma once

#include "apps/walkthrough/Story.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace walkthrough {

/// A story that can go back: it is told again up to the frame where it continues.
///
/// Thread safety  none
/// Errors         those of Story
class Playback {
public:
    explicit Playback(Story::Options options = {});

    void schedule(std::int64_t delay) { perform({Command::Kind::schedule, delay}); }
    void cancel(std::size_t task) {
        perform({Command::Kind::cancel, static_cast<std::int64_t>(task)});
    }
    void wake() { perform({Command::Kind::wake, 0}); }
    void wait(std::int64_t ticks) { perform({Command::Kind::wait, ticks}); }

    /// Forgets everything after the command that told this frame.
    void takeBackTo(std::size_t frame);

    std::span<Frame const> frames() const noexcept { return story_->frames(); }

private:
    struct Command {
        enum class Kind : std::uint8_t { schedule, cancel, wake, wait };
        Kind kind;
        std::int64_t argument;
    };

    void perform(Command const& command);

    Story::Options options_;
    std::unique_ptr<Story> story_;
    std::vector<Command> commands_;
};

}  // namespace walkthrough
