#include "apps/walkthrough/Story.h"

#include "apps/walkthrough/Json.h"

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
    for (std::int64_t const size : options.levelSizes)
        check("a level's size", size, timingwheel::RawTimingWheel::kMinWheelSize,
              Story::kMaxWheelSize);
    check("start", options.start, 0, Story::kMaxDelay);
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

Story::Story(Options options)
    : times_{checked(options).style},
      wheel_{{.levelSizes = options.levelSizes, .start = Tick{options.start}}},
      flat_{{.ticksPerWheel = options.flatSlots, .start = Tick{options.start}}},
      now_{options.start},
      asleepSince_{options.start} {
    tell({.stage = "begin",
          .sentence = sentence::begin(times_, now_, options.levelSizes.front()),
          .flatSentence = sentence::flatBegin(times_, now_, options.flatSlots)});
}

Story::~Story() {
    for (Task& task : tasks_) {
        wheel_.cancel(task.entry);
        flat_.cancel(task.flatEntry);
    }
}

void Story::tell(Frame frame) {
    frame.picture = look();
    frames_.push_back(std::move(frame));
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
    auto const slots = static_cast<std::int64_t>(flat_.allSlots().size());
    tell({.stage = "schedule",
          .task = number,
          .sentence = sentence::schedule(times_, task.picture),
          .flatSentence = isFlatDue ? ""
                                    : sentence::flatPlace(times_, task.picture,
                                                          lookAt(task.flatEntry), slots)});
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
        task.picture.state = "ran";
        task.picture.endedAt = now_;
        std::string const told = sentence::runAtOnce(task.picture);
        return tell({.stage = "run", .task = number, .sentence = told, .flatSentence = told});
    }
    Place const to = placeOf(placement.bucket());
    bool const arms = heap.size() > armedBefore;
    // A bucket that becomes the earliest wakes the driver, which then sleeps anew.
    if (placement.isEarliest()) asleepSince_ = now_;
    auto const levels = wheel_.levels();
    std::string told = sentence::place(times_, task.picture, levels[to.level],
                                       to.level == 0 ? nullptr : &levels[to.level - 1],
                                       levels[levelsBefore - 1], to);
    if (!arms) told += sentence::isArmedAlready(times_, to);
    tell({.stage = "place", .task = number, .sentence = std::move(told), .to = to});
    if (arms)
        tell({.stage = "arm",
              .task = number,
              .sentence = sentence::arm(times_, to, earliestBefore, now_),
              .to = to});
}

bool Story::cancel(std::size_t number) {
    if (number >= tasks_.size() || !tasks_[number].entry.isQueued()) return false;
    Task& task = tasks_[number];
    BucketPicture from{};
    for (BucketPicture const& bucket : look().heap)
        if (std::count(bucket.tasks.begin(), bucket.tasks.end(), number) > 0) from = bucket;
    wheel_.cancel(task.entry);
    flat_.cancel(task.flatEntry);
    task.picture.state = "cancelled";
    task.picture.endedAt = now_;
    tell({.stage = "cancel",
          .task = number,
          .sentence = sentence::cancel(times_, task.picture, from.place, from.tasks.size() == 1),
          .from = from.place,
          .flatSentence = task.picture.name + " leaves its slot."});
    return true;
}

bool Story::wake() {
    std::optional<Tick> const next = wheel_.nextExpiration();
    if (!next) return false;
    std::int64_t const slept = next->value() - asleepSince_;
    now_ = asleepSince_ = next->value();
    if (slept > 0) ++wakeUps_;
    std::string flatSentence = advanceFlat(now_, false);

    auto const [from, flushed] = lookAt(*wheel_.delayHeap().top().bucket);
    for (std::size_t const task : flushed) tasks_[task].picture.state = "flushed";
    wheel_.raw().flush(*next);
    tell({.stage = "wake",
          .sentence = sentence::wake(times_, from, slept, flushed.size()),
          .from = from,
          .flatSentence = std::move(flatSentence)});
    while (wheel_.raw().hasFlushed()) takeOne(from);
    return true;
}

void Story::takeOne(Place const& from) {
    auto& entry = static_cast<Entry&>(wheel_.raw().takeFlushed());
    TaskPicture& task = tasks_[entry.task].picture;
    std::size_t const armedBefore = wheel_.delayHeap().size();
    timingwheel::Placement const placement = wheel_.raw().place(entry);
    if (placement.isDue()) {
        task.state = "ran";
        task.endedAt = now_;
        return tell({.stage = "run",
                     .task = entry.task,
                     .sentence = sentence::run(times_, task, from),
                     .from = from});
    }
    task.state = "queued";
    ++task.cascades;
    ++cascades_;
    Place const to = placeOf(placement.bucket());
    bool const arms = wheel_.delayHeap().size() > armedBefore;
    tell({.stage = "cascade",
          .task = entry.task,
          .sentence = sentence::cascade(times_, task, from, to, now_, arms),
          .from = from,
          .to = to});
}

void Story::wait(std::int64_t ticks) {
    check("wait", ticks, 1, kMaxDelay);
    std::int64_t const until = now_ + ticks;
    auto const expiresMeanwhile = [&] {
        auto const next = wheel_.nextExpiration();
        return next && next->value() <= until;
    };
    if (expiresMeanwhile())
        tell({.stage = "wait", .sentence = sentence::waitBegins(times_, until)});
    while (expiresMeanwhile()) wake();
    if (now_ == until) return;
    now_ = until;
    std::string flatSentence = advanceFlat(now_, true);
    tell({.stage = "wait",
          .sentence = sentence::wait(times_, now_, wheel_.currentTick().value()),
          .flatSentence = std::move(flatSentence)});
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

BucketPicture Story::lookAt(TimerTaskList const& bucket) {
    BucketPicture picture{placeOf(bucket), {}};
    for (TimerTaskEntry const& entry : bucket.entries())
        picture.tasks.push_back(static_cast<Entry const&>(entry).task);
    return picture;
}

FlatEntry Story::lookAt(Entry const& entry) const {
    return {entry.task, flat_.slotOf(entry), flat_.remainingRounds(entry)};
}

Picture Story::look() const {
    Picture picture{.now = now_, .wakeUps = wakeUps_, .cascades = cascades_};
    for (auto const& level : wheel_.levels()) {
        LevelPicture& drawn = picture.levels.emplace_back(
            LevelPicture{static_cast<std::int64_t>(level.buckets().size()),
                         level.granularity(),
                         level.interval(),
                         level.clock(),
                         {}});
        for (TimerTaskList const& bucket : level.buckets())
            if (bucket.isArmed()) drawn.buckets.push_back(lookAt(bucket));
        picture.heap.insert(picture.heap.end(), drawn.buckets.begin(), drawn.buckets.end());
    }
    // The lowest level first where several expire at the same time.
    std::stable_sort(picture.heap.begin(), picture.heap.end(), [](auto const& a, auto const& b) {
        return a.place.expiration < b.place.expiration;
    });
    for (Task const& task : tasks_) picture.tasks.push_back(task.picture);
    picture.flat = {.clock = flat_.currentTick().value(),
                    .slots = static_cast<std::int64_t>(flat_.allSlots().size()),
                    .ticksWalked = ticksWalked_,
                    .passedOver = passedOver_};
    for (auto const& slot : flat_.allSlots())
        for (TimerTaskEntry const* const entry : slot.entries())
            if (entry != nullptr)
                picture.flat.entries.push_back(lookAt(static_cast<Entry const&>(*entry)));
    return picture;
}

// ---- as JSON -----------------------------------------------------------------------------------

namespace {

using json::Raw;

template <class Range, class Write>
Raw list(Range const& range, Write write) {
    return {json::list(range, write)};
}

std::string write(Place const& place) {
    return json::object("level", place.level, "slot", place.slot, "expiration", place.expiration);
}
std::string write(BucketPicture const& bucket) {
    std::string place = write(bucket.place);
    place.pop_back();
    return place + ",\"tasks\":" +
           json::list(bucket.tasks, [](std::size_t task) { return json::of(task); }) + '}';
}
std::string write(LevelPicture const& level) {
    return json::object("slots", level.slots, "granularity", level.granularity, "interval",
                        level.interval, "clock", level.clock, "buckets",
                        list(level.buckets, [](auto const& each) { return write(each); }));
}
std::string write(TaskPicture const& task) {
    return json::object("name", task.name, "scheduledAt", task.scheduledAt, "delay", task.delay,
                        "deadline", task.deadline, "state", task.state, "endedAt", task.endedAt,
                        "cascades", task.cascades);
}
std::string write(FlatEntry const& entry) {
    return json::object("task", entry.task, "slot", entry.slot, "rounds", entry.rounds);
}
std::string write(FlatPicture const& flat) {
    return json::object("clock", flat.clock, "slots", flat.slots, "ticksWalked", flat.ticksWalked,
                        "passedOver", flat.passedOver, "entries",
                        list(flat.entries, [](auto const& each) { return write(each); }));
}

}  // namespace

std::string toJson(Frame const& frame) {
    auto const each = [](auto const& one) { return write(one); };
    auto const place = [](std::optional<Place> const& one) {
        return Raw{one ? write(*one) : "null"};
    };
    Picture const& picture = frame.picture;
    return json::object("stage", frame.stage, "task",
                        Raw{frame.task == Frame::kNobody ? "null" : json::of(frame.task)}, "from",
                        place(frame.from), "to", place(frame.to), "sentence", frame.sentence,
                        "flatSentence", frame.flatSentence, "now", picture.now, "wakeUps",
                        picture.wakeUps, "cascades", picture.cascades, "levels",
                        list(picture.levels, each), "heap", list(picture.heap, each), "tasks",
                        list(picture.tasks, each), "flat", Raw{write(picture.flat)});
}

}  // namespace walkthrough
