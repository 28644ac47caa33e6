#include "core/timeout/FoundTimeouts.h"

#include "core/timeout/TimeoutNode.h"
#include "core/timeout/TimeoutWord.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <iterator>
#include <utility>

namespace timingwheel::inline v1::detail {

namespace {

using Kind = PendingTimeout::Kind;

Kind kindOf(Periodicity const& periodicity) noexcept {
    switch (periodicity.rule) {
        case Periodicity::Rule::fixedRate:
            return Kind::fixedRate;
        case Periodicity::Rule::fixedDelay:
            return Kind::fixedDelay;
        case Periodicity::Rule::timesOfTask:
            break;
    }
    return Kind::series;
}

}  // namespace

void FoundTimeouts::makeRoom(std::size_t more) {
    std::size_t const needed = found_.size() + more;
    if (found_.capacity() < needed) found_.reserve(std::max(needed, 2 * found_.capacity()));
}

void FoundTimeouts::append(std::vector<FoundTimeout>& others) {
    makeRoom(others.size());
    std::move(others.begin(), others.end(), std::back_inserter(found_));
    others.clear();
}

void FoundTimeouts::keepOneOfEach() {
    std::sort(found_.begin(), found_.end(), [](FoundTimeout const& a, FoundTimeout const& b) {
        return std::less<>{}(a.entry, b.entry);
    });
    auto const rest = std::unique(
        found_.begin(), found_.end(),
        [](FoundTimeout const& a, FoundTimeout const& b) { return a.entry == b.entry; });
    found_.erase(rest, found_.end());
}

void FoundTimeouts::add(TimeoutEntry& entry) noexcept {
    assert(!isFull());
    FoundTimeout& found = found_.emplace_back();
    found.entry = &entry;
    found.deadline = scale_.timeOf(TimeoutWord::of(entry).deadline());
    if (entry.isHook()) {
        found.kind = Kind::hook;
        found.tag = static_cast<HookEntry&>(entry).object;
        return;
    }
    auto& node = static_cast<TimeoutNode&>(entry);
    if (node.task().tag != nullptr) found.tag = node.task().tag(node.taskAddress());
    if (node.isPeriodic()) {
        found.kind = kindOf(node.periodicity());
        found.period = node.periodicity().period;
    }
    node.noteLent();
    node.retain();
    found.timeout = TimeoutAccess::adopt(node);
}

}  // namespace timingwheel::inline v1::detail
