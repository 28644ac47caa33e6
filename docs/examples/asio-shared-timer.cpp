// A server with a context for each thread, whose requests time out by one timer that all share.

#include <timingwheel/SystemTimer.h>
#include <timingwheel/asio/shared_timer.h>

#include <boost/asio/io_context.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using timingwheel::asio::shared_timer;

namespace {

/// Of every ten requests of a context the last is never answered.
class Worker {
public:
    explicit Worker(timingwheel::SystemTimer& timer) {
        timingwheel::asio::use_timer(context_, timer);  // before the first shared_timer
        for (int i = 0; i < 1'000; ++i) send();
    }
    void run() { context_.run(); }

    int answered = 0;
    int timedOut = 0;

private:
    void send() {
        timeouts_.push_back(std::make_unique<shared_timer>(context_, 200ms));
        shared_timer& timeout = *timeouts_.back();
        timeout.async_wait([this](auto error) { ++(error ? answered : timedOut); });
        if (timeouts_.size() % 10 != 0) timeout.cancel();  // the answer has come
    }

    boost::asio::io_context context_;
    std::vector<std::unique_ptr<shared_timer>> timeouts_;
};

}  // namespace

int main() {
    timingwheel::SystemTimer timer;  // the first: it outlives the contexts
    std::array<std::unique_ptr<Worker>, 4> workers;
    for (auto& worker : workers) worker = std::make_unique<Worker>(timer);
    std::printf("~ pending in one timer: %zu\n", timer.pendingTimeouts());

    std::vector<std::thread> threads;
    for (auto& worker : workers) threads.emplace_back([&worker] { worker->run(); });
    for (std::thread& thread : threads) thread.join();

    int answered = 0;
    int timedOut = 0;
    for (auto const& worker : workers) {
        answered += worker->answered;
        timedOut += worker->timedOut;
    }
    std::printf("answered: %d, timed out: %d\n", answered, timedOut);
}
