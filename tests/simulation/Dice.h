#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>

namespace timingwheel::test::simulation {

/// Decides what a scenario is made of and what its threads do: not what may happen then, which
/// Choices do.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : random_{seed * 0xD1342543DE82EF95U + 7} {}
    std::size_t below(std::size_t bound) { return random_() % bound; }
    bool oneIn(std::size_t count) { return below(count) == 0; }
    std::uint64_t seed() { return random_(); }
    template <class T>
    T oneOf(std::initializer_list<T> values) {
        return values.begin()[below(values.size())];
    }

private:
    std::mt19937_64 random_;
};

}  // namespace timingwheel::test::simulation
