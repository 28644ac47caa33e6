#include "apps/walkthrough/Story.h"

#include "apps/walkthrough/Json.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace walkthrough {

using timingwheel::Tick;
using timingwheel::TimerTaskEntry;
using timingwheel::TimerTaskList;

namespace {

Place placeOf(TimerTaskList const& bucket) {
    return {bucket.level(), bucket.slot(), bucket.expiration()};
}

template <class Entry>
std::vector<std::size_t> tasksIn(TimerTaskList const& bucket) {
    std::vector<std::size_t> tasks;
    bucket.forEach([&](TimerTaskEntry const& entry) {
        tasks.push_back(static_cast<Entry const&>(entry).task);
    });
    return tasks;
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
    : times_{options.style},
      wheel_{{.levelSizes = options.levelSizes, .start = Tick{options.start}}},
      flat_{{.ticksPerWheel = options.flatSlots, .start = Tick{options.start}}},
      now_{options.start},
      asleepSince_{options.start} {
    tell({.stage = "begin",
          .sentence = sentence::begin(times_, now_, options.levelSizes.front()),
          .flatSentence = "An empty flat wheel at " + times_.moment(now_) + ": " +
                          std::to_string(options.flatSlots) + " slots of " + times_.lasting(1) +
                          ". Nothing is pending, so the hand stands still."});
}

Story::~Story() {
    for (Task& task : tasks_) {
        wheel_.cancel(task.entry);
        flat_.cancel(task.flatEntry);
    }
}

void Story::tell(Frame frame) {
    frame.now = now_;
    frame.picture = look();
    frames_.push_back(std::move(frame));
}

void Story::schedule(std::int64_t delay) {
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
          .flatSentence =
              isFlatDue ? ""
                        : sentence::flatPlace(times_, task.picture, flat_.slotOf(task.flatEntry),
                                              flat_.remainingRounds(task.flatEntry), slots)});
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
        std::string const told =
            task.picture.name + " is due already: it is put into no bucket and runs at once.";
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
    if (!arms)
        told += " That bucket stands in the delay heap already, at " + times_.at(to.expiration) +
                ": one more task does not change that.";
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
    Place from{};
    bool wasAlone = false;
    for (auto const& level : wheel_.levels())
        for (TimerTaskList const& bucket : level.buckets())
            if (auto const in = tasksIn<Entry>(bucket); std::count(in.begin(), in.end(), number)) {
                from = placeOf(bucket);
                wasAlone = in.size() == 1;
            }
    wheel_.cancel(task.entry);
    flat_.cancel(task.flatEntry);
    task.picture.state = "cancelled";
    task.picture.endedAt = now_;
    tell({.stage = "cancel",
          .task = number,
          .sentence = sentence::cancel(times_, task.picture, from, wasAlone),
          .from = from,
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

    TimerTaskList const& bucket = *wheel_.delayHeap().top().bucket;
    Place const from = placeOf(bucket);
    std::vector<std::size_t> const flushed = tasksIn<Entry>(bucket);
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
    std::int64_t const until = now_ + ticks;
    auto const expiresMeanwhile = [&] {
        auto const next = wheel_.nextExpiration();
        return next && next->value() <= until;
    };
    if (expiresMeanwhile())
        tell({.stage = "wait",
              .sentence =
                  "Nobody calls until " + times_.at(until) + ". But buckets expire before that:"});
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
    if (walked > 0) return sentence::flatWalk(walked, passedOver, ran);
    return "It is " + times_.at(now) + ". Nothing is pending, so the hand does not walk.";
}

// ---- what is where, as JSON --------------------------------------------------------------------

namespace {

/// Without the bracket that closes it.
std::string opened(Place const& place) {
    std::string text =
        json::object("level", place.level, "slot", place.slot, "expiration", place.expiration);
    text.pop_back();
    return text;
}

}  // namespace

std::string Story::look() const {
    std::vector<std::pair<std::int64_t, std::string>> heap;
    auto const lookAtBucket = [](TimerTaskList const& bucket) {
        return opened(placeOf(bucket)) + ",\"tasks\":" +
               json::list(tasksIn<Entry>(bucket), [](auto task) { return json::of(task); }).text +
               '}';
    };
    auto const lookAtLevel = [&](auto const& level) {
        std::vector<std::string> buckets;
        for (TimerTaskList const& bucket : level.buckets()) {
            if (!bucket.isArmed()) continue;
            buckets.push_back(lookAtBucket(bucket));
            heap.emplace_back(bucket.expiration(), buckets.back());
        }
        return json::object("slots", level.buckets().size(), "granularity", level.granularity(),
                            "interval", level.interval(), "clock", level.clock(), "buckets",
                            json::list(buckets, [](auto const& each) { return each; }));
    };
    auto const lookAtTask = [](Task const& each) {
        TaskPicture const& task = each.picture;
        return json::object("name", task.name, "scheduledAt", task.scheduledAt, "delay", task.delay,
                            "deadline", task.deadline, "state", task.state, "endedAt", task.endedAt,
                            "cascades", task.cascades);
    };
    std::vector<Entry const*> entries;
    for (auto const& slot : flat_.allSlots())
        for (TimerTaskEntry const* const entry : slot.entries())
            if (entry != nullptr) entries.push_back(static_cast<Entry const*>(entry));
    auto const lookAtEntry = [this](Entry const* entry) {
        return json::object("task", entry->task, "slot", flat_.slotOf(*entry), "rounds",
                            flat_.remainingRounds(*entry));
    };
    json::Raw const levels{json::list(wheel_.levels(), lookAtLevel)};
    // The lowest level first where several expire at the same time.
    std::stable_sort(heap.begin(), heap.end(),
                     [](auto const& a, auto const& b) { return a.first < b.first; });
    json::Raw const flat{json::object(
        "clock", flat_.currentTick().value(), "slots", flat_.allSlots().size(), "ticksWalked",
        ticksWalked_, "passedOver", passedOver_, "entries", json::list(entries, lookAtEntry))};
    return json::members("now", now_, "wakeUps", wakeUps_, "cascades", cascades_, "levels", levels,
                         "heap", json::list(heap, [](auto const& each) { return each.second; }),
                         "tasks", json::list(tasks_, lookAtTask), "flat", flat);
}

std::string toJson(Frame const& frame) {
    auto const place = [](std::optional<Place> const& one) {
        return json::Raw{one ? opened(*one) + '}' : "null"};
    };
    json::Raw const task{frame.task == Frame::kNobody ? "null" : json::of(frame.task)};
    return '{' +
           json::members("stage", frame.stage, "task", task, "from", place(frame.from), "to",
                         place(frame.to), "sentence", frame.sentence, "flatSentence",
                         frame.flatSentence) +
           ',' + frame.picture + '}';
}

}  // namespace walkthrough
