#pragma once

#include "apps/walkthrough/Story.h"
#include "apps/walkthrough/Times.h"

#include <timingwheel/wheel/TimingWheelLevel.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

/// What the story's frames say. Numbers come in, words go out; nothing here knows a wheel's rules.
namespace walkthrough::sentence {

/// "1 tick", "8,499 ticks".
std::string counted(std::int64_t number, std::string const& what);

std::string begin(Story::Options const& options);
std::string schedule(Times const& times, TaskPicture const& task);
/// `highest` is the highest level that existed before the task came.
std::string place(Times const& times, TaskPicture const& task,
                  timingwheel::TimingWheelLevel const& level,
                  timingwheel::TimingWheelLevel const* below,
                  timingwheel::TimingWheelLevel const& highest, Place const& to);
/// `earliestBefore` is the earliest expiration in the heap before; none if it was empty.
std::string arm(Times const& times, Place const& to, std::optional<std::int64_t> earliestBefore,
                std::int64_t now);
std::string isArmedAlready(Times const& times, Place const& to);
std::string wake(Times const& times, Place const& from, std::int64_t slept, std::size_t tasks);
std::string cascade(Times const& times, TaskPicture const& task, Place const& from, Place const& to,
                    std::int64_t now, bool arms);
std::string run(Times const& times, TaskPicture const& task, Place const& from);
std::string runAtOnce(TaskPicture const& task);
std::string cancel(Times const& times, TaskPicture const& task, Place const& from, bool wasAlone);
std::string waitBegins(Times const& times, std::int64_t until);
std::string wait(Times const& times, std::int64_t now, std::int64_t clock);

std::string flatBegin(Story::Options const& options);
std::string flatPlace(Times const& times, TaskPicture const& task, FlatPicture::Entry const& entry,
                      std::int64_t slots);
std::string flatWalk(std::int64_t ticks, std::int64_t passedOver, std::string const& ran);
std::string flatStill(Times const& times, std::int64_t now);
std::string flatCancel(TaskPicture const& task);

}  // namespace walkthrough::sentence
