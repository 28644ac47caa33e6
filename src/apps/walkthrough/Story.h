#pragma once

#include "apps/walkthrough/Sentences.h"

#include <timingwheel/wheel/HashedWheel.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace walkthrough {

/// One step, told in a sentence, and what is where after it.
struct Frame {
    static constexpr std::size_t kNobody = SIZE_MAX;

    char const* stage;  ///< begin, schedule, place, arm, wake, cascade, run, cancel or wait
    std::size_t task = kNobody;
    std::string sentence;
    std::optional<Place> from = {};  ///< wake, cascade, run, cancel: the bucket that was left
    std::optional<Place> to = {};    ///< place, arm, cascade
    std::string flatSentence = {};   ///< what the flat wheel did, if anything
    std::int64_t now = 0;
    std::string picture = {};  ///< members of JSON, read off the wheels: levels, heap, tasks, flat
};

/// One line: the stage, the sentences and the whole picture.
std::string toJson(Frame const& frame);

/// The worked example: slots on each level, both ends of a level, and a way down that misses none.
inline constexpr std::array<std::int64_t, 9> kExampleDelays{5,   19,  20,    25,     399,
                                                            400, 401, 8'000, 123'456};

/// Gives a timing wheel and a flat wheel the same tasks, and shows what happens, frame by frame.
///
/// It only does what a driver does: the library's wheels place, arm, flush and cascade, and each
/// frame is read off them. So what a page shows is what the library does.
///
/// Units          ticks, each a millisecond of the story, or a second if its times are a clock's
/// Thread safety  none
class Story {
public:
    struct Options {
        std::vector<std::int64_t> levelSizes = {20};
        std::int64_t flatSlots = 32;
        Times::Style style = Times::Style::milliseconds;
        std::int64_t start = 0;  ///< what the clock shows at the beginning
    };

    explicit Story(Options options);
    Story() : Story{Options{}} {}
    ~Story();
    Story(Story const&) = delete;
    Story& operator=(Story const&) = delete;

    /// A task that is due `delay` ticks from now, at least 0.
    void schedule(std::int64_t delay);
    /// Returns false, and tells nothing, if there is no such task or it has ended.
    bool cancel(std::size_t task);
    /// Sleeps until the earliest bucket expires, and empties that bucket. Returns false, and tells
    /// nothing, if no bucket is armed.
    bool wake();
    /// Lets time pass: at least 1 tick. Wakes for what expires in them.
    void wait(std::int64_t ticks);

    std::span<Frame const> frames() const noexcept { return frames_; }

private:
    struct Entry : timingwheel::TimerTaskEntry {
        std::size_t task = 0;
    };
    struct Task {
        TaskPicture picture;
        Entry entry;
        Entry flatEntry;
    };

    void tell(Frame frame);
    void placeNew(Task& task);
    void takeOne(Place const& from);
    std::string advanceFlat(std::int64_t now, bool isTold);
    std::string look() const;

    Times times_;
    timingwheel::TimingWheel<Entry> wheel_;
    timingwheel::HashedWheel<Entry> flat_;
    std::deque<Task> tasks_;
    std::int64_t now_;
    std::int64_t asleepSince_;
    std::size_t wakeUps_ = 0;
    std::size_t cascades_ = 0;
    std::int64_t ticksWalked_ = 0;
    std::int64_t passedOver_ = 0;
    // As of the last frame with a sentence about the flat wheel.
    std::int64_t walkedThen_ = 0;
    std::int64_t passedOverThen_ = 0;
    std::vector<Frame> frames_;
};

}  // namespace walkthrough
