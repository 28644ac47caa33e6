#include "loads/WheelLoads.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <timer-wheel.h>
#include <type_traits>

namespace timingwheel::bench {
namespace {

/// An event of ratas is an object of the user's with a virtual function.
class Ratas {
public:
    explicit Ratas(Request const& request) : events_{new Event[request.count]} {
        for (std::size_t i = 0; i < request.count; ++i) events_[i].belongTo(*this, i);
    }

    std::int64_t now() const { return static_cast<std::int64_t>(wheel_.now()); }
    void schedule(std::size_t i, std::int64_t deadline) {
        wheel_.schedule(&events_[i], static_cast<Tick>(deadline - now()));
    }
    void reschedule(std::size_t i, std::int64_t deadline) { schedule(i, deadline); }
    void cancel(std::size_t i) { events_[i].cancel(); }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        if (now <= this->now()) return;
        using Function = std::remove_reference_t<Due> const;
        due_ = &due;
        call_ = [](void const* function, std::size_t i) { (*static_cast<Function*>(function))(i); };
        wheel_.advance(static_cast<Tick>(now - this->now()));
    }
    std::int64_t next() const {
        Tick const ticks = wheel_.ticks_to_next_event();
        return ticks == std::numeric_limits<Tick>::max() ? -1
                                                         : now() + static_cast<std::int64_t>(ticks);
    }

private:
    class Event final : public TimerEventInterface {
    public:
        void belongTo(Ratas& queue, std::size_t number) {
            queue_ = &queue;
            number_ = number;
        }
        Payload payload{};

    private:
        void execute() override { queue_->call_(queue_->due_, number_); }

        Ratas* queue_ = nullptr;
        std::size_t number_ = 0;
    };

    mutable TimerWheel wheel_;  // what asks for the next event is not const
    void const* due_ = nullptr;
    void (*call_)(void const*, std::size_t) = nullptr;
    std::unique_ptr<Event[]> events_;
};

Registration const registration{
    {"ratas", "ratas",
     "`timer-wheel.h` of [ratas](https://github.com/jsnell/ratas): 256 slots a level"},
    queueLoads<Ratas>()};

}  // namespace
}  // namespace timingwheel::bench
