#include "core/driver/context/TaskReports.h"

#include <cstdio>
#include <exception>
#include <string>

namespace timingwheel::inline v1::detail {

namespace {

/// One line on stderr. Needs no memory, since the failure may be that there is none.
void print(std::string const& name, char const* what,
           std::exception_ptr const& exception) noexcept {
    auto const line = [&](char const* said) {
        std::fprintf(stderr, "timer \"%s\": %s: %s\n", name.c_str(), what, said);
    };
    if (!exception) return line("no exception");
    try {
        std::rethrow_exception(exception);
    } catch (std::exception const& e) {
        line(e.what());
    } catch (...) {
        line("an exception that is not a std::exception");
    }
}

char const* toString(TaskFailure::Kind kind) noexcept {
    switch (kind) {
        case TaskFailure::Kind::threw:
            return "a task threw";
        case TaskFailure::Kind::noNextTime:
            return "a series of times ended";
        case TaskFailure::Kind::destructorThrew:
            return "the destructor of a task threw";
        case TaskFailure::Kind::rejected:
            return "the executor rejected a task";
        case TaskFailure::Kind::executorThrew:
            return "the executor threw";
    }
    return "";
}

}  // namespace

void TaskReports::failure(TaskFailure failure) const noexcept {
    failure.timerName = options_.name;
    try {
        if (options_.errorHandler) return options_.errorHandler(failure);
        print(options_.name, toString(failure.kind), failure.exception);
    } catch (...) {
        std::fprintf(stderr, "timer \"%s\": its error handler threw\n", options_.name.c_str());
    }
}

void TaskReports::slow(SlowTask slow) const noexcept {
    slow.timerName = options_.name;
    try {
        if (options_.slowTaskHandler) return options_.slowTaskHandler(slow);
        std::fprintf(stderr, "timer \"%s\": a task ran for %.3f ms\n", options_.name.c_str(),
                     static_cast<double>(slow.duration.count()) / 1e6);
    } catch (...) {
        std::fprintf(stderr, "timer \"%s\": its slow-task handler threw\n", options_.name.c_str());
    }
}

}  // namespace timingwheel::inline v1::detail
