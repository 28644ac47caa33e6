#pragma once

#include <cstdint>

/// A probe of the provider `timingwheel`, for bpftrace, perf, SystemTap and gdb. A line such as
/// TIMINGWHEEL_PROBE_2(place, &entry, &bucket) leaves one nop in the code, and a note beside the
/// code that says where the two arguments are. Nothing else happens until somebody traces it.
///
/// Each of the nine steps of docs/architecture.md has a probe of its name, and so has `cancel`:
///
///     schedule(entry, deadline)             cascade(entry, bucket)
///     intake(timer, time, deadline)         expire(entry, deadline)
///     place(entry, bucket)                  dispatch(entry, deadline)
///     arm(bucket, level, expiration)        run(entry, deadline, origin, length, timer)
///     wake(bucket, level, expiration)       cancel(entry)
///
///   - `entry`, `bucket` and `timer` are addresses. `entry` equals TimerObserver::entryOf() of a
///     handle or hook. In a flat wheel, place and wake have a slot's number instead of a bucket.
///   - `deadline` and `expiration` are ticks; `time` is in nanoseconds of the timer's clock. The
///     tick of a run begins at origin + deadline * length, in nanoseconds: then the task was due.
///   - `intake` also comes for each reschedule, and comes twice for a new periodic timeout. It is
///     the only probe of a push-back that takes no lock.
///   - `cascade` also comes for what a push-back has left in its bucket, and `arm` for each entry
///     that cascades to the finest level, also if its bucket is armed.
///   - `run` comes just before the task. `cancel` also comes for what stop() returns, what an
///     executor refuses, and the end of a periodic timeout.
///
/// docs/examples/timers.bt uses them. -DTIMINGWHEEL_PROBES=OFF leaves them out.
///
/// The notes have the form of SystemTap's <sys/sdt.h>. That header is not used, so that each build
/// for Linux has the probes, whatever is installed. An argument stays where the compiler has it: in
/// a register, in memory, or as a constant. All have 64 bits.
#if !defined(TIMINGWHEEL_WITHOUT_PROBES) && defined(__linux__) && defined(__LP64__) && \
    (defined(__x86_64__) || defined(__aarch64__))
#    define TIMINGWHEEL_PROBE(name, operands, ...)                                  \
        asm volatile(                                                               \
            "990: nop\n"                                                            \
            ".pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
            ".balign 4\n"                                                           \
            ".4byte 992f-991f, 994f-993f, 3\n"                                      \
            "991: .asciz \"stapsdt\"\n"                                             \
            "992: .balign 4\n"                                                      \
            "993: .8byte 990b, _.stapsdt.base, 0\n"                                 \
            ".asciz \"timingwheel\"\n"                                              \
            ".asciz \"" #name                                                       \
            "\"\n"                                                                  \
            ".asciz \"" operands                                                    \
            "\"\n"                                                                  \
            "994: .balign 4\n"                                                      \
            ".popsection\n"                                                         \
            ".ifndef _.stapsdt.base\n"                                              \
            ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
            ".weak _.stapsdt.base\n"                                                \
            ".hidden _.stapsdt.base\n"                                              \
            "_.stapsdt.base: .space 1\n"                                            \
            ".size _.stapsdt.base, 1\n"                                             \
            ".popsection\n"                                                         \
            ".endif\n"                                                              \
            :                                                                       \
            : __VA_ARGS__)
#    ifdef __clang__  // would store to memory what is in a register
#        define TIMINGWHEEL_PROBED(argument) "nr"(::timingwheel::detail::probed(argument))
#    else
#        define TIMINGWHEEL_PROBED(argument) "nor"(::timingwheel::detail::probed(argument))
#    endif
#else
#    define TIMINGWHEEL_PROBE(name, operands, ...) static_cast<void>(0)
#endif

#define TIMINGWHEEL_PROBE_1(name, a) TIMINGWHEEL_PROBE(name, "-8@%0", TIMINGWHEEL_PROBED(a))
#define TIMINGWHEEL_PROBE_2(name, a, b) \
    TIMINGWHEEL_PROBE(name, "-8@%0 -8@%1", TIMINGWHEEL_PROBED(a), TIMINGWHEEL_PROBED(b))
#define TIMINGWHEEL_PROBE_3(name, a, b, c)                                                     \
    TIMINGWHEEL_PROBE(name, "-8@%0 -8@%1 -8@%2", TIMINGWHEEL_PROBED(a), TIMINGWHEEL_PROBED(b), \
                      TIMINGWHEEL_PROBED(c))
#define TIMINGWHEEL_PROBE_5(name, a, b, c, d, e)                                           \
    TIMINGWHEEL_PROBE(name, "-8@%0 -8@%1 -8@%2 -8@%3 -8@%4", TIMINGWHEEL_PROBED(a),        \
                      TIMINGWHEEL_PROBED(b), TIMINGWHEEL_PROBED(c), TIMINGWHEEL_PROBED(d), \
                      TIMINGWHEEL_PROBED(e))

namespace timingwheel::inline v1::detail {

inline std::int64_t probed(std::int64_t number) noexcept { return number; }
inline void const* probed(void const* address) noexcept { return address; }
template <class Tick>
auto probed(Tick tick) noexcept -> decltype(tick.value()) {
    return tick.value();
}

}  // namespace timingwheel::inline v1::detail
