// Senders: a timer as a scheduler of std::execution, with a receiver of your own.

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/TimedScheduler.h>

#include <cstdio>
#include <exception>
#include <stop_token>

using namespace std::chrono_literals;
namespace senders = timingwheel::senders;

namespace {

/// Prints how an operation completed. stdexec's adaptors make such receivers themselves: this
/// program needs no library of senders.
struct Print {
    using receiver_concept = senders::receiver_tag;
    struct Env {
        std::stop_token token;
        std::stop_token query(senders::get_stop_token_t) const noexcept { return token; }
    };

    char const* name;
    std::stop_token token{};

    Env get_env() const noexcept { return {token}; }
    void set_value() noexcept { std::printf("%s: its time has come\n", name); }
    void set_stopped() noexcept { std::printf("%s: stopped\n", name); }
    void set_error(std::exception_ptr) noexcept { std::printf("%s: could not start\n", name); }
};

}  // namespace

int main() {
    timingwheel::ManualClock clock;  // so that it need not wait
    timingwheel::ManualTimer timer{{.clock = clock}};
    timingwheel::TimedScheduler const scheduler{timer};
    std::stop_source source;

    auto const inFiveSeconds = scheduler.schedule_after(5s);
    auto answer = inFiveSeconds.connect(Print{"an answer"});
    auto request = inFiveSeconds.connect(Print{"a request", source.get_token()});
    auto session = scheduler.schedule_at(scheduler.now() + 1h).connect(Print{"a session"});

    clock.advance(1h);  // nothing has started: the delays count from start()
    answer.start();
    request.start();
    session.start();  // an hour has passed: it is due at once
    clock.advance(1s);
    source.request_stop();
    clock.advance(4s);

    auto late = inFiveSeconds.connect(Print{"one that is pending"});
    late.start();
    timer.stop();
    auto tooLate = inFiveSeconds.connect(Print{"one after stop()"});
    tooLate.start();
}
