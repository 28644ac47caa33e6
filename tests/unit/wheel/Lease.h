#pragma once

#include <timingwheel/wheel/HashedWheel.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <cstdint>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// What the tests of the wheel put into it, and how they write down what came of it.
namespace timingwheel::test {

struct Lease : TimerTaskEntry {
    explicit Lease(int number = 0) : id{number} {}
    int id;
};

/// "level:slot@expiration", or "due".
inline std::string where(Placement const& placement) {
    if (placement.isDue()) return "due";
    std::ostringstream out;
    out << placement.bucket().level() << ':' << placement.bucket().slot() << '@'
        << placement.bucket().expiration();
    return out.str();
}

/// A deadline for an entry of a `RawTimingWheel`, which leaves the word to the entry's owner.
inline void setDeadline(TimerTaskEntry& entry, Tick deadline, unsigned ownerBits = 0) {
    entry.word() = TimerTaskEntry::pack(deadline, ownerBits);
}

/// Which lease was handed over, and what the wheel's clock said then.
struct HandedOver {
    int id;
    std::int64_t at;

    bool operator==(HandedOver const&) const = default;
    friend std::ostream& operator<<(std::ostream& out, HandedOver const& handedOver) {
        return out << handedOver.id << '@' << handedOver.at;
    }
};

/// The numbers of what was handed over, in order.
inline std::vector<int> idsOf(std::vector<HandedOver> const& handedOver) {
    std::vector<int> ids;
    for (auto const& [id, at] : handedOver) ids.push_back(id);
    return ids;
}

/// Moves the clock to `now` in one go.
template <class Wheel>
std::vector<HandedOver> advanceTo(Wheel& wheel, Tick now) {
    std::vector<HandedOver> handedOver;
    wheel.advanceTo(now, [&](Lease& lease) {
        handedOver.push_back({lease.id, wheel.currentTick().value()});
    });
    return handedOver;
}

/// Moves the clock from one expiration to the next until nothing is left, and checks the
/// invariants at each.
template <class Wheel>
std::vector<HandedOver> runAll(Wheel& wheel) {
    std::vector<HandedOver> handedOver;
    while (std::optional<Tick> const next = wheel.nextExpiration()) {
        std::vector<HandedOver> const now = advanceTo(wheel, *next);
        handedOver.insert(handedOver.end(), now.begin(), now.end());
        wheel.checkInvariants();
    }
    return handedOver;
}

}  // namespace timingwheel::test
