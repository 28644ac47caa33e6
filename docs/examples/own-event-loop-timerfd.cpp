// What a LoopTimer does with its descriptor, by hand, for a ManualTimer that one thread uses: a
// timerfd wakes the loop at the timer's next expiration. And how to bound the work of one round.

#include <timingwheel/ManualTimer.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

// Steady time points are those of CLOCK_MONOTONIC.
void setAlarm(int fd, timingwheel::ManualTimer const& timer) {
    itimerspec alarm{};  // all zeros: off
    if (auto const expiration = timer.nextExpiration()) {
        auto const time = expiration->time_since_epoch() / 1ns;
        alarm.it_value.tv_sec = time / 1'000'000'000;
        alarm.it_value.tv_nsec = time % 1'000'000'000;
    }
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &alarm, nullptr);
}

}  // namespace

int main() {
    int const loop = epoll_create1(0);
    int const alarm = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    epoll_event interest{.events = EPOLLIN, .data = {.fd = alarm}};
    if (epoll_ctl(loop, EPOLL_CTL_ADD, alarm, &interest) != 0) return 1;

    constexpr int kTimeouts = 1'000;
    constexpr std::size_t kAtMost = 64;  // tasks in one round: sockets get their turn in between
    int fired = 0;
    int most = 0;
    timingwheel::ManualTimer timer;
    for (int i = 0; i < kTimeouts; ++i) timer.newTimeout([&] { ++fired; }, 20ms);

    while (timer.pendingTimeouts() > 0) {
        setAlarm(alarm, timer);
        epoll_event event{};
        if (epoll_wait(loop, &event, 1, 1'000) < 1) return 1;  // a real loop waits for ever: -1
        std::uint64_t times = 0;
        if (read(alarm, &times, sizeof times) < 0) return 1;

        bool isMoreDue = true;
        while (isMoreDue) {
            int const before = fired;
            isMoreDue = timer.advanceTo(timer.clock().now(), kAtMost);
            if (fired - before > most) most = fired - before;
            // Here other descriptors would be looked at: epoll_wait with a timeout of 0.
        }
    }
    close(alarm);
    close(loop);
    std::printf("%d timeouts, never more than %d in a round\n", fired, most);
    return fired == kTimeouts && most == static_cast<int>(kAtMost) ? 0 : 1;
}
