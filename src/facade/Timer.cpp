#include <timingwheel/Timer.h>

#include <stdexcept>

namespace timingwheel {
inline namespace v1 {

Timer::~Timer() = default;

void Timer::throwEmptyTask() {
    throw std::invalid_argument{"the task is empty: it must be something that can be called"};
}

}  // namespace v1
}  // namespace timingwheel
