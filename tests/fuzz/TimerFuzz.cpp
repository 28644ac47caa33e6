#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <model/TimerSimulation.h>
#include <span>
#include <stdexcept>

// The fuzzer's view of the model test: any bytes are a scenario, and where timer and model differ
// it stops. The scenario is told in words.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    using namespace timingwheel::model;
    Scenario const scenario = Scenario::decode(std::span{data, size});
    try {
        TimerSimulation::run(scenario);
    } catch (std::logic_error const& error) {
        std::cerr << error.what() << '\n' << scenario << '\n';
        std::abort();
    }
    return 0;
}
