#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace timingwheel::bench {

struct Settings {
    std::size_t pending = 1'000'000;
    std::size_t operations = 0;  ///< of W1, W4 and W7
    std::int64_t wheelSize = 20;
    std::uint64_t seed = 1;
};

class Script;

enum class Kind { floor, wheel, rival };

/// What the page and the plan of a run need to know about a contender.
struct Description {
    std::string id;     ///< on the command line: one word
    std::string title;  ///< in tables and plots
    std::string usage;  ///< how it is used here, and why so: a sentence for the page
    Kind kind = Kind::rival;
    /// Beyond that many pending timers a round would take minutes.
    std::size_t largest = 1'000'000;
};
inline constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

/// Names and values of what was measured.
using Result = std::map<std::string, double>;

/// A contender as the program sees it. Virtual is only a whole run of loads: inside it everything
/// is known at compile time, so that nothing is added to what an operation costs.
class Contender {
public:
    explicit Contender(Description description) : description_{std::move(description)} {}
    virtual ~Contender() = default;
    Contender(Contender const&) = delete;
    Contender& operator=(Contender const&) = delete;

    Description const& description() const noexcept { return description_; }
    /// All loads, once.
    virtual Result measure(Settings const& settings, Script const& script) const = 0;
    /// What does not change from round to round: cascades.
    virtual Result count(Settings const& settings, Script const& script) const = 0;
    /// Throws std::runtime_error unless every timer fires once, at its tick.
    virtual void check(Settings const& settings, Script const& script) const = 0;

private:
    Description const description_;
};

/// All contenders whose files are linked, by their ids.
std::map<std::string, std::unique_ptr<Contender>>& contenders();

}  // namespace timingwheel::bench
