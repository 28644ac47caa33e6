#include "components/kafka/daemon/Targets.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using timingwheel::kafka::problemWithTarget;
using timingwheel::kafka::refusalOfTarget;

TEST(Targets, AreNamesOrPatterns) {
    std::vector<std::tuple<char const*, char const*, bool>> const cases{
        {"orders", "orders", true},
        {"orders", "orders.a", false},
        {"orders.a", "ordersXa", false},  // no regular expression
        {"*", "orders", true},
        {"orders.*", "orders.", true},
        {"orders.*", "orders.a.b", true},
        {"orders.*", "orders", false},
        {"*.orders", "a.orders.orders", true},
        {"*.orders", "a.orders.b", false},
        {"a*b*c", "abc", true},
        {"a*b*c", "aXbXbXc", true},
        {"a*b*c", "acb", false},
        {"a**", "a", true}};
    for (auto const& [pattern, topic, isAllowed] : cases)
        EXPECT_EQ(refusalOfTarget({pattern}, topic).empty(), isAllowed) << pattern << ", " << topic;
}

TEST(Targets, RefuseATopicThatNoneOfThemMatches) {
    std::vector<std::string> const targets{"orders", "mail.*"};
    EXPECT_EQ(refusalOfTarget(targets, "mail.a"), "");
    EXPECT_EQ(refusalOfTarget(targets, "mail"),
              "timingwheel-to is mail: --targets allows orders, mail.*");
}

TEST(Targets, HaveTheLettersOfTopics) {
    for (char const* const good : {"a", "*", "Orders_1.x-y*", "..."})
        EXPECT_EQ(problemWithTarget(good), "") << good;
    for (std::string const& bad :
         {std::string{}, std::string{"a?"}, std::string{".."}, std::string(250, 'a')})
        EXPECT_NE(problemWithTarget(bad), "") << bad;
}

}  // namespace
}  // namespace timingwheel::test::kafka
