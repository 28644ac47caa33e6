// One class of each library that is there, compiled for a standard library of another layout. It is
// never run: it must not link.

#include <timingwheel/timingwheel.h>
#if __has_include(<timingwheel/calendar/CalendarExpression.h>)
#    include <timingwheel/calendar/CalendarExpression.h>
#endif
#if __has_include(<timingwheel/kafka/TimerClient.h>)
#    include <timingwheel/kafka/TimerClient.h>
#endif
#if __has_include(<timingwheel/store/DurableTimer.h>)
#    include <timingwheel/store/DurableTimer.h>
#endif

int main() {
    timingwheel::ManualTimer timer;
#if __has_include(<timingwheel/calendar/CalendarExpression.h>)
    static_cast<void>(timingwheel::calendar::CalendarExpression::cron("* * * * *"));
#endif
#if __has_include(<timingwheel/kafka/TimerClient.h>)
    timingwheel::kafka::TimerClient client{{}};
#endif
#if __has_include(<timingwheel/store/DurableTimer.h>)
    timingwheel::store::DurableTimer durable{"", {}};
#endif
}
