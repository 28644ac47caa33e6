// A user of timingwheel::kafka, for whom no broker answers.

#include <timingwheel/kafka/TimerClient.h>

#include <chrono>
#include <cstdio>

namespace kafka = timingwheel::kafka;

int main() {
    kafka::TimerClient timers{{.brokers = "127.0.0.1:1",
                               .librdkafka = {{"message.timeout.ms", "1"}, {"log_level", "0"}}}};
    try {
        timers.schedule({.id = "4711", .at = std::chrono::system_clock::now(), .to = "orders"})
            .get();
    } catch (kafka::KafkaError const& error) {
        std::puts(error.what());
        return 0;
    }
    return 1;
}
