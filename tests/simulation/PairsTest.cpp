// Every two operations of a timer at the same time. The first course of things that comes will do:
// what one of them touches without a lock, and the other with it, is raced for in any.

#include "Trial.h"

#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace timingwheel::test::simulation {
namespace {

using std::chrono::hours;

class Task final : public TimerTask {
public:
    void run(Timeout const&) override {}
};

struct Object {
    void run() {}
    TimerHook<&Object::run> hook{*this};
};

class Observer final : public TimerObserver {
public:
    void onEvent(TimerEvent const&) noexcept override {}
};

/// A timer, and what two threads do to it.
template <class T>
struct Subject {
    explicit Subject(bool isObserved) {
        auto options = smallOptions<T>();
        if (isObserved) options.observer = &observer;
        if constexpr (Trial<T>::kIsFlat) options.immediateIfDue = true;
        timer = std::make_unique<T>(options);
        shared = timer->newTimeout(std::make_shared<Task>(), hours{1});
        near = timer->newTimeout([] {}, milliseconds{1});
        if constexpr (!Trial<T>::kIsFlat) {
            timer->schedule(object->hook, hours{1});
            timer->reschedule(shared, hours{2});
        }
    }

    Observer observer;
    std::unique_ptr<Object> object = std::make_unique<Object>();
    std::unique_ptr<T> timer;
    Timeout shared;
    Timeout near;
};

template <class T>
using Operation = std::function<void(Subject<T>&)>;

template <class T>
std::vector<Operation<T>> operations() {
    std::vector<Operation<T>> all{
        [](auto& s) { s.timer->newTimeout([] {}, hours{3}); },
        [](auto& s) { s.timer->newTimeout([] {}, Duration{}); },
        [](auto& s) { static_cast<void>(s.shared.task()); },
        [](auto& s) { s.shared.cancel(); },
        [](auto& s) { s.shared.cancelAndWait(); },
        [](auto& s) { s.near.cancelAndWait(); },
        [](auto& s) { static_cast<void>(s.timer->statistics()); },
        [](auto& s) { static_cast<void>(s.timer->pendingTimeouts()); },
        [](auto& s) { s.timer->start(); },
        [](auto& s) { static_cast<void>(s.timer->stop()); },
    };
    if constexpr (!Trial<T>::kIsFlat) {
        all.push_back([](auto& s) { s.timer->reschedule(s.shared, milliseconds{2}); });
        all.push_back([](auto& s) { s.timer->reschedule(s.shared, hours{4}); });
        all.push_back([](auto& s) { s.object->hook.reschedule(milliseconds{1}); });
        all.push_back([](auto& s) { s.object->hook.cancelAndWait(); });
        all.push_back([](auto& s) { s.timer->schedule(s.object->hook, hours{4}); });
        all.push_back([](auto& s) { s.timer->schedule(s.object->hook, milliseconds{1}); });
        all.push_back([](auto& s) { s.timer->drain(); });
    }
    return all;
}

template <class T>
void attempt(Operation<T> const& operation, Subject<T>& subject) {
    try {
        operation(subject);
    } catch (std::logic_error const&) {
        // The other one has stopped the timer.
    }
}

template <class T>
class Pairs : public testing::Test {};

struct Names {
    template <class T>
    static std::string GetName(int) {
        return Trial<T>::kIsFlat ? "HashedWheelTimer" : "SystemTimer";
    }
};
using Timers = testing::Types<SystemTimer, HashedWheelTimer>;
TYPED_TEST_SUITE(Pairs, Timers, Names);

TYPED_TEST(Pairs, OfOperationsRaceForNothing) {
    warmUp();
    auto const all = operations<TypeParam>();
    for (bool const isObserved : {false, true}) {
        for (std::size_t first = 0; first < all.size(); ++first) {
            for (std::size_t second = first; second < all.size(); ++second) {
                SCOPED_TRACE(testing::Message()
                             << first << " and " << second << (isObserved ? ", observed" : ""));
                Summary const summary = tryAll(isAtLength() ? 1 : 0, 1'000, [&] {
                    Subject<TypeParam> subject{isObserved};
                    std::thread other{[&] { attempt<TypeParam>(all[second], subject); }};
                    attempt<TypeParam>(all[first], subject);
                    other.join();
                    subject.object.reset();
                    subject.timer.reset();
                });
                ASSERT_EQ(summary.failed, 0U) << summary;
            }
        }
    }
}

}  // namespace
}  // namespace timingwheel::test::simulation
