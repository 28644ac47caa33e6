#pragma once

#include <timingwheel/Timeout.h>
#include <timingwheel/TimerTask.h>

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

/// What tests ask of handles, and the tasks that they schedule.
namespace timingwheel::test {

inline std::string printed(Timeout const& timeout) {
    std::ostringstream out;
    out << timeout;
    return out.str();
}

/// All answers of one handle.
struct Answers {
    bool pending, expired, cancelled, rejected;
    friend bool operator==(Answers const&, Answers const&) = default;
    friend std::ostream& operator<<(std::ostream& out, Answers const& a) {
        return out << (a.pending ? "pending " : "") << (a.expired ? "expired " : "")
                   << (a.cancelled ? "cancelled " : "") << (a.rejected ? "rejected" : "");
    }
};
inline constexpr Answers kPending{true, false, false, false};
inline constexpr Answers kExpired{false, true, false, false};
inline constexpr Answers kCancelled{false, false, true, false};
inline constexpr Answers kRejected{false, false, false, true};
inline constexpr Answers kNone{false, false, false, false};

inline Answers answersOf(Timeout const& t) {
    return {t.isPending(), t.isExpired(), t.isCancelled(), t.isRejected()};
}

/// Counts what it hears.
class ATask final : public TimerTask {
public:
    void run(Timeout const& timeout) override {
        ++runs;
        last = timeout;
        if (onRun) onRun(timeout);
    }
    void cancelled(Timeout const& timeout) override {
        ++cancels;
        last = timeout;
    }
    int runs = 0;
    int cancels = 0;
    Timeout last;
    std::function<void(Timeout const&)> onRun;
};

/// A callable that counts what it hears.
struct Hears {
    int* runs;
    int* cancels;
    void operator()() const { ++*runs; }
    void cancelled(Timeout const& timeout) const {
        ++*cancels;
        EXPECT_TRUE(timeout.isCancelled());
    }
};

/// Throws from its destructor, once, unless it was moved from.
class ThrowsWhenItDies {
public:
    ThrowsWhenItDies() = default;
    ThrowsWhenItDies(ThrowsWhenItDies&& other) noexcept
        : isArmed_{std::exchange(other.isArmed_, false)} {}
    ~ThrowsWhenItDies() noexcept(false) {
        if (isArmed_) throw std::runtime_error{"a capture died badly"};
    }

private:
    bool isArmed_ = true;
};

}  // namespace timingwheel::test
