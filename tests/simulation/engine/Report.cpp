#include "Report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>

namespace timingwheel::test::simulation {

namespace {

struct Step {
    unsigned thread = 0;
    char const* what = nullptr;
    void const* where = nullptr;
    std::uint64_t value = 0;
    void const* calledFrom = nullptr;
};

constexpr std::size_t kStepsKept = 10'000;
constexpr std::size_t kStepsTold = 80;

/// TIMINGWHEEL_STEPS, if it is set.
std::uint64_t stepsTold() noexcept {
    char const* const text = std::getenv("TIMINGWHEEL_STEPS");
    return text == nullptr ? kStepsTold : std::strtoull(text, nullptr, 10);
}

Report* current = nullptr;
void const* place = nullptr;
std::array<Step, kStepsKept> lastSteps;

std::string nameOf(void const* code) {
    Dl_info info{};
    if (dladdr(code, &info) == 0 || info.dli_sname == nullptr) return "?";
    int status = 0;
    char* const plain = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    std::string name = status == 0 ? plain : info.dli_sname;
    std::free(plain);
    for (std::string const space : {"timingwheel::v1::detail::", "timingwheel::v1::"})
        for (std::size_t at = name.find(space); at != std::string::npos; at = name.find(space))
            name.erase(at, space.size());
    return name.size() > 70 ? name.substr(0, 67) + "..." : name;
}

}  // namespace

void reportTo(Report& report) noexcept { current = &report; }
Report& report() noexcept { return *current; }

void noteStep(unsigned thread, char const* what, void const* where, std::uint64_t value,
              void const* calledFrom) noexcept {
    place = calledFrom;
    lastSteps[current->steps++ % kStepsKept] = {thread, what, where, value, calledFrom};
}

void notePlace(void const* calledFrom) noexcept { place = calledFrom; }

void fail(std::string const& what) noexcept {
    std::string text = what + "\nin " + nameOf(place) + "\nthe last steps:\n";
    std::uint64_t const end = current->steps;
    std::uint64_t const told = std::min({end, stepsTold(), std::uint64_t{kStepsKept}});
    for (std::uint64_t i = end - told; i < end; ++i) {
        Step const& step = lastSteps[i % kStepsKept];
        char line[256];
        std::snprintf(line, sizeof line, "%7llu  thread %u  %-14s %#14llx  %#18llx  %s\n",
                      static_cast<unsigned long long>(i), step.thread, step.what,
                      static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(step.where)),
                      static_cast<unsigned long long>(step.value), nameOf(step.calledFrom).c_str());
        text += line;
    }
    text.copy(current->failure, Report::kMost - 1);
    _exit(EXIT_FAILURE);
}

}  // namespace timingwheel::test::simulation
