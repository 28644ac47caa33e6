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

std::string counted(std::int64_t number, std::string const& what) {
    return grouped(number) + ' ' + what + (number == 1 ? "" : "s");
}

std::string begin(Story::Options const& options) {
    Times const times{options.times};
    std::int64_t const slots =
        options.levelSizes.empty() ? options.wheelSize : options.levelSizes.front();
    return "An empty wheel at " + times.moment(options.start) + ". Level 0 has " +
           std::to_string(slots) + " slots of " + times.lasting(1) +
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
    std::string told;
    if (below == nullptr) {
        told = "Level 0 reaches up to " + reach + ", so it takes " + due + ". ";
        if (task.deadline >= slots)
            told += due + " mod " + times.divisor(level.interval()) + " is slot " +
                    std::to_string(to.slot) + ". ";
        return told + "A slot of level 0 is " + times.lasting(1) +
               " wide: this bucket expires at " + due + ".";
    }
    auto const tooShort = [&](timingwheel::TimingWheelLevel const& of) {
        return "Level " + std::to_string(of.number()) + " reaches up to " +
               times.at(of.limit() - 1) + ": too short for " + due + ". ";
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
    told += due + " / " + times.divisor(width) + " is " + grouped(turns);
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
    if (to.expiration < *earliestBefore)
        return told + "Nothing is earlier: the driver will wake at " + at + ", not at " +
               times.at(*earliestBefore) + ".";
    if (*earliestBefore <= now)
        return told + "The driver is awake, for what expires at " + times.at(*earliestBefore) + ".";
    if (to.expiration == *earliestBefore)
        return told + "Another bucket stands there at " + at + ": one wake-up will do.";
    return told + times.at(*earliestBefore) + " is earlier still: the driver sleeps on.";
}

std::string isArmedAlready(Times const& times, Place const& to) {
    return "That bucket stands in the delay heap already, at " + times.at(to.expiration) +
           ": one more task does not change that.";
}

std::string wake(Times const& times, Place const& from, std::int64_t slept, std::size_t tasks) {
    std::string told = slept > 0 ? "The driver has slept for " + times.lasting(slept) +
                                       ", and nothing ticked. At " + times.at(from.expiration) + " "
                                 : "At the same instant, " + times.at(from.expiration) + ", ";
    told += slotName(from) + " expires: it leaves the heap" +
            (slept > 0 ? ", the clock moves to " + times.at(from.expiration) : "") + ", and ";
    if (tasks == 0) return told + "nobody is in it any more.";
    if (tasks == 1) return told + "its only task is taken out.";
    return told + "its " + std::to_string(tasks) + " tasks are taken out.";
}

std::string cascade(Times const& times, TaskPicture const& task, Place const& from, Place const& to,
                    std::int64_t now, bool arms) {
    std::string told = task.name + " is due at " + times.at(task.deadline) + ", in " +
                       times.lasting(task.deadline - now) + ". It cascades from " +
                       levelName(from.level) + " to slot " + std::to_string(to.slot) + " of " +
                       levelName(to.level);
    if (to.level + 1 < from.level) told += ", past " + listOfLevels(to.level + 1, from.level - 1);
    return told + "; that bucket " + (arms ? "is armed, at " : "was armed already, at ") +
           times.at(to.expiration) + ".";
}

std::string run(Times const& times, TaskPicture const& task, Place const& from) {
    std::string const told =
        task.name + " is due at " + times.at(task.deadline) + ", which is now: it runs";
    if (from.level == 0) return told + ".";
    return told + ", straight from " + levelName(from.level) + ", because " +
           times.at(task.deadline) + " is the very start of its slot.";
}

std::string runAtOnce(TaskPicture const& task) {
    return task.name + " is due already: it is put into no bucket and runs at once.";
}

std::string cancel(Times const& times, TaskPicture const& task, Place const& from, bool wasAlone) {
    if (wasAlone)
        return task.name + " is cancelled: it is unlinked from " + slotName(from) +
               ". The bucket is empty now, but stays in the heap until it comes to the top, at " +
               times.at(from.expiration) + ".";
    return task.name + " is cancelled: its neighbours in " + slotName(from) +
           " are linked to each other, and that is all.";
}

std::string waitBegins(Times const& times, std::int64_t until) {
    return "Nobody calls until " + times.at(until) + ". But buckets expire before that:";
}

std::string wait(Times const& times, std::int64_t now, std::int64_t clock) {
    std::string const told = "It is " + times.at(now) + ". ";
    if (clock == now) return told + "The wheel's clock stands there, too.";
    return told + "The wheel's clock stands at " + times.at(clock) +
           ", where something happened last: it catches up when somebody calls.";
}

std::string flatBegin(Story::Options const& options) {
    Times const times{options.times};
    return "An empty flat wheel at " + times.moment(options.start) + ": " +
           std::to_string(options.flatSlots) + " slots of " + times.lasting(1) +
           ". Nothing is pending, so the hand stands still.";
}

std::string flatStill(Times const& times, std::int64_t now) {
    return "It is " + times.at(now) + ". Nothing is pending, so the hand does not walk.";
}

std::string flatPlace(Times const& times, TaskPicture const& task, FlatPicture::Entry const& entry,
                      std::int64_t slots) {
    std::string const told = task.name + " goes to slot " + times.at(task.deadline) + " mod " +
                             times.divisor(slots) + " = " + std::to_string(entry.slot);
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
