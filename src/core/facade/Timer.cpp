#include <timingwheel/Timer.h>

#include <stdexcept>

namespace timingwheel {
inline namespace v1 {

Timer::~Timer() = default;

void Timer::throwEmptyTask() {
    throw std::invalid_argument{"the task is empty: it must be something that can be called"};
}

void Timer::throwNullObject() {
    throw std::invalid_argument{"the object is null: its function could not be called"};
}

}  // namespace v1
}  // namespace timingwheel
