#pragma once

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>

namespace timingwheel::soak {

/// What was found wrong, and in which timer's life.
///
/// Thread safety  every function from any thread, but for `enter`
class Findings {
public:
    /// From here on this is looked at. What was told of it before is told again with each finding.
    void enter(std::string where) { where_ = std::move(where); }

    void expect(bool holds, char const* what) {
        if (!holds) add(what);
    }
    template <class A, class B>
    void equal(A const& found, B const& expected, char const* what) {
        if (found == expected) return;
        std::ostringstream out;
        out << what << ": " << found << ", expected " << expected;
        add(out.str());
    }
    void add(std::string const& what) {
        std::lock_guard const lock{mutex_};
        if (count_++ < kTold) std::fprintf(stderr, "WRONG: %s: %s\n", where_.c_str(), what.c_str());
        if (count_ == kTold) std::fprintf(stderr, "what else is found is only counted\n");
    }

    std::uint64_t count() const {
        std::lock_guard const lock{mutex_};
        return count_;
    }

private:
    static constexpr std::uint64_t kTold = 20;

    std::string where_;
    mutable std::mutex mutex_;
    std::uint64_t count_ = 0;
};

}  // namespace timingwheel::soak
