#pragma once

#include <timingwheel/detail/TaskOperations.h>
#include <timingwheel/wheel/TimerTaskEntry.h>

#include <atomic>

namespace timingwheel::inline v1::detail {

class Keeper;

/// The part that both kinds of entry share: the keeper and the operations.
///
/// The owner's bits of the word hold the state: see docs/decisions/0001. `keeper` is set when the
/// entry is first scheduled and stays, also if it is refused, so one lock guards the entry for
/// life. A hook's keeper is a Shard, and another one once another timer accepts it.
///
/// Memory         40 bytes
class TimeoutEntry : public TimerTaskEntry {
public:
    explicit TimeoutEntry(EntryOperations const& entryOperations) noexcept
        : operations{&entryOperations} {}
    TimeoutEntry(TimeoutEntry const&) = delete;
    TimeoutEntry& operator=(TimeoutEntry const&) = delete;

    bool isHook() const noexcept { return operations->isHook; }

    std::atomic<Keeper*> keeper{nullptr};
    EntryOperations const* operations;
};

static_assert(sizeof(TimeoutEntry) == 40 || sizeof(void*) != 8);

/// What a timer can do with a hook.
struct HookOperations : EntryOperations {
    void (*run)(void* object);
    /// Called instead of `run` if the timer gave the hook up: by stop(), by cancelAll(), or because
    /// the executor refused it. Null if the object need not know.
    void (*givenUp)(void* object) = nullptr;
};

/// A hook's entry: what it calls is the user's object.
///
/// Memory         48 bytes
class HookEntry final : public TimeoutEntry {
public:
    HookEntry(HookOperations const& hookOperations, void* target) noexcept
        : TimeoutEntry{hookOperations}, object{target} {}

    /// Whether the timer calls its object when it gives it up.
    bool callsGivenUp() const noexcept {
        return static_cast<HookOperations const*>(operations)->givenUp != nullptr;
    }

    void* object;
};

}  // namespace timingwheel::inline v1::detail
