#include "Filled.h"

#include <memory>
#include <stdexcept>

namespace timingwheel::compare {
namespace {

/// No timer: what one reading of the clock costs, which most timers do for each schedule.
class ClockContender final : public Contender {
public:
    using Contender::Contender;

    std::vector<std::string> loads() const override { return {"clock"}; }

    Result run(Request const& request) const override {
        if (request.load != "clock") throw std::invalid_argument{"no such load: " + request.load};
        constexpr std::size_t kReadings = 1'000;
        std::size_t readings = 0;
        auto const start = loads::Steady::now();
        auto now = start;
        do {
            for (std::size_t i = 0; i < kReadings; ++i) now = loads::Steady::now();
            readings += kReadings;
        } while (now - start < request.budget);
        return {{"ns", loads::count(now - start) / static_cast<double>(readings)}};
    }
};

bool const registered =
    contenders()
        .emplace("ClockRead", std::make_unique<ClockContender>(Description{
                                  .id = "ClockRead",
                                  .title = "clock read",
                                  .usage = "no timer: one `std::chrono::steady_clock::now()`",
                                  .variant = true,
                              }))
        .second;

}  // namespace
}  // namespace timingwheel::compare
