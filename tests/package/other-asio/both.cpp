// One half of a program that has two Asios, with a handler of one type for both: by Boost.Asio, or
// with -DTIMINGWHEEL_ASIO_STANDALONE by Asio alone, with main().
#include <timingwheel/ManualTimer.h>
#include <timingwheel/asio/async_sleep.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <type_traits>

/// Says whether it was given an error of the standard library.
struct Handler {
    bool& isStandard;
    template <class Error>
    void operator()(Error const&) const {
        isStandard = std::is_same_v<Error, std::error_code>;
    }
};

static bool isStandard() {
    bool answer = false;
    timingwheel::ManualTimer timer;
    timingwheel::asio::async_sleep(timer, std::chrono::seconds{0}, Handler{answer});
    timer.advanceTo(timer.clock().now());
    return answer;
}

bool isStandardInBoost();
#if defined(TIMINGWHEEL_ASIO_STANDALONE)
int main() {
    bool const ok = isStandard() && !isStandardInBoost();
    std::printf("%s: each Asio gives its own error\n", ok ? "ok" : "WRONG");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
#else
bool isStandardInBoost() { return isStandard(); }
#endif
