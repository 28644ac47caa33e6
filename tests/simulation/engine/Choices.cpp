#include "Choices.h"

#include "Report.h"

#include <algorithm>

namespace timingwheel::test::simulation {

// ---- by chance --------------------------------------------------------------------------------

namespace {

template <class T, std::size_t n>
T oneOf(std::mt19937_64& random, T const (&values)[n]) {
    return values[random() % n];
}

}  // namespace

RandomChoices::RandomChoices(std::uint64_t seed)
    : random_{seed * 0x9E3779B97F4A7C15U + 1},
      hasPriorities_{random_() % 3 == 0},
      switchOneIn_{oneOf<std::size_t>(random_, {2, 3, 8, 32, 128})},
      staleOneIn_{oneOf<std::size_t>(random_, {0, 2, 2, 8})},
      timePassesOneIn_{oneOf<std::size_t>(random_, {0, 0, 256, 32})},
      spuriousOneIn_{oneOf<std::size_t>(random_, {0, 0, 256, 16})},
      failsOneIn_{oneOf<std::size_t>(random_, {8, 32, 128})},
      longestStep_{oneOf<std::int64_t>(random_, {1, 100, 10'000, 1'000'000})} {
    priorities_.reserve(kMostThreads);
    for (std::size_t i = 0; i < kMostThreads; ++i)
        priorities_.push_back(lowest_ + random_() % lowest_);
}

std::size_t RandomChoices::below(std::size_t bound) { return random_() % bound; }

std::size_t RandomChoices::whoGoesOn(std::span<Candidate const> candidates) {
    bool const somebodyNeedsNoTime = !candidates.front().letsTimePass;
    if (somebodyNeedsNoTime && candidates.back().letsTimePass) {
        if (oneIn(timePassesOneIn_)) return candidates.size() - 1;
        candidates = candidates.first(candidates.size() - 1);
    }
    if (hasPriorities_) return byPriority(candidates);
    if (!candidates.front().isCurrent || oneIn(switchOneIn_)) return below(candidates.size());
    return 0;
}

/// The one of the highest priority; now and then that becomes the lowest of all.
std::size_t RandomChoices::byPriority(std::span<Candidate const> candidates) {
    auto const highest = std::max_element(candidates.begin(), candidates.end(),
                                          [this](Candidate const& a, Candidate const& b) {
                                              return priorities_[a.thread] < priorities_[b.thread];
                                          });
    if (oneIn(8 * switchOneIn_)) priorities_[highest->thread] = --lowest_;
    return static_cast<std::size_t>(highest - candidates.begin());
}

std::size_t RandomChoices::whichStore(std::size_t stores) {
    return stores > 1 && oneIn(staleOneIn_) ? below(stores) : 0;
}

std::int64_t RandomChoices::duration() {
    return static_cast<std::int64_t>(below(static_cast<std::size_t>(longestStep_) + 1));
}

// ---- all of them ------------------------------------------------------------------------------

namespace {

bool departs(Decisions::One const& decision) { return decision.mayDepart && decision.taken != 0; }

}  // namespace

std::size_t SystematicChoices::departFromFirst(std::size_t alternatives) {
    if (departuresLeft_ == 0) return 0;
    std::size_t const taken = decide(alternatives, true);
    if (taken != 0 && departuresLeft_ != kAnyNumber) --departuresLeft_;
    return taken;
}

std::size_t SystematicChoices::decide(std::size_t alternatives, bool mayDepart) {
    if (alternatives == 1) return 0;
    if (decisions_.made == Decisions::kMost) fail("a run has too many decisions to go through");
    Decisions::One& decision = decisions_.list[decisions_.made];
    if (decisions_.made++ >= decisions_.toRepeat)
        decision = {0, static_cast<std::uint16_t>(alternatives), mayDepart};
    else if (decision.of != alternatives)
        fail("the same decisions made another run: something is not simulated");
    return decision.taken;
}

bool SystematicChoices::next(Decisions& decisions, std::size_t departures,
                             Sample& sample) noexcept {
    while (decisions.made > 0) {
        Decisions::One& last = decisions.list[decisions.made - 1];
        while (last.taken + 1 < last.of) {
            ++last.taken;
            // What departs for the last time is one run, so nothing else is lost with it.
            bool const isLast = std::count_if(decisions.list, decisions.list + decisions.made,
                                              departs) == static_cast<std::ptrdiff_t>(departures);
            if (isLast && last.mayDepart && sample.random() % sample.oneIn != 0) continue;
            decisions.toRepeat = decisions.made;
            decisions.made = 0;
            return true;
        }
        --decisions.made;
    }
    return false;
}

}  // namespace timingwheel::test::simulation
