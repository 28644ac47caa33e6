#pragma once

#include "frame/Contender.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace timingwheel::bench {

/// What is done, the same for all: made before anything is measured. Deadlines are up to a minute
/// ahead, in ticks of 1 ms; entries are not met in the order in which they lie in memory.
class Script {
public:
    static constexpr std::int64_t kFarthest = 60'000;
    static constexpr std::size_t kTurns = 64;
    static constexpr std::size_t kBatch = 32;

    struct Step {
        std::uint32_t entry;
        std::uint32_t delay;
    };

    explicit Script(Request const& request) : pending_{request.count} {
        std::size_t const operations =
            request.operations != 0 ? request.operations
                                    : std::clamp<std::size_t>(pending_, 1'000'000, 5'000'000);
        std::mt19937_64 random{request.seed};
        auto const below = [&](std::size_t bound) {
            return static_cast<std::uint32_t>(random() % bound);
        };
        if (!isVast()) {
            std::vector<std::uint32_t> order(pending_);
            std::iota(order.begin(), order.end(), 0U);
            std::shuffle(order.begin(), order.end(), random);
            fill_.reserve(pending_);
            for (std::uint32_t entry : order) fill_.push_back({entry, 1 + below(kFarthest)});
        }
        moves_.reserve(operations);
        for (std::size_t i = 0; i < operations; ++i)
            moves_.push_back({below(pending_), 1 + below(kFarthest)});
    }

    std::size_t pending() const noexcept { return pending_; }
    /// How often to do what takes a moment with few pending.
    std::size_t repeats() const noexcept {
        return std::clamp<std::size_t>(500'000 / pending_, 1, 5'000);
    }
    std::vector<Step> const& moves() const noexcept { return moves_; }

    /// Calls `put(steps, delay)` for the moves in batches, each with a delay of its own that is not
    /// shorter than those before it. In each `round` all are longer than in the last.
    template <class Put>
    void eachBatch(std::int64_t round, Put&& put) const {
        std::span<Step const> left{moves_};
        while (!left.empty()) {
            std::span<Step const> const batch = left.first(std::min(kBatch, left.size()));
            auto const done = static_cast<std::int64_t>(moves_.size() - left.size());
            put(batch, kFarthest * round + kFarthest * done / std::ssize(moves_));
            left = left.subspan(batch.size());
        }
    }

    /// The same with other delays for each `turn`: the processor would learn those of a few timers.
    /// They come again after some turns, so that they stay in the cache.
    template <class Put>
    void eachFillAnew(std::size_t turn, Put&& put) const {
        std::size_t move = turn % kTurns * pending_ % moves_.size();
        eachFill([&](std::uint32_t entry, std::uint32_t) {
            put(entry, moves_[move].delay);
            if (++move == moves_.size()) move = 0;
        });
    }

    /// Calls `put(entry, delay)` once for each entry.
    template <class Put>
    void eachFill(Put&& put) const {
        if (isVast()) {
            fillByStride(put);
        } else {
            for (auto const [entry, delay] : fill_) put(entry, delay);
        }
    }

private:
    /// So many steps would take more memory than is left beside the entries: then the order of
    /// entries is a stride's, and the delays are those of the moves.
    bool isVast() const noexcept { return pending_ > 20'000'000; }

    template <class Put>
    void fillByStride(Put&& put) const {
        // Near the golden section, so that neighbours in time are never neighbours in memory.
        std::size_t stride = pending_ / 1'000 * 618;
        while (std::gcd(stride, pending_) != 1) ++stride;
        std::size_t entry = 0;
        std::size_t move = 0;
        for (std::size_t i = 0; i < pending_; ++i) {
            put(static_cast<std::uint32_t>(entry), moves_[move].delay);
            entry += stride;
            if (entry >= pending_) entry -= pending_;
            if (++move == moves_.size()) move = 0;
        }
    }

    std::size_t pending_;
    std::vector<Step> fill_;
    std::vector<Step> moves_;
};

/// The script of the request: kept, as making one of ten million takes longer than some loads.
inline Script const& scriptOf(Request const& request) {
    using Key = std::tuple<std::size_t, std::size_t, std::uint64_t>;
    static std::optional<std::pair<Key, Script>> last;
    Key const key{request.count, request.operations, request.seed};
    if (!last || last->first != key) {
        last.reset();  // so that two large ones are never there at once
        last.emplace(key, Script{request});
    }
    return last->second;
}

}  // namespace timingwheel::bench
