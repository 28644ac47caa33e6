#pragma once

#include "core/base/platform/Windows.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <ratio>
#include <system_error>

namespace timingwheel::inline v1::detail {

/// A Sleeper for Windows, where a condition variable wakes up at the system's ticks: every 15.6 ms
/// unless some program asks for more. A waitable timer of high resolution does not wait for them.
/// Windows 10 has it from version 1803 on.
class WaitableTimer {
public:
    WaitableTimer() : woken_{owned(CreateEventW(nullptr, FALSE, FALSE, nullptr))}, time_{make()} {}

    void sleepUntil(std::chrono::steady_clock::time_point until) noexcept {
        // If both have happened, the first one counts. So no wake is left over for the next sleep.
        HANDLE const both[] = {woken_.get(), time_.get()};
        if (until == std::chrono::steady_clock::time_point::max())
            WaitForSingleObject(woken_.get(), INFINITE);
        else if (setTime(until))
            WaitForMultipleObjects(2, both, FALSE, INFINITE);
        else
            WaitForSingleObject(woken_.get(), 0);
    }

    void wake() noexcept { SetEvent(woken_.get()); }

    struct Close {
        void operator()(HANDLE handle) const noexcept { CloseHandle(handle); }
    };
    using Handle = std::unique_ptr<void, Close>;
    using Ticks = std::chrono::duration<std::int64_t, std::ratio<1, 10'000'000>>;

    /// The system's timer alone. Once it has fired it stays signalled until it is set anew.
    static Handle make() {
        constexpr DWORD kManualReset = 1;
        constexpr DWORD kHighResolution = 2;  // the name is missing from older headers
        constexpr DWORD kAccess = SYNCHRONIZE | TIMER_MODIFY_STATE;
        HANDLE const timer =
            CreateWaitableTimerExW(nullptr, nullptr, kManualReset | kHighResolution, kAccess);
        if (timer != nullptr) return Handle{timer};
        return owned(CreateWaitableTimerExW(nullptr, nullptr, kManualReset, kAccess));
    }
    /// Sets it to fire after `left`, rounded up to its units. False if the system refuses.
    static bool set(HANDLE timer, std::chrono::nanoseconds left) noexcept {
        LARGE_INTEGER time;
        time.QuadPart = -std::chrono::ceil<Ticks>(left).count();  // negative: counted from now
        return SetWaitableTimer(timer, &time, 0, nullptr, nullptr, FALSE) != FALSE;
    }

private:
    static constexpr std::chrono::hours kLongest{1};

    static Handle owned(HANDLE handle) {
        if (handle != nullptr) return Handle{handle};
        throw std::system_error{static_cast<int>(GetLastError()), std::system_category(),
                                "a timer's thread cannot sleep"};
    }

    /// Sets the timer, for at most an hour. False if that time has come.
    bool setTime(std::chrono::steady_clock::time_point until) noexcept {
        auto const now = std::chrono::steady_clock::now();
        if (until <= now) return false;
        return set(time_.get(), std::min<std::chrono::nanoseconds>(until - now, kLongest));
    }

    Handle const woken_;
    Handle const time_;
};

}  // namespace timingwheel::inline v1::detail
