// When a task uses an object that may be gone before the task is due: a captured `this`, the
// commonest mistake with timers. Two ways out of it.

#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <atomic>
#include <cstdio>
#include <memory>

using namespace std::chrono_literals;

// 1. The object owns its timeout. The handle is the last member, so it goes first: it cancels, and
//    if the task runs at that moment, waits for it. Nobody derives from the class: a derived one's
//    members would be gone by then.
class Banner final {
public:
    explicit Banner(timingwheel::Timer& timer)
        : hiding_{timer.newTimeout([this] { visible_ = false; }, 3s)} {}

    bool isVisible() const { return visible_; }

private:
    std::atomic<bool> visible_ = true;  // the task runs on the timer's thread
    timingwheel::ScopedTimeout hiding_;
};

// 2. The object is shared anyway: if it is gone, nothing is called. The function runs on the
//    timer's thread, where the object also dies if all others let go meanwhile.
struct Document {
    std::atomic<int> saves = 0;
    void save() { std::puts("saved"), ++saves; }
};

int main() {
    timingwheel::ManualClock clock;
    timingwheel::SystemTimer timer{{.clock = clock}};

    Banner const stays{timer};
    { Banner const goes{timer}; }  // nothing of it is left in the timer
    if (timer.pendingTimeouts() != 1) return 1;
    clock.advance(3s);
    if (stays.isVisible()) return 1;

    auto const open = std::make_shared<Document>();
    auto closed = std::make_shared<Document>();
    timer.newTimeout(timingwheel::ifAlive(open, &Document::save), 5s);
    timer.newTimeout(timingwheel::ifAlive(closed, &Document::save), 5s);
    closed.reset();
    clock.advance(5s);
    return open->saves == 1 ? 0 : 1;
}
