#include "apps/walkthrough/Story.h"

#include "apps/walkthrough/Sentences.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace walkthrough {

using timingwheel::Tick;
using timingwheel::TimerTaskEntry;
using timingwheel::TimerTaskList;

namespace {

void check(char const* what, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    throw std::invalid_argument{std::string{what} + " is " + std::to_string(value) +
                                ": it must be from " + std::to_string(least) + " to " +
                                std::to_string(most)};
}

Story::Options const& checked(Story::Options const& options) {
    constexpr std::int64_t kLeast = timingwheel::RawTimingWheel::kMinWheelSize;
    check("wheelSize", options.wheelSize, kLeast, Story::kMaxWheelSize);
    for (std::int64_t const size : options.levelSizes)
        check("a level's size", size, kLeast, Story::kMaxWheelSize);
    check("start", options.start, 0, Story::kMaxStart);
    check("flatSlots", options.flatSlots, 1, Story::kMaxWheelSize);
    return options;
}

Place placeOf(TimerTaskList const& bucket) {
    return {bucket.level(), bucket.slot(), bucket.expiration()};
}

/// "A" to "Z", "A2" to "Z2" and so on; without "I", which is a word in a sentence.
std::string nameOf(std::size_t task) {
    constexpr std::string_view kLetters = "ABCDEFGHJKLMNOPQRSTUVWXYZ";
    std::string name(1, kLetters[task % kLetters.size()]);
    if (task >= kLetters.size()) name += std::to_string(task / kLetters.size() + 1);
    return name;
}

}  // namespace

char const* toString(Frame::Stage stage) noexcept {
    switch (stage) {
        case Frame::Stage::begin:
            return "begin";
        case Frame::Stage::schedule:
            return "schedule";
        case Frame::Stage::place:
            return "place";
        case Frame::Stage::arm:
            return "arm";
        case Frame::Stage::wake:
            return "wake";
        case Frame::Stage::cascade:
            return "cascade";
        case Frame::Stage::run:
            return "run";
        case Frame::Stage::cancel:
            return "cancel";
        case Frame::Stage::wait:
            return "wait";
    }
    return "?";
}

char const* toString(TaskPicture::State state) noexcept {
    switch (state) {
        case TaskPicture::State::queued:
            return "queued";
        case TaskPicture::State::flushed:
            return "flushed";
        case TaskPicture::State::ran:
            return "ran";
        case TaskPicture::State::cancelled:
            return "cancelled";
    }
    return "?";
}

Story::Story(Options options)
    : times_{checked(options).times},
      wheel_{{.wheelSize = options.wheelSize,
              .levelSizes = options.levelSizes,
              .start = Tick{options.start}}},
      flat_{{.ticksPerWheel = options.flatSlots, .start = Tick{options.start}}},
      now_{options.start},
      asleepSince_{options.start} {
    tell(Frame::Stage::begin, Frame::kNobody, sentence::begin(options)).flatSentence =
        sentence::flatBegin(options);
}

Story::~Story() {
    for (Task& task : tasks_) {
        wheel_.cancel(task.entry);
        flat_.cancel(task.flatEntry);
    }
}

Frame& Story::tell(Frame::Stage stage, std::size_t task, std::string sentence) {
    frames_.push_back({.stage = stage,
                       .task = task,
                       .from = {},
                       .to = {},
                       .sentence = std::move(sentence),
                       .flatSentence = {},
                       .picture = look()});
    return frames_.back();
}

void Story::schedule(std::int64_t delay) {
    check("delay", delay, 0, kMaxDelay);
    std::size_t const number = tasks_.size();
    Task& task = tasks_.emplace_back();
    task.picture = {
        .name = nameOf(number), .scheduledAt = now_, .delay = delay, .deadline = now_ + delay};
    task.entry.task = task.flatEntry.task = number;

    // The wheel catches up with the time, as in a timer before it places anything.
    wheel_.raw().advanceClock(Tick{now_});
    bool const isFlatDue = flat_.add(task.flatEntry, Tick{task.picture.deadline}).isDue();
    Frame& told = tell(Frame::Stage::schedule, number, sentence::schedule(times_, task.picture));
    if (!isFlatDue)
        told.flatSentence = sentence::flatPlace(
            times_, task.picture,
            {number, flat_.slotOf(task.flatEntry), flat_.remainingRounds(task.flatEntry)},
            static_cast<std::int64_t>(flat_.allSlots().size()));
    placeNew(task);
}

void Story::placeNew(Task& task) {
    std::size_t const number = task.entry.task;
    std::size_t const levelsBefore = wheel_.levels().size();
    auto const& heap = wheel_.delayHeap();
    std::size_t const armedBefore = heap.size();
    std::optional<std::int64_t> earliestBefore;
    if (!heap.empty()) earliestBefore = heap.top().expiration;
    timingwheel::Placement const placement = wheel_.add(task.entry, Tick{task.picture.deadline});
    if (placement.isDue()) {
        task.picture.state = TaskPicture::State::ran;
        task.picture.endedAt = now_;
        tell(Frame::Stage::run, number, sentence::runAtOnce(task.picture)).flatSentence =
            sentence::runAtOnce(task.picture);
        return;
    }
    Place const to = placeOf(placement.bucket());
    bool const arms = heap.size() > armedBefore;
    // A bucket that becomes the earliest wakes the driver, which then sleeps anew.
    if (placement.isEarliest()) asleepSince_ = now_;
    auto const levels = wheel_.levels();
    std::string told = sentence::place(times_, task.picture, levels[to.level],
                                       to.level == 0 ? nullptr : &levels[to.level - 1],
                                       levels[levelsBefore - 1], to);
    if (!arms) told += " " + sentence::isArmedAlready(times_, to);
    tell(Frame::Stage::place, number, std::move(told)).to = to;
    if (arms)
        tell(Frame::Stage::arm, number, sentence::arm(times_, to, earliestBefore, now_)).to = to;
}

bool Story::cancel(std::size_t number) {
    if (number >= tasks_.size() || !tasks_[number].entry.isQueued()) return false;
    Task& task = tasks_[number];
    Place from{};
    bool wasAlone = false;
    for (auto const& level : wheel_.levels())
        for (TimerTaskList const& bucket : level.buckets())
            for (TimerTaskEntry const& entry : bucket.entries())
                if (&entry == &task.entry) {
                    from = placeOf(bucket);
                    wasAlone = bucket.entries().size() == 1;
                }
    wheel_.cancel(task.entry);
    flat_.cancel(task.flatEntry);
    task.picture.state = TaskPicture::State::cancelled;
    task.picture.endedAt = now_;
    Frame& told =
        tell(Frame::Stage::cancel, number, sentence::cancel(times_, task.picture, from, wasAlone));
    told.from = from;
    told.flatSentence = sentence::flatCancel(task.picture);
    return true;
}

bool Story::wake() {
    std::optional<Tick> const next = wheel_.nextExpiration();
    if (!next) return false;
    std::int64_t const slept = next->value() - asleepSince_;
    now_ = asleepSince_ = next->value();
    if (slept > 0) ++wakeUps_;
    std::string flatSentence = advanceFlat(now_, false);

    TimerTaskList const& bucket = *wheel_.delayHeap().top().bucket;
    Place const from = placeOf(bucket);
    std::vector<std::size_t> const flushed = tasksIn(bucket);
    for (std::size_t const task : flushed) tasks_[task].picture.state = TaskPicture::State::flushed;
    wheel_.raw().flush(*next);
    Frame& told = tell(Frame::Stage::wake, Frame::kNobody,
                       sentence::wake(times_, from, slept, flushed.size()));
    told.from = from;
    told.flatSentence = std::move(flatSentence);
    while (wheel_.raw().hasFlushed()) takeOne(from);
    return true;
}

void Story::takeOne(Place const& from) {
    auto& entry = static_cast<Entry&>(wheel_.raw().takeFlushed());
    Task& task = tasks_[entry.task];
    std::size_t const armedBefore = wheel_.delayHeap().size();
    timingwheel::Placement const placement = wheel_.raw().place(entry);
    if (placement.isDue()) {
        task.picture.state = TaskPicture::State::ran;
        task.picture.endedAt = now_;
        tell(Frame::Stage::run, entry.task, sentence::run(times_, task.picture, from)).from = from;
        return;
    }
    task.picture.state = TaskPicture::State::queued;
    ++task.picture.cascades;
    ++cascades_;
    Place const to = placeOf(placement.bucket());
    bool const arms = wheel_.delayHeap().size() > armedBefore;
    Frame& told = tell(Frame::Stage::cascade, entry.task,
                       sentence::cascade(times_, task.picture, from, to, now_, arms));
    told.from = from;
    told.to = to;
}

void Story::wait(std::int64_t ticks) {
    check("wait", ticks, 1, kMaxDelay);
    std::int64_t const until = now_ + ticks;
    auto const expiresMeanwhile = [&] {
        auto const next = wheel_.nextExpiration();
        return next && next->value() <= until;
    };
    if (expiresMeanwhile())
        tell(Frame::Stage::wait, Frame::kNobody, sentence::waitBegins(times_, until));
    while (expiresMeanwhile()) wake();
    if (now_ == until) return;
    now_ = until;
    std::string flatSentence = advanceFlat(now_, true);
    tell(Frame::Stage::wait, Frame::kNobody,
         sentence::wait(times_, now_, wheel_.currentTick().value()))
        .flatSentence = std::move(flatSentence);
}

/// Walks tick by tick, as a flat wheel must, and counts what that costs. Told when something ran,
/// or when it has to be.
std::string Story::advanceFlat(std::int64_t now, bool isTold) {
    std::string ran;
    auto& wheel = flat_.raw();
    while (wheel.beginTick(Tick{now})) {
        ++ticksWalked_;
        auto const slot =
            static_cast<std::size_t>(wheel.currentTick().value()) % wheel.allSlots().size();
        passedOver_ += static_cast<std::int64_t>(wheel.allSlots()[slot].size());
        while (TimerTaskEntry* const entry = wheel.takeDue()) {
            --passedOver_;
            std::size_t const task = static_cast<Entry*>(entry)->task;
            ran += (ran.empty() ? "" : ", ") + tasks_[task].picture.name;
        }
    }
    if (ran.empty() && !isTold) return {};
    std::int64_t const walked = ticksWalked_ - std::exchange(walkedThen_, ticksWalked_);
    std::int64_t const passedOver = passedOver_ - std::exchange(passedOverThen_, passedOver_);
    return walked == 0 ? sentence::flatStill(times_, now)
                       : sentence::flatWalk(walked, passedOver, ran);
}

// ---- what is where -----------------------------------------------------------------------------

std::vector<std::size_t> Story::tasksIn(TimerTaskList const& bucket) {
    std::vector<std::size_t> tasks;
    for (TimerTaskEntry const& entry : bucket.entries())
        tasks.push_back(static_cast<Entry const&>(entry).task);
    return tasks;
}

BucketPicture Story::lookAt(TimerTaskList const& bucket) {
    return {bucket.level(), bucket.slot(), bucket.expiration(), tasksIn(bucket)};
}

Picture Story::look() const {
    Picture picture{.now = now_,
                    .clock = wheel_.currentTick().value(),
                    .wakeUps = wakeUps_,
                    .cascades = cascades_,
                    .levels = {},
                    .heap = {},
                    .tasks = {},
                    .flat = lookAtFlat()};
    for (auto const& level : wheel_.levels()) {
        LevelPicture& drawn = picture.levels.emplace_back(
            LevelPicture{static_cast<std::int64_t>(level.buckets().size()),
                         level.granularity(),
                         level.interval(),
                         level.clock(),
                         {}});
        for (TimerTaskList const& bucket : level.buckets())
            if (bucket.isArmed()) drawn.buckets.push_back(lookAt(bucket));
    }
    for (auto const& item : wheel_.delayHeap().items())
        picture.heap.push_back(lookAt(*item.bucket));
    std::sort(picture.heap.begin(), picture.heap.end(),
              [](BucketPicture const& a, BucketPicture const& b) {
                  return std::pair{a.expiration, a.level} < std::pair{b.expiration, b.level};
              });
    for (Task const& task : tasks_) picture.tasks.push_back(task.picture);
    return picture;
}

FlatPicture Story::lookAtFlat() const {
    FlatPicture picture{.clock = flat_.currentTick().value(),
                        .slots = static_cast<std::int64_t>(flat_.allSlots().size()),
                        .ticksWalked = ticksWalked_,
                        .passedOver = passedOver_,
                        .entries = {}};
    for (std::size_t slot = 0; slot < flat_.allSlots().size(); ++slot)
        for (TimerTaskEntry const* const entry : flat_.allSlots()[slot].entries())
            if (entry != nullptr) {
                auto const& known = static_cast<Entry const&>(*entry);
                picture.entries.push_back({known.task, slot, flat_.remainingRounds(known)});
            }
    return picture;
}

}  // namespace walkthrough
