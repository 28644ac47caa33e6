#pragma once

#include <timingwheel/Timeout.h>
#include <timingwheel/detail/TaskOperations.h>

#include <concepts>
#include <functional>
#include <memory>
#include <utility>

namespace timingwheel::inline v1 {

/// A task that calls `function` on an object if that still lives. If it does not, nothing is
/// called, and a periodic task ends:
///
///     timer.newTimeout(timingwheel::ifAlive(session, &Session::end), 30s);
///     timer.scheduleAtFixedRate(timingwheel::ifAlive(session, &Session::beat), 1s, 1s);
///
/// `function` takes a T&, or is a member function of T. During the call the object cannot die.
///
/// Lifetime       keeps a weak reference, also if it is given a std::shared_ptr
/// Errors         std::invalid_argument for an empty function, and for a std::shared_ptr that is
///                null
template <class T, std::invocable<T&> Function>
[[nodiscard]] auto ifAlive(std::weak_ptr<T> object, Function function) {
    if (detail::isEmptyTask(function)) detail::throwEmptyTask();
    return [object = std::move(object),
            function = std::move(function)](Timeout const& timeout) mutable {
        if (auto const living = object.lock())
            static_cast<void>(std::invoke(function, *living));
        else
            timeout.cancel();
    };
}
template <class T, std::invocable<T&> Function>
[[nodiscard]] auto ifAlive(std::shared_ptr<T> const& object, Function function) {
    if (object == nullptr) detail::throwNullObject();
    return ifAlive(std::weak_ptr<T>{object}, std::move(function));
}

}  // namespace timingwheel::inline v1
