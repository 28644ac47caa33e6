#pragma once

#include "Sink.h"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace timingwheel::compare {

/// What the page and the plan of a run need to know about a contender.
struct Description {
    std::string id;     ///< on the command line: one word
    std::string title;  ///< in tables and plots
    std::string usage;  ///< how it is used here, and why so: a sentence for the page
    bool hasTick = false;
    /// It has no lock: one thread uses it.
    bool oneThread = false;
    /// One more way to use a timer of this library, for ./dev bench timers only.
    bool variant = false;
    /// Beyond that many pending timers a round would take minutes.
    std::size_t largest = std::numeric_limits<std::size_t>::max();
};

/// Of a curve: what is pending, and what is scheduled and cancelled meanwhile.
enum class Delays {
    random,   ///< all from a minute to an hour away; random ones are cancelled
    same,     ///< all half an hour away when they are scheduled; random ones are cancelled
    shorter,  ///< the pending ones from half an hour to an hour away; those that come and go a
              ///< minute or two: requests among sessions
};

/// One measurement that is asked for.
struct Request {
    std::string load;
    std::size_t count = 1'000;
    int threads = 1;
    std::chrono::nanoseconds tick = std::chrono::milliseconds{1};
    std::chrono::nanoseconds budget = std::chrono::milliseconds{100};
    Delays delays = Delays::random;
    std::uint64_t seed = 1;
};

/// Names and values of what was measured.
using Result = std::map<std::string, double>;

/// What a timer must offer to be compared. It is started by its constructor and stopped by its
/// destructor; tokens are dropped before that.
///
/// A token is what the user keeps of a timer: schedule() fills one that is not pending, and may
/// reuse what is in it; cancel() is only called for one that is pending and not about to fire, so
/// a contender need not make sure of that.
template <class T>
concept TimerAdapter = std::constructible_from<T, std::chrono::nanoseconds /*tick*/> &&
                       std::default_initializable<typename T::Token> &&
                       requires(T timer, typename T::Token& token, Callback callback) {
                           timer.schedule(token, std::chrono::nanoseconds{}, callback);
                           timer.cancel(token);
                           // Waits until another thread has done what schedule and cancel left it.
                           timer.settle();
                           // How many are pending; kUnknown if it cannot say.
                           { timer.pending() } -> std::same_as<std::size_t>;
                           // True if a million random insertions take minutes: then a timer is
                           // filled in the order of deadlines.
                           { T::kFillInOrder } -> std::convertible_to<bool>;
                       };

/// Moves a pending one to a new delay from now, task and token unchanged. Of one that cannot, the
/// loads cancel it and schedule it anew.
template <class T>
concept Reschedules = requires(T timer, typename T::Token& token) {
    timer.reschedule(token, std::chrono::nanoseconds{});
};

/// The same to a point of time, so that one reading of the clock does for several.
template <class T>
concept ReschedulesToTimePoint =
    requires(T timer, typename T::Token& token) { timer.rescheduleTo(token, SteadyTime{}); };

/// It has neither thread nor clock: the load moves its time on, which runs what is due.
template <class T>
concept Driven = requires(T timer) { timer.advance(std::chrono::nanoseconds{}); };

/// Each task has a thread: how many there may be is for the system to say, and what one has used is
/// not known any more when it has run.
template <class T>
concept HasThreadForEach = T::kThreadForEach;

inline constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

/// A contender as the program sees it. Virtual is only the whole load: inside it everything is
/// known at compile time, so that nothing is added to what an operation costs.
class Contender {
public:
    explicit Contender(Description description) : description_{std::move(description)} {}
    virtual ~Contender() = default;
    Contender(Contender const&) = delete;
    Contender& operator=(Contender const&) = delete;

    Description const& description() const noexcept { return description_; }
    /// The loads that it can do.
    virtual std::vector<std::string> loads() const = 0;
    virtual Result run(Request const& request) const = 0;

private:
    Description const description_;
};

/// All contenders whose files are linked, in the order of their ids.
std::map<std::string, std::unique_ptr<Contender>>& contenders();

}  // namespace timingwheel::compare
