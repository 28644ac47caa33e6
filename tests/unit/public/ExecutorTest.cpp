// Which ways an executor may have to take a function, and which is used.

#include <timingwheel/Executor.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

struct Ways {
    std::string used;
};
struct Posted : Ways {
    friend void post(Posted& executor, Claim claim) {
        executor.used += "post ";
        claim();
    }
};
/// Its own execute() is nobody's, as with some of Asio's.
class Private : public Posted {
    void execute(Claim claim) { claim(); }
};
struct Context : Posted {
    struct Type {
        Context& context;
        void execute(Claim claim) const {
            context.used += "get_executor ";
            claim();
        }
    };
    Type get_executor() { return {*this}; }
};
struct All : Context {
    void execute(Claim claim) {
        used += "execute ";
        claim();
    }
};
/// Takes what can only be moved.
struct Moving : Ways {
    template <class F>
    friend void post(Moving& executor, F&& function) {
        executor.used += "post ";
        [once = std::unique_ptr<F>{new F{std::move(function)}}] { (*once)(); }();
    }
};

template <class E>
std::string wayOf(E& executor) {
    SystemTimer timer{{.executor = executor}};
    timer.newTimeout([] {}, 0ms);
    timer.drain();
    return executor.used;
}

TEST(Executor, IsUsedInTheFirstWayThatItHas) {
    Posted posted;
    EXPECT_EQ(wayOf(posted), "post ");
    Private hidden;
    EXPECT_EQ(wayOf(hidden), "post ");
    Context context;
    EXPECT_EQ(wayOf(context), "get_executor ");
    All all;
    EXPECT_EQ(wayOf(all), "execute ");
    Moving moving;
    EXPECT_EQ(wayOf(moving), "post ");
}

struct None {
    void post(Claim);
};
static_assert(std::is_constructible_v<Executor, Posted&>);
static_assert(!std::is_constructible_v<Executor, Posted>);
static_assert(!std::is_constructible_v<Executor, Posted const&>);
static_assert(!std::is_constructible_v<Executor, None&>);
static_assert(!std::is_constructible_v<Executor, int&>);

}  // namespace
}  // namespace timingwheel::test
