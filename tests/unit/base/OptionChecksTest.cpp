#include "core/base/OptionChecks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace timingwheel::detail {
namespace {

template <class Check>
std::string refusalOf(Check check) {
    try {
        check();
        return "none";
    } catch (std::invalid_argument const& refused) {
        return refused.what();
    }
}

TEST(OptionChecks, TakeANumberWithinItsBounds) {
    EXPECT_EQ(refusalOf([] {
                  requireAtLeast("tick", 1, 1);
                  requireAtMost("tick", 9, 9);
                  requireWithin("tick", 1, 1, 9);
                  requireWithin("tick", 9, 1, 9);
              }),
              "none");
}

TEST(OptionChecks, NameTheOptionItsValueAndTheBound) {
    EXPECT_EQ(refusalOf([] { requireAtLeast("tick", std::int64_t{-1}, 1, " ns"); }),
              "tick is -1 ns: it must be at least 1 ns");
    EXPECT_EQ(refusalOf([] { requireAtMost("threads", 1'025U, 1'024); }),
              "threads is 1025: it must be at most 1024");
    EXPECT_EQ(refusalOf([] { requireWithin("id", 0, 1, 9, " bytes"); }),
              "id is 0 bytes: it must be 1 to 9 bytes");
    EXPECT_EQ(refusalOf([] { requireWithin("id", 10, 1, 9, " bytes"); }),
              "id is 10 bytes: it must be 1 to 9 bytes");
    EXPECT_EQ(refusalOf([] {
                  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
                  requireAtMost("maxBytes", kMost, 9);
              }),
              "maxBytes is 18446744073709551615: it must be at most 9");
}

}  // namespace
}  // namespace timingwheel::detail
