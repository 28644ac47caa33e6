#include "apps/walkthrough/Sentences.h"

namespace walkthrough {

namespace {

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

std::string grouped(std::int64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t end = digits.size(); end > 3;) digits.insert(end -= 3, 1, ',');
    return digits;
}

std::string slotName(Place const& place) {
    return "slot " + std::to_string(place.slot) + " of level " + std::to_string(place.level);
}

std::string levels(std::uint32_t first, std::uint32_t last) {
    return first == last ? "level " + std::to_string(first)
                         : "levels " + std::to_string(first) + " to " + std::to_string(last);
}

}  // namespace

std::string Times::at(std::int64_t tick) const {
    if (!isClock_) return grouped(tick);
    auto const twoDigits = [](std::int64_t number) {
        return (number < 10 ? ":0" : ":") + std::to_string(number);
    };
    return std::to_string(tick % kDay / kHour) + twoDigits(tick / kMinute % 60) +
           twoDigits(tick % 60) + (tick < kDay ? "" : " of day " + grouped(tick / kDay + 1));
}

std::string Times::lasting(std::int64_t ticks) const {
    if (!isClock_) return grouped(ticks) + " ms";
    struct Part {
        std::int64_t length;
        char const* unit;
    };
    std::string said;
    for (auto const& [length, unit] :
         {Part{kDay, " d"}, Part{kHour, " h"}, Part{kMinute, " min"}, Part{1, " s"}}) {
        if (ticks < length) continue;
        said += (said.empty() ? "" : " ") + grouped(ticks / length) + unit;
        ticks %= length;
    }
    return said.empty() ? "0 s" : said;
}

std::string Times::divisor(std::int64_t ticks) const {
    return isClock_ ? lasting(ticks) : grouped(ticks);
}

namespace sentence {

std::string begin(Times const& times, std::int64_t start, std::int64_t slots) {
    return "An empty wheel at " + times.moment(start) + ". Level 0 has " + std::to_string(slots) +
           " slots of " + times.lasting(1) +
           ". The delay heap is empty, so the driver sleeps until somebody calls.";
}

std::string schedule(Times const& times, TaskPicture const& task) {
    return task.name + " is scheduled at " + times.at(task.scheduledAt) + " with a delay of " +
           times.lasting(task.delay) + ": it is due at " + times.at(task.deadline) + ".";
}

std::string place(Times const& times, TaskPicture const& task,
                  timingwheel::TimingWheelLevel const& level,
                  timingwheel::TimingWheelLevel const* below,
                  timingwheel::TimingWheelLevel const& highest, Place const& to) {
    std::string const due = times.at(task.deadline);
    std::string const reach = times.at(level.limit() - 1);
    auto const slots = static_cast<std::int64_t>(level.buckets().size());
    std::int64_t const width = level.granularity();
    if (below == nullptr) {
        std::string told = "Level 0 reaches up to " + reach + ", so it takes " + due + ". ";
        if (task.deadline >= slots)
            told += due + " mod " + times.divisor(level.interval()) + " is slot " +
                    std::to_string(to.slot) + ". ";
        return told + "A slot of level 0 is " + times.lasting(1) +
               " wide: this bucket expires at " + due + ".";
    }
    bool const isBuilt = to.level <= highest.number();
    auto const& tooShort = isBuilt ? *below : highest;
    std::string told = "Level " + std::to_string(tooShort.number()) + " reaches up to " +
                       times.at(tooShort.limit() - 1) + ": too short for " + due + ". It overflows";
    if (isBuilt || below == &highest)
        told +=
            " to level " + std::to_string(to.level) + (isBuilt ? ", which" : ", built now, which");
    else
        told += ": " + levels(highest.number() + 1, to.level) + " are built, and level " +
                std::to_string(to.level);
    std::int64_t const turns = to.expiration / width;
    told += " reaches up to " + reach + ". " + due + " / " + times.divisor(width) + " is " +
            grouped(turns);
    if (turns >= slots) told += ", mod " + std::to_string(slots) + " is " + std::to_string(to.slot);
    return told + ": slot " + std::to_string(to.slot) + ", for " + times.at(to.expiration) +
           " to " + times.at(to.expiration + width - 1) +
           ". Its bucket expires when the slot begins, at " + times.at(to.expiration) + ".";
}

std::string arm(Times const& times, Place const& to, std::optional<std::int64_t> earliestBefore,
                std::int64_t now) {
    std::string const at = times.at(to.expiration);
    std::string const told =
        "The bucket was empty, so it is armed: it enters the delay heap, at " + at + ". ";
    if (!earliestBefore)
        return told + "It is the only one there: the driver will sleep until " + at + ".";
    std::string const before = times.at(*earliestBefore);
    if (to.expiration < *earliestBefore)
        return told + "Nothing is earlier: the driver will wake at " + at + ", not at " + before +
               ".";
    if (*earliestBefore <= now)
        return told + "The driver is awake, for what expires at " + before + ".";
    if (to.expiration == *earliestBefore)
        return told + "Another bucket stands there at " + at + ": one wake-up will do.";
    return told + before + " is earlier still: the driver sleeps on.";
}

std::string wake(Times const& times, Place const& from, std::int64_t slept, std::size_t tasks) {
    std::string const at = times.at(from.expiration);
    std::string told = slept > 0 ? "The driver has slept for " + times.lasting(slept) +
                                       ", and nothing ticked. At " + at + " "
                                 : "At the same instant, " + at + ", ";
    told += slotName(from) + " expires: it leaves the heap" +
            (slept > 0 ? ", the clock moves to " + at : "") + ", and ";
    if (tasks == 0) return told + "nobody is in it any more.";
    if (tasks == 1) return told + "its only task is taken out.";
    return told + "its " + std::to_string(tasks) + " tasks are taken out.";
}

std::string cascade(Times const& times, TaskPicture const& task, Place const& from, Place const& to,
                    std::int64_t now, bool arms) {
    std::string told = task.name + " is due at " + times.at(task.deadline) + ", in " +
                       times.lasting(task.deadline - now) + ". It cascades from level " +
                       std::to_string(from.level) + " to " + slotName(to);
    if (to.level + 1 < from.level) told += ", past " + levels(to.level + 1, from.level - 1);
    return told + "; that bucket " + (arms ? "is armed, at " : "was armed already, at ") +
           times.at(to.expiration) + ".";
}

std::string run(Times const& times, TaskPicture const& task, Place const& from) {
    std::string const due = times.at(task.deadline);
    std::string const told = task.name + " is due at " + due + ", which is now: it runs";
    if (from.level == 0) return told + ".";
    return told + ", straight from level " + std::to_string(from.level) + ", because " + due +
           " is the very start of its slot.";
}

std::string cancel(Times const& times, TaskPicture const& task, Place const& from, bool wasAlone) {
    std::string const told = task.name + " is cancelled: ";
    if (!wasAlone)
        return told + "its neighbours in " + slotName(from) +
               " are linked to each other, and that is all.";
    return told + "it is unlinked from " + slotName(from) +
           ". The bucket is empty now, but stays in the heap until it comes to the top, at " +
           times.at(from.expiration) + ".";
}

std::string wait(Times const& times, std::int64_t now, std::int64_t clock) {
    std::string const told = "It is " + times.at(now) + ". The wheel's clock stands ";
    if (clock == now) return told + "there, too.";
    return told + "at " + times.at(clock) +
           ", where something happened last: it catches up when somebody calls.";
}

std::string flatPlace(Times const& times, TaskPicture const& task, std::size_t slot,
                      std::int64_t rounds, std::int64_t slots) {
    std::string const told = task.name + " goes to slot " + times.at(task.deadline) + " mod " +
                             times.divisor(slots) + " = " + std::to_string(slot);
    if (rounds == 0) return told + ", due when the hand comes there next.";
    return told + ". The hand will pass over it " +
           (rounds == 1 ? "once" : grouped(rounds) + " times") + " before it is due.";
}

std::string flatWalk(std::int64_t ticks, std::int64_t passedOver, std::string const& ran) {
    return "The hand walked " + grouped(ticks) + (ticks == 1 ? " slot" : " slots") +
           ", one by one, and passed over " + grouped(passedOver) +
           (passedOver == 1 ? " entry" : " entries") + " whose round had not come. " +
           (ran.empty() ? "Nothing" : ran) + " ran.";
}

}  // namespace sentence

}  // namespace walkthrough
