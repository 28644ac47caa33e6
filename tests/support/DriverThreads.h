#pragma once

#include <support/Platform.h>

#include <functional>
#include <pthread.h>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

/// A timer's own thread: what it looks like from inside, and factories of it.
namespace timingwheel::test {

/// What a timer's thread looks like from inside.
struct Inside {
    std::string name;
    bool areSignalsBlocked = kHasSignals;

    static Inside look() {
        Inside inside;
        char name[32] = {};
        pthread_getname_np(pthread_self(), name, sizeof name);
        inside.name = name;
        inside.areSignalsBlocked = test::areSignalsBlocked();
        return inside;
    }
};

/// A factory that fails some times.
struct FailingFactory {
    int failures;
    int calls = 0;
    std::thread operator()(std::function<void()> body) {
        if (++calls <= failures)
            throw std::system_error{std::make_error_code(std::errc::resource_unavailable_try_again),
                                    "no more threads"};
        return std::thread{std::move(body)};
    }
};

}  // namespace timingwheel::test
