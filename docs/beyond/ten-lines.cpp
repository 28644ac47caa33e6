// Schedules a timer of timingwheel-kafka, pushes it back and cancels it: ten-lines BROKERS ID...

#include <timingwheel/kafka/TimerClient.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>

int main(int count, char** arguments) try {
    using namespace std::chrono_literals;
    using Clock = std::chrono::system_clock;
    if (count < 2) throw std::invalid_argument{"ten-lines BROKERS ID..."};

    // The partitioner that is needed, and idempotence, are the client's own.
    timingwheel::kafka::TimerClient timers{{.brokers = arguments[1]}};
    for (int i = 2; i < count; ++i) {
        // A reply says what became of a command; it is for those who ask.
        timers
            .schedule({.id = arguments[i],
                       .at = Clock::now() + 30min,
                       .to = "orders.expired",
                       .value = R"({"total": "12.50"})",
                       .headers = {{"currency", "EUR"}}},
                      "1")
            .get();  // the brokers have it
        timers.pushBack(arguments[i], Clock::now() + 60min, "2").get();
        timers.cancel(arguments[i], "3").get();
    }
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
