// Zones, against the C library, which reads the same files by code of its own.

#include "components/calendar/ZoneRule.h"
#include "unit/components/calendar/LocalTimes.h"

#include <timingwheel/calendar/CalendarError.h>
#include <timingwheel/calendar/TimeZone.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

// Clang's sanitizers take what is virtual for broken if they have no descriptor to look at it.
#if defined(__unix__)
#    define TIMINGWHEEL_HAS_DESCRIPTORS
#    if defined(__has_feature)
#        if __has_feature(address_sanitizer)
#            undef TIMINGWHEEL_HAS_DESCRIPTORS
#        endif
#    endif
#    include <fcntl.h>
#    include <sys/resource.h>
#    include <unistd.h>
#endif

namespace timingwheel::calendar {
namespace {

using std::chrono::days;
using std::chrono::seconds;
using std::chrono::sys_seconds;

/// The C library's zone, until the end of the scope.
class TheirZone {
public:
    explicit TheirZone(std::string const& name) { set(name.c_str()); }
    ~TheirZone() { set(nullptr); }
    TheirZone(TheirZone const&) = delete;
    TheirZone& operator=(TheirZone const&) = delete;

    [[nodiscard]] static seconds offsetAt(sys_seconds at) {
        std::time_t const time = at.time_since_epoch().count();
        std::tm local{};
        localtime_r(&time, &local);
        return seconds{local.tm_gmtoff};
    }

private:
    static void set(char const* name) {
        if (name == nullptr) {
            unsetenv("TZ");
        } else {
            setenv("TZ", name, 1);
        }
        tzset();
    }
};

/// The first second of each span, the last, and one of each 100 days between them.
template <class Zone>
void expectAsTheirs(Zone const& zone, std::string const& name, char const* from, char const* to) {
    SCOPED_TRACE(name + " from " + from);
    TheirZone const theirs{name};
    sys_seconds const end = utc(to);
    for (sys_seconds at = utc(from); at < end;) {
        auto const span = zone.spanAt(at);
        ASSERT_LE(span.begin, at);
        ASSERT_GT(span.end, at);
        sys_seconds const last = std::min(span.end, end) - seconds{1};
        for (; at <= last; at = at < last ? std::min(at + days{100}, last) : last + seconds{1})
            ASSERT_EQ(TheirZone::offsetAt(at), span.offset)
                << "at " << at.time_since_epoch().count();
    }
}

// Bug pattern: the clocks never change after 2037, where the tables of the system's files end.
TEST(TimeZone, IsRightInEveryYear) {
    keepsZones();
    auto const names = allZones();
    if (names.empty()) GTEST_SKIP() << "this system has no zones";
    for (std::string const& name : names) {
        TimeZone const zone{name};
        expectAsTheirs(zone, name, "1970-01-01 00:00", "2110-01-01 00:00");
        expectAsTheirs(zone, name, "2395-01-01 00:00", "2405-01-01 00:00");
        expectAsTheirs(zone, name, "9990-01-01 00:00", "9999-12-31 00:00");
        if (HasFatalFailure()) return;
    }
}

TEST(TimeZone, UnderstandsEachRuleOfAYear) {
    for (char const* const rule :
         {"EST5", "<-03>3", "<+0545>-5:45", "ABC-1:02:03", "CET-1CEST,M3.5.0,M10.5.0/3",
          "NZST-12NZDT,M9.5.0,M4.1.0/3", "IST-1GMT0,M10.5.0,M3.5.0/1",
          "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "EET-2EEST,M3.4.4/50,M10.4.4/50",
          "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "<+0330>-3:30<+0430>,J79/24,J263/24",
          "ABC+3DEF,J60/2,300/2:30:15", "ABC3DEF,59,J365", "ABC3DEF,J59,J300"})
        expectAsTheirs(ZoneRule{rule}, rule, "1999-01-01 00:00", "2030-01-01 00:00");
}

TEST(TimeZone, RefusesARuleThatItDoesNotUnderstand) {
    for (char const* const rule :
         {"", "A3", "EST", "EST25", "EST5EDT", "EST5EDT,M3.2.0", "EST5EDT,M13.2.0,M11.1.0",
          "EST5EDT,M3.6.0,M11.1.0", "EST5EDT,M3.2.7,M11.1.0", "EST5EDT,J0,J365",
          "EST5EDT,M3.2.0/168,M11.1.0", "EST5EDT,M3.2.0,M11.1.0,", "<-03", "EST5:60", "EST5:59:60",
          "EST5EDT,M3.2.0/2:60,M11.1.0"})
        EXPECT_THROW(ZoneRule{rule}, CalendarError) << rule;
}

TEST(TimeZone, NamesAnUnknownZone) {
    keepsZones();
    for (std::string const& name : {std::string{"Mars/Olympus"}, std::string{"UTC\0x", 5}}) {
        try {
            TimeZone const zone{name};
            FAIL();
        } catch (std::invalid_argument const& error) {
            std::string const words = name[0] == 'U' ? "\"UTC\" and a NUL byte" : name;
            EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
        }
    }
}

#ifdef TIMINGWHEEL_HAS_DESCRIPTORS
/// Twice, each time first without a descriptor: the zones are listed once, and a zone's file is
/// read each time.
[[noreturn]] void useZonesWithFewDescriptors() {
    rlimit const few = {64, 64};
    setrlimit(RLIMIT_NOFILE, &few);
    for (int i = 0; i < 2; ++i) {
        std::vector<int> all;
        for (int one; (one = open("/dev/null", O_RDONLY)) >= 0;) all.push_back(one);
        try {
            TimeZone{"Europe/Berlin"};
            _exit(1);
        } catch (std::system_error const&) {
            for (int const one : all) close(one);
        }
        TimeZone{"Europe/Berlin"};
    }
    _exit(0);
}

TEST(TimeZoneDeathTest, IsThereOnceThereAreDescriptorsAgain) {
    keepsZones();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(useZonesWithFewDescriptors(), testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace timingwheel::calendar
