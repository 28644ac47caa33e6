#include "apps/walkthrough/Sentences.h"

namespace walkthrough::sentence {

namespace {

std::string levelName(std::uint32_t level) { return "level " + std::to_string(level); }

std::string slotName(Place const& place) {
    return "slot " + std::to_string(place.slot) + " of " + levelName(place.level);
}

std::string listOfLevels(std::uint32_t first, std::uint32_t last) {
    return first == last ? levelName(first)
                         : "levels " + std::to_string(first) + " to " + std::to_string(last);
}

}  // namespace

std::string grouped(std::int64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t end = digits.size(); end > 3;) {
        end -= 3;
        digits.insert(end, 1, ',');
    }
    return digits;
}

std::string counted(std::int64_t number, std::string const& what) {
    return grouped(number) + ' ' + what + (number == 1 ? "" : "s");
}

std::string begin(Story::Options const& options) {
    return "An empty wheel at 0 ms. Level 0 has " + std::to_string(options.wheelSize) +
           " slots of 1 ms. The delay heap is empty, so the driver sleeps until somebody calls.";
}

std::string schedule(TaskPicture const& task) {
    return task.name + " is scheduled at " + grouped(task.scheduledAt) + " with a delay of " +
           grouped(task.delay) + " ms: it is due at " + grouped(task.deadline) + ".";
}

std::string place(TaskPicture const& task, timingwheel::TimingWheelLevel const& level,
                  timingwheel::TimingWheelLevel const* below,
                  timingwheel::TimingWheelLevel const& highest, Place const& to) {
    std::string const due = grouped(task.deadline);
    std::string const reach = grouped(level.limit() - 1);
    auto const slots = static_cast<std::int64_t>(level.buckets().size());
    std::int64_t const width = level.granularity();
    std::string told;
    if (below == nullptr) {
        told = "Level 0 reaches up to " + reach + ", so it takes " + due + ". ";
        if (task.deadline >= slots)
            told += due + " mod " + std::to_string(slots) + " is slot " + std::to_string(to.slot) +
                    ". ";
        return told + "A slot of level 0 is 1 ms wide: this bucket expires at " + due + ".";
    }
    auto const tooShort = [&due](timingwheel::TimingWheelLevel const& of) {
        return "Level " + std::to_string(of.number()) + " reaches up to " +
               grouped(of.limit() - 1) + ": too short for " + due + ". ";
    };
    if (to.level <= highest.number())
        told = tooShort(*below) + "It overflows to " + levelName(to.level) +
               ", which reaches up to " + reach + ". ";
    else if (below == &highest)
        told = tooShort(highest) + "It overflows to " + levelName(to.level) +
               ", built now, which reaches up to " + reach + ". ";
    else
        told = tooShort(highest) + "It overflows: levels " + std::to_string(highest.number() + 1) +
               " to " + std::to_string(to.level) + " are built, and " + levelName(to.level) +
               " reaches up to " + reach + ". ";
    std::int64_t const turns = to.expiration / width;
    told += due + " / " + grouped(width) + " is " + grouped(turns);
    if (turns >= slots) told += ", mod " + std::to_string(slots) + " is " + std::to_string(to.slot);
    return told + ": slot " + std::to_string(to.slot) + ", for " + grouped(to.expiration) + " to " +
           grouped(to.expiration + width - 1) + ". Its bucket expires when the slot begins, at " +
           grouped(to.expiration) + ".";
}

std::string arm(Place const& to, std::optional<std::int64_t> earliestBefore, std::int64_t now) {
    std::string const at = grouped(to.expiration);
    std::string const told =
        "The bucket was empty, so it is armed: it enters the delay heap, at " + at + ". ";
    if (!earliestBefore)
        return told + "It is the only one there: the driver will sleep until " + at + ".";
    if (to.expiration < *earliestBefore)
        return told + "Nothing is earlier: the driver will wake at " + at + ", not at " +
               grouped(*earliestBefore) + ".";
    if (*earliestBefore <= now)
        return told + "The driver is awake, for what expires at " + grouped(*earliestBefore) + ".";
    if (to.expiration == *earliestBefore)
        return told + "Another bucket stands there at " + at + ": one wake-up will do.";
    return told + grouped(*earliestBefore) + " is earlier still: the driver sleeps on.";
}

std::string isArmedAlready(Place const& to) {
    return "That bucket stands in the delay heap already, at " + grouped(to.expiration) +
           ": one more task does not change that.";
}

std::string wake(Place const& from, std::int64_t slept, std::size_t tasks) {
    std::string told = slept > 0
                           ? "The driver has slept for " + grouped(slept) +
                                 " ms, and nothing ticked. At " + grouped(from.expiration) + " "
                           : "At the same instant, " + grouped(from.expiration) + ", ";
    told += slotName(from) + " expires: it leaves the heap" +
            (slept > 0 ? ", the clock moves to " + grouped(from.expiration) : "") + ", and ";
    if (tasks == 0) return told + "nobody is in it any more.";
    if (tasks == 1) return told + "its only task is taken out.";
    return told + "its " + std::to_string(tasks) + " tasks are taken out.";
}

std::string cascade(TaskPicture const& task, Place const& from, Place const& to, std::int64_t now,
                    bool arms) {
    std::string told = task.name + " is due at " + grouped(task.deadline) + ", in " +
                       grouped(task.deadline - now) + " ms. It cascades from " +
                       levelName(from.level) + " to slot " + std::to_string(to.slot) + " of " +
                       levelName(to.level);
    if (to.level + 1 < from.level) told += ", past " + listOfLevels(to.level + 1, from.level - 1);
    return told + "; that bucket " + (arms ? "is armed, at " : "was armed already, at ") +
           grouped(to.expiration) + ".";
}

std::string run(TaskPicture const& task, Place const& from) {
    std::string const told =
        task.name + " is due at " + grouped(task.deadline) + ", which is now: it runs";
    if (from.level == 0) return told + ".";
    return told + ", straight from " + levelName(from.level) + ", because " +
           grouped(task.deadline) + " is the very start of its slot.";
}

std::string runAtOnce(TaskPicture const& task) {
    return task.name + " is due already: it is put into no bucket and runs at once.";
}

std::string cancel(TaskPicture const& task, Place const& from, bool wasAlone) {
    if (wasAlone)
        return task.name + " is cancelled: it is unlinked from " + slotName(from) +
               ". The bucket is empty now, but stays in the heap until it comes to the top, at " +
               grouped(from.expiration) + ".";
    return task.name + " is cancelled: its neighbours in " + slotName(from) +
           " are linked to each other, and that is all.";
}

std::string waitBegins(std::int64_t until) {
    return "Nobody calls until " + grouped(until) + ". But buckets expire before that:";
}

std::string wait(std::int64_t now, std::int64_t clock) {
    std::string const told = "It is " + grouped(now) + ". ";
    if (clock == now) return told + "The wheel's clock stands there, too.";
    return told + "The wheel's clock stands at " + grouped(clock) +
           ", where something happened last: it catches up when somebody calls.";
}

std::string flatBegin(Story::Options const& options) {
    return "An empty flat wheel at 0 ms: " + std::to_string(options.flatSlots) +
           " slots of 1 ms. Nothing is pending, so the hand stands still.";
}

std::string flatStill(std::int64_t now) {
    return "It is " + grouped(now) + ". Nothing is pending, so the hand does not walk.";
}

std::string flatPlace(TaskPicture const& task, FlatPicture::Entry const& entry,
                      std::int64_t slots) {
    std::string const told = task.name + " goes to slot " + grouped(task.deadline) + " mod " +
                             std::to_string(slots) + " = " + std::to_string(entry.slot);
    if (entry.rounds == 0) return told + ", due when the hand comes there next.";
    return told + ". The hand will pass over it " +
           (entry.rounds == 1 ? "once" : grouped(entry.rounds) + " times") + " before it is due.";
}

std::string flatWalk(std::int64_t ticks, std::int64_t passedOver, std::string const& ran) {
    std::string told = "The hand walked " + counted(ticks, "slot") +
                       ", one by one, and passed over " +
                       (passedOver == 1 ? "1 entry" : grouped(passedOver) + " entries") +
                       " whose round had not come. ";
    return told + (ran.empty() ? "Nothing ran." : ran + " ran.");
}

std::string flatCancel(TaskPicture const& task) { return task.name + " leaves its slot."; }

}  // namespace walkthrough::sentence
