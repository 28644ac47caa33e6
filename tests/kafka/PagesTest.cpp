#include "components/kafka/daemon/Pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace timingwheel::test::kafka {
namespace {

using ::testing::HasSubstr;
using timingwheel::kafka::Metrics;
using timingwheel::kafka::pagesOf;

TEST(Pages, AreThoseOfProbesAndPrometheus) {
    Metrics metrics;
    auto const pages = pagesOf(metrics, {});
    EXPECT_EQ(pages.at("/healthz")().status, 200);
    EXPECT_EQ(pages.at("/healthz")().body, "ok\n");
    EXPECT_EQ(pages.at("/readyz")().status, 503);
    EXPECT_THAT(pages.at("/readyz")().body, HasSubstr("has not assigned"));
    metrics.assigned();
    EXPECT_EQ(pages.at("/readyz")().status, 200);
    EXPECT_THAT(pages.at("/metrics")().body, HasSubstr("\ntimingwheel_scheduled_total 0\n"));
}

TEST(Pages, HaveTheOptionsInJson) {
    Metrics metrics;
    auto const pages = pagesOf(metrics, {{"batch", "5"}, {"group", "a\"b\\c\n"}});
    EXPECT_EQ(pages.at("/config")().body,
              "{\n  \"batch\": \"5\",\n  \"group\": \"a\\\"b\\\\c\\u000a\"\n}\n");
}

}  // namespace
}  // namespace timingwheel::test::kafka
